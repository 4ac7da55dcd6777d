//! [`Stored`]: weights that a file keeps in fewer bits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arithmetic::{at_rate, sum};
use super::count::Count;
use super::error::EstimateError;
use super::rate::Rate;

/// Bytes of a parameter that is not quantized.
const OTHERS: u64 = 2;

/// Weights that a file keeps quantized: matrices of linear layers and experts. Embeddings, norms and the output layer
/// stay in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    /// Number of quantized parameters.
    pub parameters: u64,
    /// Bytes of each of them, with its share of the constants.
    pub rate: Rate,
}

impl Stored {
    /// Bytes per parameter of a model with `all` parameters.
    pub(super) fn mean(&self, all: u64) -> Result<Rate, EstimateError> {
        const WHAT: &str = "the stored weights";
        let quantized = self.parameters.min(all);
        let others = at_rate(WHAT, all - quantized, Rate::whole(OTHERS), Rate::ONE, 1)?;
        let quantized = at_rate(WHAT, quantized, self.rate, Rate::ONE, 1)?;
        let bytes = sum(WHAT, &[u128::from(others.bytes()), u128::from(quantized.bytes())])?;
        let bytes = u64::try_from(bytes).map_err(|_| EstimateError::TooLarge { what: WHAT })?;
        Ok(Rate::fraction(bytes, all))
    }

    /// The parts, for a formula.
    pub(super) fn words(&self, all: u64) -> String {
        let quantized = self.parameters.min(all);
        format!("{} B x {} quantized, {OTHERS} B x {}", self.rate, Count(quantized), Count(all - quantized))
    }
}
