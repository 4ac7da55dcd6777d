//! What a comparison found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TensorSpec;

/// The first element that did not match, in row-major order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// Its index, a number a dimension.
    pub index: Vec<u64>,
    /// The expected value, as text (`0.5`, `nan`, `-inf`, `(1+2j)`).
    pub expected: String,
    /// The actual value.
    pub actual: String,
}

/// The smallest and largest finite value of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Figures of one side of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Elements that are NaN.
    pub nan: u64,
    /// Elements that are infinite.
    pub inf: u64,
    /// The range of the finite elements; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// What wrong outputs the comparison of an entry would have let pass. An entry for which any of these holds cannot tell
/// a right kernel from that wrong one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blindness {
    /// An output of zeros.
    pub zeros: bool,
    /// An output of NaN.
    pub nan: bool,
    /// The output of the entry before; absent for the first entry and where shapes differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<bool>,
}

impl Blindness {
    /// Whether any wrong output would have passed.
    pub fn any(&self) -> bool {
        self.zeros || self.nan || self.previous == Some(true)
    }
}

/// The comparison of one expected value with what the kernel gave, for a record: a verdict without the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeafOutcome {
    /// Where in the output the value stands: empty for a single output, `[1]` for the second of a tuple.
    pub path: String,
    /// Whether it matched.
    pub passed: bool,
    /// Why it cannot match whatever its elements: a wrong shape, dtype, kind or a missing value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The expected dtype and shape, for a tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<TensorSpec>,
    /// The element-wise figures, where they were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Elements>,
}

/// Element-wise figures of two tensors of one shape and dtype.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Elements {
    /// Elements compared.
    pub count: u64,
    /// Elements that do not match.
    pub mismatches: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<Mismatch>,
    /// The largest |actual - expected| over pairs of finite elements; absent where there is no such pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abs_error: Option<f64>,
    /// The largest |actual - expected| / |expected| over pairs of finite elements with expected != 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rel_error: Option<f64>,
    /// The expected side.
    pub expected: Side,
    /// The actual side.
    pub actual: Side,
}
