//! [`Metric`]: the figures of a phase that a ceiling may limit, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bytes::ByteSize;

/// The figures that are read of a phase, and that a ceiling may limit.
///
/// A *peak* is absolute: all that the whole process tree held at one instant. A *growth* is that peak less what the tree
/// held when the first phase began. What is *retained* is what the tree held when the phase ended less what it held when
/// the first phase began; nothing where it fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The largest resident set of the whole process tree at one instant (shared pages count in each process).
    PeakRss,
    /// `peak_rss` less the tree's resident set when the first phase began.
    PeakRssGrowth,
    /// The tree's resident set at the end of the phase less that when the first phase began.
    RetainedRss,
    /// The largest anonymous resident memory of the tree.
    PeakAnon,
    /// `peak_anon` less the tree's anonymous resident memory when the first phase began.
    PeakAnonGrowth,
    /// The tree's anonymous resident memory at the end of the phase less that when the first phase began.
    RetainedAnon,
    /// The largest file-backed resident memory of the tree.
    PeakFile,
    /// The largest resident shared memory (memfd, tmpfs, System V) of the tree.
    PeakShmem,
    /// The largest proportional set of the tree (shared pages divided among their users).
    PeakPss,
    /// The largest swap use of the tree's own processes.
    PeakSwap,
    /// The growth of swap in use since the phase began: of the system, or of the tree where that was chosen
    /// ([`SwapScope`](super::SwapScope)).
    SwapGrowth,
    /// The largest memory of the control group, page cache included, whoever in the group holds it.
    PeakCgroup,
    /// The largest memory that the tree's processes hold on GPUs.
    GpuPeak,
    /// On a machine whose GPU has no memory of its own: the largest growth of the memory in use on the whole system
    /// (`MemTotal - MemAvailable`) since the first phase began, host and device together.
    UnifiedPeak,
    /// The largest amount of heap memory that was allocated and not freed, by the allocator's own count.
    PeakHeap,
    /// The heap memory that was allocated and not freed at the end, by the allocator's own count.
    RetainedHeap,
    /// The smallest memory available on the system.
    AvailableFloor,
}

impl Metric {
    /// Every metric, in the order of a report.
    pub const ALL: [Self; 17] = [
        Self::PeakRss,
        Self::PeakRssGrowth,
        Self::RetainedRss,
        Self::PeakAnon,
        Self::PeakAnonGrowth,
        Self::RetainedAnon,
        Self::PeakFile,
        Self::PeakShmem,
        Self::PeakPss,
        Self::PeakSwap,
        Self::SwapGrowth,
        Self::PeakCgroup,
        Self::GpuPeak,
        Self::UnifiedPeak,
        Self::PeakHeap,
        Self::RetainedHeap,
        Self::AvailableFloor,
    ];

    /// Its name in records, on the command line and in messages, such as `peak_rss`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeakRss => "peak_rss",
            Self::PeakRssGrowth => "peak_rss_growth",
            Self::RetainedRss => "retained_rss",
            Self::PeakAnon => "peak_anon",
            Self::PeakAnonGrowth => "peak_anon_growth",
            Self::RetainedAnon => "retained_anon",
            Self::PeakFile => "peak_file",
            Self::PeakShmem => "peak_shmem",
            Self::PeakPss => "peak_pss",
            Self::PeakSwap => "peak_swap",
            Self::SwapGrowth => "swap_growth",
            Self::PeakCgroup => "peak_cgroup",
            Self::GpuPeak => "gpu_peak",
            Self::UnifiedPeak => "unified_peak",
            Self::PeakHeap => "peak_heap",
            Self::RetainedHeap => "retained_heap",
            Self::AvailableFloor => "available_floor",
        }
    }

    /// Whether a limit on it is the least that must remain, where others are the most that may be used.
    pub const fn is_floor(self) -> bool {
        matches!(self, Self::AvailableFloor)
    }

    /// How a reading that holds stands to its limit, as it is typed: `<=`, and `>=` of a floor.
    pub const fn relation(self) -> &'static str {
        if self.is_floor() { ">=" } else { "<=" }
    }

    /// [`relation`](Self::relation) as one sign: `≤`, and `≥` of a floor.
    pub const fn sign(self) -> &'static str {
        if self.is_floor() { "≥" } else { "≤" }
    }

    /// Where a reading that is past its limit stands.
    pub const fn past(self) -> &'static str {
        if self.is_floor() { "below" } else { "above" }
    }

    /// Whether it is what is left when a phase is over, where others are the worst of the phase. A limit on it is held
    /// against the last phase alone.
    pub const fn is_retained(self) -> bool {
        matches!(self, Self::RetainedRss | Self::RetainedAnon | Self::RetainedHeap)
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMetricError {
    name: String,
}

impl fmt::Display for ParseMetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no metric of memory: write ", self.name)?;
        for (at, metric) in Metric::ALL.into_iter().enumerate() {
            let before = match at {
                0 => "",
                at if at + 1 == Metric::ALL.len() => " or ",
                _ => ", ",
            };
            write!(f, "{before}{metric}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseMetricError {}

impl FromStr for Metric {
    type Err = ParseMetricError;

    /// Takes the name with `_` or `-` between its words.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let plain = name.trim().replace('-', "_");
        Self::ALL.into_iter().find(|metric| metric.name() == plain).ok_or(ParseMetricError { name: name.to_owned() })
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
        assert!(Metric::ALL.is_sorted(), "records hold them in the order of a report");
        let error = "peak_rs".parse::<Metric>().unwrap_err().to_string();
        assert!(error.starts_with("`peak_rs` is no metric of memory: write peak_rss, peak_rss_growth, "), "{error}");
        assert!(error.ends_with(", retained_heap or available_floor"), "{error}");
    }

    #[test]
    fn a_floor_is_passed_downwards() {
        let (less, more) = (ByteSize::mib(1), ByteSize::mib(2));
        assert!(Metric::PeakRss.is_past(more, less) && !Metric::PeakRss.is_past(less, less));
        assert!(Metric::AvailableFloor.is_past(less, more) && !Metric::AvailableFloor.is_past(more, more));
    }
}
