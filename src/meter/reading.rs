//! [`Reading`]: one figure of memory, with where it came from.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteSize;

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Source {
    /// The kernel's own counter, which misses nothing.
    Exact,
    /// The largest (or smallest) of samples taken at this interval: a shorter spike is missed.
    Sampled {
        /// Nanoseconds between two samples.
        interval_ns: u64,
    },
    /// At least this much; the truth may be more.
    LowerBound,
}

/// One figure of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The figure.
    pub bytes: ByteSize,
    /// How far it can be trusted.
    pub source: Source,
    /// The counter it was read from, such as `VmHWM` or `sum of RssAnon over the tree`.
    pub counter: String,
}

/// The figures that are read of a phase, and that a ceiling may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The largest resident set of the whole process tree at one instant (shared pages count in each process).
    PeakRss,
    /// The largest anonymous resident memory of the tree.
    PeakAnon,
    /// The largest file-backed resident memory of the tree.
    PeakFile,
    /// The largest resident shared memory (memfd, tmpfs, System V) of the tree.
    PeakShmem,
    /// The largest proportional set of the tree (shared pages divided among their users).
    PeakPss,
    /// The largest swap use of the tree's own processes.
    PeakSwap,
    /// The growth of the system's swap in use since the phase began.
    SwapGrowth,
    /// The smallest memory available on the system.
    AvailableFloor,
}

impl Metric {
    /// Every metric, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::PeakRss,
        Self::PeakAnon,
        Self::PeakFile,
        Self::PeakShmem,
        Self::PeakPss,
        Self::PeakSwap,
        Self::SwapGrowth,
        Self::AvailableFloor,
    ];

    /// Its name in records, on the command line and in messages, such as `peak_rss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeakRss => "peak_rss",
            Self::PeakAnon => "peak_anon",
            Self::PeakFile => "peak_file",
            Self::PeakShmem => "peak_shmem",
            Self::PeakPss => "peak_pss",
            Self::PeakSwap => "peak_swap",
            Self::SwapGrowth => "swap_growth",
            Self::AvailableFloor => "available_floor",
        }
    }

    /// Whether a limit on it is the least that must remain, where others are the most that may be used.
    pub const fn is_floor(self) -> bool {
        matches!(self, Self::AvailableFloor)
    }

    /// What it is read from, where the tree is more than one process.
    pub(crate) const fn counter(self) -> &'static str {
        match self {
            Self::PeakRss => "sum of VmRSS over the tree",
            Self::PeakAnon => "sum of RssAnon over the tree",
            Self::PeakFile => "sum of RssFile over the tree",
            Self::PeakShmem => "sum of RssShmem over the tree",
            Self::PeakPss => "sum of Pss over the tree",
            Self::PeakSwap => "sum of VmSwap over the tree",
            Self::SwapGrowth => "SwapTotal - SwapFree",
            Self::AvailableFloor => "MemAvailable",
        }
    }

    /// Whether `reading` is past `limit`: above it, or below it where the metric is a floor.
    pub fn is_past(self, reading: ByteSize, limit: ByteSize) -> bool {
        if self.is_floor() { reading < limit } else { reading > limit }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no metric.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is no metric of memory: write peak_rss, peak_anon, peak_file, peak_shmem, peak_pss, peak_swap, swap_growth \
     or available_floor"
)]
pub struct ParseMetricError {
    name: String,
}

impl FromStr for Metric {
    type Err = ParseMetricError;

    /// Takes the name with `_` or `-` between its words.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let plain = name.trim().replace('-', "_");
        Self::ALL.into_iter().find(|metric| metric.name() == plain).ok_or(ParseMetricError { name: name.to_owned() })
    }
}

/// The peaks of one process during a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPeak {
    /// The process id.
    pub pid: u32,
    /// Its role (`supervisor`, `worker 2`), or the name of its command.
    pub name: String,
    /// Its largest resident set.
    pub peak_rss: Reading,
    /// Its largest anonymous resident memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_anon: Option<Reading>,
}

/// A point of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePoint {
    /// Nanoseconds since the phase began.
    pub at_ns: u64,
    /// Resident memory of the tree.
    pub rss: ByteSize,
    /// Anonymous resident memory of the tree; absent where the kernel does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anon: Option<ByteSize>,
    /// Memory available on the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<ByteSize>,
}

/// What was read during one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReadings {
    /// `validate`, `release`, `profile`.
    pub phase: String,
    /// The wall time of the phase, in nanoseconds.
    pub wall_ns: u64,
    /// The figures that could be read.
    pub readings: std::collections::BTreeMap<Metric, Reading>,
    /// The figures that could not, each with the reason.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub unavailable: std::collections::BTreeMap<Metric, String>,
    /// The largest processes of the phase, largest first.
    pub processes: Vec<ProcessPeak>,
    /// Resident memory over time, thinned to at most a few hundred points that keep every peak.
    pub timeline: Vec<TimelinePoint>,
}

impl PhaseReadings {
    /// The wall time of the phase.
    pub fn wall(&self) -> Duration {
        Duration::from_nanos(self.wall_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_as_in_json() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            assert_eq!(metric.name().replace('_', "-").parse(), Ok(metric));
        }
        assert!("peak_rs".parse::<Metric>().unwrap_err().to_string().contains("peak_rss"));
    }

    #[test]
    fn a_floor_is_passed_downwards() {
        let (less, more) = (ByteSize::mib(1), ByteSize::mib(2));
        assert!(Metric::PeakRss.is_past(more, less) && !Metric::PeakRss.is_past(less, less));
        assert!(Metric::AvailableFloor.is_past(less, more) && !Metric::AvailableFloor.is_past(more, more));
    }
}
