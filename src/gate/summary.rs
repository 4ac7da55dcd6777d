//! [`Summary`]: a set of figures in brief.

use plimsoll_statistics::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The summary of a set of figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// The median, or the mean of the two middle values.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summarizes `figures` in any order; `None` if there are none, or if one is negative or not finite.
    pub fn of(figures: &[f64]) -> Option<Self> {
        if figures.is_empty() || figures.iter().any(|figure| !(figure.is_finite() && *figure >= 0.0)) {
            return None;
        }
        let (min, max) = figures.iter().fold((f64::INFINITY, 0.0_f64), |(min, max), &f| (min.min(f), max.max(f)));
        Some(Self { count: figures.len() as u64, median: median(figures.to_vec())?, min, max })
    }
}
