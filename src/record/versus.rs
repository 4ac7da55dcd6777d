//! [`Versus`]: another kernel on the same entries, timed in turns with the first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::results::EntryResult;
use plimsoll_capture::timing::Statistics;

/// The results of the kernel that the first was timed in turns with, and how they compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// What became of each entry under the other kernel, in the order of the semantics.
    pub entries: Vec<EntryResult>,
    /// The timings of the entries under the other kernel as one figure, as the semantics' aggregation says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Statistics>,
    /// The pairs of each entry, in the same order.
    pub pairs: Vec<Pairs>,
    /// The speedup over all entries that both kernels were timed on: of the time that each takes for one launch on every
    /// one of them. Absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
}

/// Measurements of one entry that were taken side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pairs {
    /// Nanoseconds a launch, of the kernel and of the other, a pair after the other: the mean or the median of each
    /// measurement, as the semantics' aggregation says. Empty where one of the two gave no time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times_ns: Vec<[f64; 2]>,
    /// The speedup on this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speedup: Option<Speedup>,
}

/// How many times as fast as the other a kernel is: above 1 where it takes less time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speedup {
    /// The time of the other kernel over that of this one.
    pub ratio: f64,
    /// Where the true ratio lies; absent where there are too few pairs to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpeedupInterval>,
    /// How many pairs it was taken of.
    pub pairs: u64,
    /// How ratio and interval were found.
    pub method: String,
}

/// Where a speedup lies with a stated confidence; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeedupInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How often such an interval holds the true ratio, at least: 0.99 for 99 in 100.
    pub confidence: f64,
}
