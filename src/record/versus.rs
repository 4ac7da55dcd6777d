//! [`Pairs`] and [`Speedup`]: the comparison of two kernels that were timed in turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measurements of one entry that were taken side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pairs {
    /// Nanoseconds per launch, of the kernel and of the other, pair after pair: the mean or the median of each
    /// measurement, according to the semantics' aggregation. Empty if one of them has no time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times_ns: Vec<[f64; 2]>,
    /// The speedup on this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
}

/// How many times as fast as another kernel a kernel is: above 1 if it takes less time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speedup {
    /// The other kernel's time divided by this kernel's time.
    pub ratio: f64,
    /// The interval of the true ratio; absent if there are too few pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpeedupInterval>,
    /// The number of pairs.
    pub pairs: u64,
    /// How ratio and interval were computed.
    pub method: String,
}

/// The interval of a speedup at a stated confidence; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeedupInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The least probability that such an interval contains the true ratio: 0.99 for 99 in 100.
    pub confidence: f64,
}
