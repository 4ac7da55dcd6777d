//! [`Reading`]: one figure of memory, with where it came from; [`PhaseReadings`]: all that was read of a phase.

use std::collections::BTreeMap;
use std::time::Duration;

use super::activity::Activity;
use super::metric::Metric;
use super::process::ProcessMemory;
use super::smaps::MappingGrowth;
use crate::bytes::ByteSize;

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case", tag = "kind"))]
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

/// What the kernel keeps of a process that has ended until it is reaped: its mark, and that of the children it reaped
/// (`ru_maxrss`), in which is also what it had before it executed its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMark {
    /// The mark is above what the process had before: its program's own.
    Peak(ByteSize),
    /// The mark may be from before: the program had no more.
    AtMost(ByteSize),
}

impl EndMark {
    /// What no process of the line has had more than.
    pub(crate) const fn bytes(self) -> ByteSize {
        match self {
            Self::Peak(bytes) | Self::AtMost(bytes) => bytes,
        }
    }
}

/// One figure of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Reading {
    /// The figure.
    pub bytes: ByteSize,
    /// How far it can be trusted.
    pub source: Source,
    /// The counter it was read from, such as `VmHWM` or `sum of RssAnon over the tree`.
    pub counter: String,
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

/// Resident memory of processes that share pages: as it counts in each, and divided among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SharedPages {
    /// The sum of their resident sets, shared pages in each.
    pub rss: ByteSize,
    /// The sum of their proportional sets, shared pages divided among them.
    pub pss: ByteSize,
}

/// How many processes there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessCount {
    /// How many processes there were.
    pub count: u64,
    /// Exact if the kernel reported every one, else a lower bound: one that came and went between two samples was not
    /// seen.
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
    /// What lies in swap of the tree; absent if the kernel does not report it.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
    /// Memory available on the system.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub available: Option<ByteSize>,
    /// The largest processes of the tree then, the largest first, at most four; none if no point has
    /// several, for one process holds all.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub largest: Vec<ProcessRss>,
}

/// What a process held at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ProcessRss {
    /// The process id.
    pub pid: u32,
    /// Its resident set.
    pub rss: ByteSize,
}

/// Resident memory by kind and swap of the whole tree, at one instant. A part is absent if the kernel does not report
/// it of some process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct MemorySplit {
    /// The resident set (`VmRSS`).
    pub rss: ByteSize,
    /// The anonymous part of it: heap, stacks, private copies (`RssAnon`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub anon: Option<ByteSize>,
    /// The part that mapped files hold (`RssFile`): page cache.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub file: Option<ByteSize>,
    /// The shared part: memfd, tmpfs, System V (`RssShmem`).
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shmem: Option<ByteSize>,
    /// What lies in swap of anonymous memory (`VmSwap`); not a part of the resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub swap: Option<ByteSize>,
    /// Huge pages of hugetlbfs (`HugetlbPages`); not a part of the resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub hugetlb: Option<ByteSize>,
}

impl MemorySplit {
    /// The sums over processes; `None` if there is none. A part is absent if any process lacks it.
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

/// What was read during one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PhaseReadings {
    /// `validate`, `release`, `profile`.
    pub phase: String,
    /// The wall time of the phase, in nanoseconds.
    pub wall_ns: u64,
    /// The figures that could be read.
    pub readings: BTreeMap<Metric, Reading>,
    /// The figures that could not, each with the reason.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "BTreeMap::is_empty"))]
    pub unavailable: BTreeMap<Metric, String>,
    /// The tree's memory when the phase began; absent if no process of the tree ran.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_start: Option<MemorySplit>,
    /// The tree's memory in the sample with the largest resident set.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_peak: Option<MemorySplit>,
    /// The tree's memory when the phase ended; absent if no process of the tree ran any more.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub at_end: Option<MemorySplit>,
    /// What memory cost meanwhile: page faults, stalls, kills, processor time.
    #[cfg_attr(feature = "schema", serde(default))]
    pub activity: Activity,
    /// The mappings that grew most, what grew most first: at most 16, and only if they were asked for.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub mappings: Vec<MappingGrowth>,
    /// What `peak_rss` was at most, if it is less than exact and this is known: of one process alone that was over
    /// before it was read again, and that is smaller than what it was forked from; of several, by the mark of their
    /// control group.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub peak_rss_at_most: Option<ByteSize>,
    /// What `peak_pss` may have been, if that is more than was read: it is read seldom, and resident memory between two
    /// readings was more than at either.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub peak_pss_at_most: Option<ByteSize>,
    /// What the processes held together while `peak_rss` was above its ceiling, if that was read.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub shared: Option<SharedPages>,
    /// How many processes of the tree lived in the phase; absent if that was not counted.
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

    /// A copy without what makes it large: timeline, processes, mappings.
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

/// The worst reading of a metric in any of `phases`, and its phase; of equals the first.
pub fn worst_reading<'a>(
    phases: impl IntoIterator<Item = &'a PhaseReadings>,
    metric: Metric,
) -> Option<(&'a PhaseReadings, &'a Reading)> {
    let readings = phases.into_iter().filter_map(|phase| Some((phase, phase.readings.get(&metric)?)));
    readings.reduce(|worst, next| if metric.is_past(next.1.bytes, worst.1.bytes) { next } else { worst })
}
