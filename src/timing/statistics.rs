//! Statistics of durations.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a set of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// How many durations.
    pub count: u64,
    /// The middle one, or the mean of the two in the middle.
    pub median_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The sample standard deviation (divisor n - 1); absent for a single duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_ns: Option<f64>,
    /// The smallest.
    pub min_ns: f64,
    /// The largest.
    pub max_ns: f64,
    /// The 95th percentile, interpolated linearly between the two nearest ranks.
    pub p95_ns: f64,
}

impl Statistics {
    /// The median as a [`Duration`].
    pub fn median(&self) -> Duration {
        Duration::from_secs_f64(self.median_ns / 1e9)
    }
}
