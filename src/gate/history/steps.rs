//! [`steps`]: the places where a series changed its level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place where a series changed its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The index of the first point of the new level.
    pub at: usize,
    /// The median before it, back to the previous step.
    pub before: f64,
    /// The median after it, up to the next step.
    pub after: f64,
    /// The probability that chance alone produces such a step anywhere in the series; at most 1 in 1,000.
    pub p: f64,
    /// Why it was accepted, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// A step that somebody has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The commit of the step.
    pub commit: String,
    /// The figure.
    pub figure: String,
    /// Why it was accepted.
    pub why: String,
}

/// The places where `series` changed its level, in order, as [`plimsoll_statistics::steps()`] finds them.
pub fn steps(series: &[f64]) -> Vec<Step> {
    let found = plimsoll_statistics::steps(series).into_iter();
    found
        .map(|plimsoll_statistics::Step { at, before, after, p }| Step { at, before, after, p, accepted: None })
        .collect()
}
