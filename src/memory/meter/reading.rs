//! [`Reading`]: one memory figure with its source; [`PhaseReadings`]: all readings of a phase.

use std::collections::BTreeMap;
use std::time::Duration;

use super::activity::Activity;
use super::metric::Metric;
use super::process::ProcessMemory;
use super::smaps::MappingGrowth;
use crate::bytes::ByteSize;

/// How exact a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case", tag = "kind"))]
pub enum Source {
    /// The kernel's own counter, which misses nothing.
    Exact,
    /// The largest (or smallest) of samples at this interval: a shorter spike is missed.
    Sampled {
        /// Nanoseconds between two samples.
        interval_ns: u64,
    },
    /// At least this much; the true value may be larger.
    LowerBound,
}

/// What the kernel keeps of an ended process until it is reaped: its mark and that of the children it reaped
/// (`ru_maxrss`), which includes memory from before it executed its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMark {
    /// The mark exceeds what the process had before, so it belongs to its program.
    Peak(ByteSize),
    /// The mark may be from before: the program had at most this much.
    AtMost(ByteSize),
}

impl EndMark {
    /// An upper bound for every process of the line.
    pub(crate) const fn bytes(self) -> ByteSize {
        match self {
            Self::Peak(bytes) | Self::AtMost(bytes) => bytes,
        }
    }
}

/// One memory figure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Reading {
    /// The figure.
    pub bytes: ByteSize,
    /// How exact the figure is.
    pub source: Source,
    /// The counter that it was read from, such as `VmHWM` or `sum of RssAnon over the tree`.
    pub counter: String,
    /// How much more it may be at most (a growth also less), because the kernel had not counted every page yet: before
    /// Linux 6.2, each thread holds back the pages of its latest faults; since then, each processor holds back some.
    /// Absent if that is 1 MiB at most since Linux 6.2, or if samples may have missed more.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub held_back: Option<ByteSize>,
}

impl Reading {
    /// A figure from which the kernel holds nothing back.
    pub fn new(bytes: ByteSize, source: Source, counter: impl Into<String>) -> Self {
        Self { bytes, source, counter: counter.into(), held_back: None }
    }

    /// This figure, if the kernel may hold this much back from it.
    pub(crate) fn holding_back(self, most: ByteSize) -> Self {
        Self { held_back: Some(most).filter(|most| *most > ByteSize::ZERO), ..self }
    }

    /// The figure with what the kernel may hold back.
    pub fn at_most(&self) -> ByteSize {
        self.bytes + self.held_back.unwrap_or_default()
    }
}

/// The peaks of one process during a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessPeak {
    /// The process id.
    pub pid: u32,
    /// Its role (`supervisor`, `worker 2`), or the name of its command.
    pub name: String,
    /// Its largest resident set.
    pub peak_rss: Reading,
    /// Its largest anonymous resident memory.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub peak_anon: Option<Reading>,
}

/// Resident memory of processes that share pages: counted in each process, and divided among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SharedPages {
    /// The sum of their resident sets, with shared pages counted in each.
    pub rss: ByteSize,
    /// The sum of their proportional sets, with shared pages divided among them.
    pub pss: ByteSize,
}

/// How many processes there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessCount {
    /// How many processes there were.
    pub count: u64,
    /// Exact if the kernel reported every process, else a lower bound: a process that came and went between two samples
    /// was not seen.
    pub source: Source,
}

/// A point of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct TimelinePoint {
    /// Nanoseconds since the phase began.
    pub at_ns: u64,
    /// Resident memory of the tree.
    pub rss: ByteSize,
    /// Anonymous resident memory of the tree; absent if the kernel does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub anon: Option<ByteSize>,
    /// Resident shared memory of the tree; absent if the kernel does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shmem: Option<ByteSize>,
    /// The tree's swapped memory; absent if the kernel does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
    /// Memory available on the system.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub available: Option<ByteSize>,
    /// The largest processes of the tree at that time, largest first, at most four; empty if only one process ran
    /// throughout, as it holds everything.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub largest: Vec<ProcessRss>,
}

/// The resident memory of a process at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessRss {
    /// The process id.
    pub pid: u32,
    /// Its resident set.
    pub rss: ByteSize,
}

/// Resident memory by kind, and swap, of the whole tree at one instant. A part is absent if the kernel does not report
/// it for some process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MemorySplit {
    /// The resident set (`VmRSS`).
    pub rss: ByteSize,
    /// The anonymous part of it: heap, stacks, private copies (`RssAnon`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub anon: Option<ByteSize>,
    /// The file-backed part (`RssFile`): page cache.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub file: Option<ByteSize>,
    /// The shared part: memfd, tmpfs, System V (`RssShmem`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shmem: Option<ByteSize>,
    /// Swapped anonymous memory (`VmSwap`); not a part of the resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
    /// Huge pages of hugetlbfs (`HugetlbPages`); not a part of the resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub hugetlb: Option<ByteSize>,
}

impl MemorySplit {
    /// The sums over processes; `None` without processes. A part is absent if any process lacks it.
    pub(crate) fn of(processes: impl Iterator<Item = ProcessMemory> + Clone) -> Option<Self> {
        processes.clone().next()?;
        Some(Self {
            rss: processes.clone().map(|memory| memory.rss).sum(),
            anon: sum(processes.clone().map(|memory| memory.anon)),
            file: sum(processes.clone().map(|memory| memory.file)),
            shmem: sum(processes.clone().map(|memory| memory.shmem)),
            swap: sum(processes.clone().map(|memory| memory.swap)),
            hugetlb: sum(processes.map(|memory| memory.hugetlb)),
        })
    }
}

fn sum(mut parts: impl Iterator<Item = Option<ByteSize>>) -> Option<ByteSize> {
    parts.try_fold(ByteSize::ZERO, |sum, part| sum.checked_add(part?))
}

/// The readings of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PhaseReadings {
    /// The name of the phase, such as `validate`, `release` or `profile`.
    pub phase: String,
    /// The wall time of the phase, in nanoseconds.
    pub wall_ns: u64,
    /// The figures that could be read.
    pub readings: BTreeMap<Metric, Reading>,
    /// The figures that could not be read, each with the reason.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub unavailable: BTreeMap<Metric, String>,
    /// The tree's memory when the phase began; absent if no process of the tree ran.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_start: Option<MemorySplit>,
    /// The tree's memory in the sample with the largest resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_peak: Option<MemorySplit>,
    /// The tree's memory when the phase ended; absent if none of its processes was still running.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_end: Option<MemorySplit>,
    /// What memory cost during the phase: page faults, stalls, kills, processor time.
    #[cfg_attr(feature = "schema", serde(default))]
    pub activity: Activity,
    /// The mappings that grew most, largest growth first: at most 16, and only if requested.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub mappings: Vec<MappingGrowth>,
    /// An upper bound of `peak_rss`, if the reading is not exact and a bound is known: for a single process that ended
    /// before it was read again and that is smaller than the process it was forked from; for several, from the marks that
    /// processes of the same time had, or from their control group's mark.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub peak_rss_at_most: Option<ByteSize>,
    /// The possible value of `peak_pss`, if it exceeds the reading: it is read rarely, and resident memory was larger
    /// between two readings than at either.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub peak_pss_at_most: Option<ByteSize>,
    /// What the processes held together while `peak_rss` was above its ceiling, if it was read.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shared: Option<SharedPages>,
    /// How many processes of the tree lived in the phase; absent if not counted.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub process_count: Option<ProcessCount>,
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

    /// A copy without the large parts: timeline, processes, mappings.
    pub fn without_details(&self) -> Self {
        Self {
            phase: self.phase.clone(),
            readings: self.readings.clone(),
            unavailable: self.unavailable.clone(),
            timeline: Vec::new(),
            processes: Vec::new(),
            mappings: Vec::new(),
            ..*self
        }
    }
}

/// The worst reading of a metric in any of `phases`, and its phase; in a tie the first.
pub fn worst_reading<'a>(
    phases: impl IntoIterator<Item = &'a PhaseReadings>,
    metric: Metric,
) -> Option<(&'a PhaseReadings, &'a Reading)> {
    let readings = phases.into_iter().filter_map(|phase| Some((phase, phase.readings.get(&metric)?)));
    readings.reduce(|worst, next| if metric.is_past(next.1.bytes, worst.1.bytes) { next } else { worst })
}
