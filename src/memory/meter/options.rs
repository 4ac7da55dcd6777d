//! [`MeterOptions`]: what to measure, and how closely.

use std::time::Duration;

use super::cgroup::Cgroup;
use super::swap::SwapScope;
use super::watch::Watch;
use crate::bytes::ByteSize;

/// The default time between two samples.
pub const DEFAULT_SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// What to measure, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterOptions {
    /// The root of the measured process tree, which is included.
    pub root: u32,
    /// The time between two samples.
    pub sample_interval: Duration,
    /// Whether the proportional set is read. It is exact but slow (some 9 ms per GiB), so it is read at most every 100
    /// ms, for at most 0.5 % of the time, and only when memory moved; also when a phase begins and ends, if that takes
    /// less than 20 ms.
    pub pss: bool,
    /// The resident memory beyond which the proportional set is read as well, to show how much of it is shared between
    /// processes.
    pub pss_beyond: Option<ByteSize>,
    /// Whether each mapping is read with it, so that [`PhaseReadings::mappings`](super::PhaseReadings) shows what grew:
    /// some 10 us more per mapping, within the same bounds.
    pub mappings: bool,
    /// Whose swap counts as `swap_growth`.
    pub swap: SwapScope,
    /// Whether memory on NVIDIA GPUs is read (through NVML, loaded at run time), for at most 2 % of the time. The
    /// driver's library takes some MiB in this process.
    pub gpu: bool,
    /// The control group that provides `peak_cgroup`, stalls and kills. By default, `peak_cgroup` comes from the root's
    /// group, and stalls and kills from the system.
    pub cgroup: Option<Cgroup>,
    /// Why the tree has no control group of its own, if one was requested: no other group is read in its place.
    pub no_cgroup: Option<String>,
    /// One part in this many of a processor's time may go into samples, and as much into searching new processes. By
    /// default the first is 20, or more if that would be above 0.8 % of all processors and no limit is watched; the second
    /// is 100. Larger trees are sampled less often.
    pub parts: Option<u32>,
    /// Limits to check in every sample.
    pub watches: Vec<Watch>,
    /// Whether the root was forked but has not executed its program yet: until then its memory is its parent's and is
    /// skipped, and growth starts at zero.
    pub before_exec: bool,
    /// Whether every child of this process belongs to the tree. A subreaper that starts nothing else inherits what the
    /// tree leaves behind, such as daemons.
    pub adopts: bool,
    /// Whether the high-water mark of the root is reset when a phase begins, so that its peak is exact in every phase.
    /// For programs that do not read their own mark.
    pub resets_root: bool,
}

impl Default for MeterOptions {
    /// This process and its children, every [`DEFAULT_SAMPLE_INTERVAL`], with the proportional set.
    fn default() -> Self {
        Self {
            root: std::process::id(),
            sample_interval: DEFAULT_SAMPLE_INTERVAL,
            pss: true,
            pss_beyond: None,
            mappings: false,
            swap: SwapScope::System,
            gpu: false,
            cgroup: None,
            no_cgroup: None,
            parts: None,
            watches: Vec::new(),
            before_exec: false,
            adopts: false,
            resets_root: false,
        }
    }
}
