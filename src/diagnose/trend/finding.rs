//! [`Trends`] and [`Finding`]: what a log's figures say.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::statistics::Statistics;
use super::worker::Worker;
use crate::telemetry::{Figure, Format, Metric, Position};
use plimsoll_memory::bytes::ByteSize;

/// What a trend means: the words of `plimsoll.findings/1`, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Telemetry, and nothing wrong.
    ReportOnly,
    /// Ranks hold unlike amounts.
    VariesByRank,
    /// Reserved memory stays while allocated memory falls back.
    CacheNotLeak,
    /// Nothing wrong on the ranks that were seen, and others were not.
    Inconclusive,
    /// The allocator had to give its cache back and try again: the device is full.
    NearCapacity,
    /// Reserved memory lies in pieces.
    Fragmentation,
    /// More than the baseline.
    Regression,
    /// Host memory grows, or stays when device memory came back.
    HostGrowth,
    /// Allocated memory rises at constant work.
    Leak,
    /// What stays after sleep grows.
    ResidualGrowth,
    /// Sleep freed nothing.
    SleepIneffective,
}

impl Verdict {
    /// The word.
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

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The last readings of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many ranks.
    pub ranks: u64,
    /// The least.
    pub lowest: ByteSize,
    /// Who has it.
    pub lowest_worker: Worker,
    /// The most.
    pub highest: ByteSize,
    /// Who has it.
    pub highest_worker: Worker,
    /// Whether they differ by more than a quarter of the most, and by more than a gibibyte.
    pub rank_dependent: bool,
}

/// What the readings of one label and metric say, of the worst rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it means.
    pub verdict: Verdict,
    /// Who wrote the lines.
    pub format: Format,
    /// The label; a `#` stands for a number that counts steps.
    pub label: String,
    /// What was measured.
    pub metric: Metric,
    /// The worst rank.
    pub worker: Worker,
    /// How its readings move.
    pub pattern: Pattern,
    /// Its readings in figures.
    pub statistics: Statistics,
    /// The shape of the series: its readings in order, thinned evenly, the first and the last among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<ByteSize>,
    /// What the same worker told last at the same label, of every metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latest: BTreeMap<Metric, Figure>,
    /// All ranks, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The readings that show it: the first and the last, or those of a sequence.
    pub evidence: Vec<Position>,
    /// The finding in a sentence, with its numbers.
    pub explanation: String,
}

/// What a log's figures say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trends {
    /// The gravest verdict; `report-only` if nothing is wrong.
    pub verdict: Verdict,
    /// The other verdicts, the gravest first.
    pub also: Vec<Verdict>,
    /// What the series say, the gravest first.
    pub findings: Vec<Finding>,
    /// Samples that were read.
    pub samples: u64,
    /// How many of them are of which format.
    pub formats: BTreeMap<Format, u64>,
    /// Where the first and the last report with figures stand; empty if there is none.
    pub extent: Vec<Position>,
    /// Series beyond those that are kept; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_series: Option<u64>,
    /// The median time of a step in seconds, if the log gives times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_per_step: Option<f64>,
    /// The memory of a device, if the log gives it; of several the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_total: Option<ByteSize>,
    /// How often the allocator had to give its cache back and try again, the most of any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Out-of-memory errors that the allocator counted, the most of any process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ooms: Option<u64>,
}
