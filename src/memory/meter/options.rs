//! [`MeterOptions`]: what to meter, and how closely.

use std::time::Duration;

use super::cgroup::Cgroup;
use super::swap::SwapScope;
use super::watch::Watch;
use crate::bytes::ByteSize;

/// The time between two samples if nothing else is asked for.
pub const DEFAULT_SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// What to meter, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterOptions {
    /// The process whose tree is metered, itself included.
    pub root: u32,
    /// The time between two samples.
    pub sample_interval: Duration,
    /// Whether the proportional set is read: exact, but slow (some 9 ms a GiB), so at most every 100 ms, for at most
    /// 0.5 % of the time, and only when memory moved; and when a phase begins and ends, if it takes less than 20 ms.
    pub pss: bool,
    /// The resident memory beyond which the proportional set is read as well, to say how much of it are pages that
    /// processes share.
    pub pss_beyond: Option<ByteSize>,
    /// Whether what each mapping holds is read with it, so that [`PhaseReadings::mappings`](super::PhaseReadings) tells
    /// what grew: some 10 us a mapping more, within the same bounds.
    pub mappings: bool,
    /// Whose swap counts as `swap_growth`.
    pub swap: SwapScope,
    /// Whether memory on NVIDIA GPUs is read (NVML, loaded at run time), for at most 2 % of the time. The driver's library
    /// takes some MiB of this process.
    pub gpu: bool,
    /// The control group whose memory is `peak_cgroup`, and whose stalls and kills are told; if none is given, the
    /// memory of the one that the root is in, and the stalls and kills of the system.
    pub cgroup: Option<Cgroup>,
    /// Why there is no group of the tree's own, if one was wanted: then no other is read in its place.
    pub no_cgroup: Option<String>,
    /// One part in so many of a processor's time may go into samples, and as much into finding new processes, in place of 20
    /// and 100: the larger a tree, the seldomer it is sampled.
    pub parts: Option<u32>,
    /// Limits to look at in every sample.
    pub watches: Vec<Watch>,
    /// Whether the root was forked and is to execute its program yet: until then its memory is that of its parent and is
    /// passed over, and growth is counted from nothing.
    pub before_exec: bool,
    /// Whether every child of this process belongs to the tree: a process that is a subreaper and starts nothing else
    /// inherits what the tree leaves behind, such as daemons.
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
