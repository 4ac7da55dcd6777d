//! [`Trends`] and [`Finding`]: what the figures of a log show.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::statistics::Statistics;
use super::worker::Worker;
use crate::telemetry::{Figure, Format, Metric, Position};
use plimsoll_memory::bytes::ByteSize;

/// The meaning of a trend, in the words of `plimsoll.findings/1`, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrendVerdict {
    /// There is telemetry, and nothing is wrong.
    ReportOnly,
    /// Ranks hold different amounts.
    VariesByRank,
    /// Reserved memory stays high while allocated memory falls back.
    CacheNotLeak,
    /// The ranks that were seen are fine, and others were not seen.
    Inconclusive,
    /// The allocator had to release its cache and retry: the device is nearly full.
    NearCapacity,
    /// Reserved memory is fragmented.
    Fragmentation,
    /// Memory is higher than in the baseline.
    Regression,
    /// Host memory grows, or remains after device memory has returned.
    HostGrowth,
    /// Allocated memory rises while the work stays constant.
    Leak,
    /// The memory that remains after sleep grows.
    ResidualGrowth,
    /// Sleep freed nothing.
    SleepIneffective,
}

impl TrendVerdict {
    /// The stable word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReportOnly => "report-only",
            Self::VariesByRank => "varies-by-rank",
            Self::CacheNotLeak => "cache-not-leak",
            Self::Inconclusive => "inconclusive",
            Self::NearCapacity => "near-capacity",
            Self::Fragmentation => "fragmentation",
            Self::Regression => "regression",
            Self::HostGrowth => "host-growth",
            Self::Leak => "leak",
            Self::ResidualGrowth => "residual-growth",
            Self::SleepIneffective => "sleep-ineffective",
        }
    }
}

impl fmt::Display for TrendVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The last readings of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Number of ranks.
    pub ranks: u64,
    /// The lowest amount.
    pub lowest: ByteSize,
    /// The worker with the lowest amount.
    pub lowest_worker: Worker,
    /// The highest amount.
    pub highest: ByteSize,
    /// The worker with the highest amount.
    pub highest_worker: Worker,
    /// Whether they differ by more than a quarter of the highest amount, and by more than 1 GiB.
    pub rank_dependent: bool,
}

/// What the readings of one label and metric show, for the worst rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The verdict on the readings.
    pub verdict: TrendVerdict,
    /// The format of the lines.
    pub format: Format,
    /// The label; a `#` replaces a number that counts steps.
    pub label: String,
    /// The quantity that was measured.
    pub metric: Metric,
    /// The worst rank.
    pub worker: Worker,
    /// How the readings move.
    pub pattern: Pattern,
    /// Statistics of the readings.
    pub statistics: Statistics,
    /// The shape of the series: its readings in order, thinned evenly, including the first and the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<ByteSize>,
    /// The latest figures of every metric from the same worker at the same label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latest: BTreeMap<Metric, Figure>,
    /// The last readings of all ranks, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The readings that show the finding: the first and the last, or those of a sequence.
    pub evidence: Vec<Position>,
    /// The finding in one sentence, with its numbers.
    pub explanation: String,
}

/// What the figures of a log show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trends {
    /// The gravest verdict; `report-only` if nothing is wrong.
    pub verdict: TrendVerdict,
    /// The other verdicts, the gravest first.
    pub also: Vec<TrendVerdict>,
    /// The findings, the gravest first.
    pub findings: Vec<Finding>,
    /// Number of samples read.
    pub samples: u64,
    /// Number of samples by format.
    pub formats: BTreeMap<Format, u64>,
    /// Positions of the first and the last report with figures; empty if there is none.
    pub extent: Vec<Position>,
    /// Number of series beyond the limit, which were not kept; absent if all were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_series: Option<u64>,
    /// The median duration of a step in seconds, if the log states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_per_step: Option<f64>,
    /// The memory of a device, if the log states it; the smallest of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_total: Option<ByteSize>,
    /// How often the allocator had to release its cache and retry: the highest count of any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Out-of-memory errors counted by the allocator: the highest count of any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ooms: Option<u64>,
}
