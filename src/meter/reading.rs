//! [`Reading`]: one figure of memory, with where it came from.

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
    /// Anonymous resident memory of the tree.
    pub anon: ByteSize,
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
