//! [`Metric`]: the figures of a phase that a ceiling may limit, by name.
//!
//! A metric is declared once, in [`with_metrics`](super::with_metrics): its name, help, source and scope. Command-line
//! flags, settings, arguments of `#[plimsoll::test]`, names in `assert_memory!`, schemas and the table in
//! `docs/metrics.md` are derived from that; `pass.rs` reads the value.

use std::fmt;
use std::str::FromStr;

use crate::bytes::ByteSize;

/// Passes every metric to a macro, in the order of reports: documentation, variant, name, whether its limit is a
/// maximum or a minimum, and its [`Facts`].
///
/// - `help`: its description for flags and settings. `source`: what it is read from, for a process tree.
/// - `of`: whose memory it is. `when`: at which time of a phase. `part`: which part of a process's memory.
/// - `flag`: whether `plimsoll run` and `plimsoll check` have a flag for it.
/// - `judged`: whether a gate judges it by default.
macro_rules! with_metrics {
    ($callback:ident) => {
        $callback! {
            /// The largest resident set of the whole process tree at one instant (shared pages count in each process).
            PeakRss peak_rss Most {
                help: "Resident memory at one instant",
                source: "sum of VmRSS over the tree",
                of: Processes, when: Peak, part: Rss, flag: true, judged: true,
            }
            /// `peak_rss` less the tree's resident set when the first phase began.
            PeakRssGrowth peak_rss_growth Most {
                help: "Growth of resident memory since the first phase began",
                source: "sum of VmRSS over the tree, less that when the first phase began",
                of: Processes, when: Growth, part: Rss, flag: false, judged: false,
            }
            /// The tree's resident set at the end of the phase less that when the first phase began.
            RetainedRss retained_rss Most {
                help: "Resident memory at the end, less that when the first phase began",
                source: "sum of VmRSS over the tree at the end, less that when the first phase began",
                of: Processes, when: Retained, part: Rss, flag: false, judged: true,
            }
            /// The largest anonymous resident memory of the tree.
            PeakAnon peak_anon Most {
                help: "Anonymous resident memory at one instant",
                source: "sum of RssAnon over the tree",
                of: Processes, when: Peak, part: Anon, flag: true, judged: true,
            }
            /// `peak_anon` less the tree's anonymous resident memory when the first phase began.
            PeakAnonGrowth peak_anon_growth Most {
                help: "Growth of anonymous resident memory since the first phase began",
                source: "sum of RssAnon over the tree, less that when the first phase began",
                of: Processes, when: Growth, part: Anon, flag: false, judged: false,
            }
            /// The tree's anonymous resident memory at the end of the phase less that when the first phase began.
            RetainedAnon retained_anon Most {
                help: "Anonymous resident memory at the end, less that when the first phase began",
                source: "sum of RssAnon over the tree at the end, less that when the first phase began",
                of: Processes, when: Retained, part: Anon, flag: false, judged: true,
            }
            /// The largest file-backed resident memory of the tree.
            PeakFile peak_file Most {
                help: "Resident pages of mapped files at one instant",
                source: "sum of RssFile over the tree",
                of: Processes, when: Peak, part: File, flag: false, judged: false,
            }
            /// The largest resident shared memory (memfd, tmpfs, System V) of the tree.
            PeakShmem peak_shmem Most {
                help: "Shared memory (memfd, tmpfs, System V) at one instant",
                source: "sum of RssShmem over the tree",
                of: Processes, when: Peak, part: Shmem, flag: true, judged: true,
            }
            /// The largest proportional set of the tree (shared pages divided among their users).
            PeakPss peak_pss Most {
                help: "Proportional set at one instant: shared pages divided among their users",
                source: "sum of Pss over the tree",
                of: Processes, when: Peak, part: Pss, flag: true, judged: true,
            }
            /// The largest memory of the tree in huge pages of hugetlbfs, which no other figure of processes counts.
            PeakHugetlb peak_hugetlb Most {
                help: "Huge pages of hugetlbfs at one instant, which no other figure counts",
                source: "sum of HugetlbPages over the tree",
                of: Processes, when: Peak, part: Hugetlb, flag: true, judged: true,
            }
            /// The largest swap use of the tree's own processes.
            PeakSwap peak_swap Most {
                help: "Swap of the processes at one instant",
                source: "sum of VmSwap over the tree",
                of: Processes, when: Peak, part: Swap, flag: true, judged: true,
            }
            /// The growth of swap in use since the phase began: of the system, or of the tree if that was chosen
            /// ([`SwapScope`](super::SwapScope)).
            SwapGrowth swap_growth Most {
                help: "Growth of the system's swap in use",
                source: "SwapTotal - SwapFree",
                of: Processes, when: Growth, part: Swap, flag: true, judged: false,
            }
            /// The largest memory of the control group, page cache included, whoever in the group holds it.
            PeakCgroup peak_cgroup Most {
                help: "Memory of the control group, page cache included",
                source: "memory of the control group",
                of: Machine, when: Peak, part: Whole, flag: true, judged: false,
            }
            /// The largest memory that the tree's processes hold on GPUs.
            GpuPeak gpu_peak Most {
                help: "Memory on GPUs at one instant",
                source: "NVML: memory of the tree's processes on all devices",
                of: Processes, when: Peak, part: Whole, flag: true, judged: true,
            }
            /// On a machine whose GPU has no memory of its own: the largest growth of the memory in use on the whole system
            /// (`MemTotal - MemAvailable`) since the first phase began, host and device together.
            UnifiedPeak unified_peak Most {
                help: "Growth of the memory in use on a machine with one memory for host and GPU",
                source: "MemTotal - MemAvailable, less that when the first phase began",
                of: Machine, when: Growth, part: Whole, flag: true, judged: false,
            }
            /// The largest amount of heap memory that was allocated and not freed, by the allocator's own count.
            PeakHeap peak_heap Most {
                help: "Heap memory at one instant, by the allocator's own count",
                source: "the allocator's count",
                of: Heap, when: Peak, part: Whole, flag: false, judged: true,
            }
            /// The heap memory that was allocated and not freed at the end, by the allocator's own count.
            RetainedHeap retained_heap Most {
                help: "Heap memory that was not freed at the end, by the allocator's own count",
                source: "the allocator's count",
                of: Heap, when: Retained, part: Whole, flag: false, judged: true,
            }
            /// The smallest memory available on the system.
            AvailableFloor available_floor Least {
                help: "Floor: memory that must stay available on the system",
                source: "MemAvailable",
                of: Machine, when: Peak, part: Whole, flag: true, judged: false,
            }
        }
    };
}
pub(crate) use with_metrics;

/// Whose memory a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The processes that are measured.
    Processes,
    /// The program's allocator, by its own count.
    Heap,
    /// The machine or a control group on it, other programs included.
    Machine,
}

/// The time in a phase to which a metric refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The worst instant.
    Peak,
    /// The worst instant minus the value at the start.
    Growth,
    /// The end minus the value at the start.
    Retained,
}

/// The part of a process's memory that a metric covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All resident memory.
    Rss,
    /// Anonymous memory.
    Anon,
    /// Pages of mapped files.
    File,
    /// Shared memory.
    Shmem,
    /// All resident memory, with shared pages divided among their users.
    Pss,
    /// Huge pages of hugetlbfs, which are not part of the resident set.
    Hugetlb,
    /// Swapped memory.
    Swap,
    /// Not a part: the figure is not a sum over processes.
    Whole,
}

/// Facts about a metric besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// A description in one line.
    pub help: &'static str,
    /// What it is read from, for a process tree.
    pub source: &'static str,
    /// Whose memory it is.
    pub of: Subject,
    /// The time in a phase to which it refers.
    pub when: When,
    /// Which part of a process's memory.
    pub part: Part,
    /// Whether commands have a flag for it.
    pub flag: bool,
    /// Whether a gate judges it by default.
    pub judged: bool,
}

macro_rules! declare {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:ident $bound:ident {
        help: $help:literal, source: $source:literal,
        of: $of:ident, when: $when:ident, part: $part:ident, flag: $flag:literal, judged: $judged:literal $(,)?
    })+) => {
        /// The figures of a phase, which a ceiling may limit.
        ///
        /// A *peak* is absolute: everything that the whole process tree held at one instant. A *growth* is that peak
        /// minus what the tree held when the first phase began. *Retained* memory is what the tree held when the phase
        /// ended minus what it held when the first phase began; zero if it fell.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
        pub enum Metric {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Metric {
            /// Every metric, in the order of a report.
            pub const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$variant),+];

            /// Its name in records, on the command line and in messages, such as `peak_rss`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)+ }
            }

            /// Facts about it besides its name.
            pub const fn facts(self) -> Facts {
                match self {
                    $(Self::$variant => Facts {
                        help: $help,
                        source: $source,
                        of: Subject::$of,
                        when: When::$when,
                        part: Part::$part,
                        flag: $flag,
                        judged: $judged,
                    },)+
                }
            }

            /// Whether its limit is a minimum that must remain rather than a maximum.
            pub const fn is_floor(self) -> bool {
                match self { $(Self::$variant => declare!(@floor $bound),)+ }
            }
        }
    };
    (@floor Most) => { false };
    (@floor Least) => { true };
}
with_metrics!(declare);

impl Metric {
    /// Whether the program's allocator counts it, rather than the meter.
    pub const fn is_of_heap(self) -> bool {
        matches!(self.facts().of, Subject::Heap)
    }

    /// Whether it describes the machine and other programs on it, not only what was run.
    pub const fn is_of_machine(self) -> bool {
        matches!(self.facts().of, Subject::Machine)
    }

    /// The operator between a reading and its limit, as typed: `<=`, or `>=` for a floor.
    pub const fn relation(self) -> &'static str {
        if self.is_floor() { ">=" } else { "<=" }
    }

    /// [`relation`](Self::relation) as one character: `≤`, or `≥` for a floor.
    pub const fn sign(self) -> &'static str {
        if self.is_floor() { "≥" } else { "≤" }
    }

    /// The word for a reading beyond its limit: above or below.
    pub const fn past(self) -> &'static str {
        if self.is_floor() { "below" } else { "above" }
    }

    /// Whether it measures what is left at the end of a phase rather than the worst instant. A limit on it is judged by
    /// the last phase only.
    pub const fn is_retained(self) -> bool {
        matches!(self.facts().when, When::Retained)
    }

    /// Whether `reading` exceeds `limit`: above it, or below it for a floor.
    pub fn is_past(self, reading: ByteSize, limit: ByteSize) -> bool {
        if self.is_floor() { reading < limit } else { reading > limit }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a word that is not a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMetricError {
    name: String,
}

impl fmt::Display for ParseMetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.name.trim().replace('-', "_");
        let known = Metric::ALL.map(Metric::name);
        if let Some(meant) = crate::text::nearest(&plain, &known) {
            return write!(f, "`{}` is not a metric of memory: did you mean `{meant}`?", self.name);
        }
        write!(f, "`{}` is not a metric of memory: write ", self.name)?;
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

    /// Accepts names with `_` or `-` between words.
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
            #[cfg(feature = "schema")]
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            assert_eq!(metric.name().replace('_', "-").parse(), Ok(metric));
        }
        assert!(Metric::ALL.is_sorted(), "records hold them in the order of a report");
        let error = "peak_rs".parse::<Metric>().unwrap_err().to_string();
        assert_eq!(error, "`peak_rs` is not a metric of memory: did you mean `peak_rss`?");
        let error = "weight".parse::<Metric>().unwrap_err().to_string();
        assert!(error.starts_with("`weight` is not a metric of memory: write peak_rss, peak_rss_growth, "), "{error}");
        assert!(error.ends_with(", retained_heap or available_floor"), "{error}");
    }

    #[test]
    fn a_floor_is_passed_downwards() {
        let (less, more) = (ByteSize::mib(1), ByteSize::mib(2));
        assert!(Metric::PeakRss.is_past(more, less) && !Metric::PeakRss.is_past(less, less));
        assert!(Metric::AvailableFloor.is_past(less, more) && !Metric::AvailableFloor.is_past(more, more));
    }
}
