//! The result of a comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule::Tolerances;
use crate::TensorSpec;

/// The first element that did not match, in row-major order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    /// The element's index, one number per dimension.
    pub index: Vec<u64>,
    /// The expected value, as text (`0.5`, `nan`, `-inf`, `(1+2j)`).
    pub expected: String,
    /// The actual value, as text.
    pub actual: String,
}

/// The smallest and largest finite value of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The smallest finite value.
    pub min: f64,
    /// The largest finite value.
    pub max: f64,
}

/// Figures of one side of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Elements that are NaN.
    pub nan: u64,
    /// Elements that are infinite.
    pub inf: u64,
    /// The range of the finite elements; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
}

/// The wrong outputs that the comparison of an entry would have let pass. If any of them holds, the entry cannot
/// distinguish a right kernel from one with that output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blindness {
    /// An output of zeros.
    pub zeros: bool,
    /// An output of NaN.
    pub nan: bool,
    /// The output of the entry before; absent for the first entry and if shapes differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<bool>,
    /// One value in every element of a tensor; absent unless launches are audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<bool>,
    /// The right output, rounded to half precision; absent unless launches are audited, if rounding changes nothing, and
    /// if the relative tolerance is 1/256 or more, by which half precision is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_precision: Option<bool>,
}

impl Blindness {
    /// Whether any wrong output would have passed.
    pub fn any(&self) -> bool {
        !self.wrong_outputs().is_empty()
    }

    /// The wrong outputs that would have passed, in words.
    pub fn wrong_outputs(&self) -> Vec<&'static str> {
        let wrong = [
            (self.zeros, "zeros"),
            (self.nan, "NaN"),
            (self.previous == Some(true), "the previous entry's output"),
            (self.constant == Some(true), "one value everywhere"),
            (self.half_precision == Some(true), "half precision"),
        ];
        wrong.into_iter().filter_map(|(passes, name)| passes.then_some(name)).collect()
    }
}

/// The comparison of one expected value with the kernel's output, for a record: a verdict without the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeafOutcome {
    /// The value's place in the output: empty for a single output, `[1]` for the second of a tuple.
    pub path: String,
    /// Whether the value matched.
    pub passed: bool,
    /// Why the value cannot match, whatever its elements: a wrong shape, dtype or kind, or a missing value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The expected dtype and shape, if the value is a tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<TensorSpec>,
    /// The tolerances that the reference gave; absent if it gives none, or another rule was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerances: Option<Tolerances>,
    /// The element-wise figures, if elements were compared.
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
    /// The first element that does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<Mismatch>,
    /// The largest |actual - expected| over pairs of finite elements; absent if there is no such pair.
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
