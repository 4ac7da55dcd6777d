//! [`Summary`]: figures in short.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is told of a set of figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many there are.
    pub count: u64,
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// The summary of `figures`, in any order; `None` where there are none, or one is negative or not finite.
    pub fn of(figures: &[f64]) -> Option<Self> {
        if figures.is_empty() || figures.iter().any(|figure| !(figure.is_finite() && *figure >= 0.0)) {
            return None;
        }
        let mut sorted = figures.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        Some(Self { count: count as u64, median: middle(&sorted), min: sorted[0], max: sorted[count - 1] })
    }
}

/// The median of `figures`, in any order; there is at least one.
pub(super) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> f64 {
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}
