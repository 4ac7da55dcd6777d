//! [`steps`]: where a series changed its level.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place at which a series changed its level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The index of the first point of the new level.
    pub at: usize,
    /// The median before, back to the step before it.
    pub before: f64,
    /// The median after, up to the next step.
    pub after: f64,
    /// How often chance alone gives such a step anywhere in the series; at most 1 in 10,000.
    pub p: f64,
    /// Why it was accepted, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// A step that somebody has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The commit that it was at.
    pub commit: String,
    /// The figure.
    pub figure: String,
    /// Why it was accepted.
    pub why: String,
}

/// The places at which `series` changed its level, in order, as [`plimsoll_statistics::steps()`] finds them.
pub fn steps(series: &[f64]) -> Vec<Step> {
    let found = plimsoll_statistics::steps(series).into_iter();
    found
        .map(|plimsoll_statistics::Step { at, before, after, p }| Step { at, before, after, p, accepted: None })
        .collect()
}
