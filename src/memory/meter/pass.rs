//! The readings of one pass over tree and system, and the value of each metric in it.

use std::sync::Arc;
use std::time::Instant;

use super::gpu::{GpuPass, GpuUse};
use super::meminfo::SystemMemory;
use super::metric::Metric;
use super::process::{ProcessId, ProcessMemory};
use super::reading::MemorySplit;
use super::smaps::SmapsPass;
use super::swap::SwapScope;
use crate::bytes::ByteSize;

/// One process in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessSample<'a> {
    pub(crate) id: ProcessId,
    pub(crate) name: &'a str,
    pub(crate) memory: ProcessMemory,
    /// What its threads may hold back from the kernel's counters at most.
    pub(crate) held_back: ByteSize,
}

/// The readings of one pass over the tree and the system.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) at: Instant,
    /// The sums over the tree; absent if none of its processes runs.
    pub(crate) totals: Option<MemorySplit>,
    /// What the sums may lack, because threads held it back from the kernel's counters.
    pub(crate) lacks: ByteSize,
    /// The system's memory, or why it cannot be read.
    pub(crate) system: Result<SystemMemory, String>,
    pub(crate) smaps: SmapsPass,
    /// The memory of the control group, or why it cannot be read.
    pub(crate) cgroup: Result<ByteSize, Arc<str>>,
    pub(crate) gpu: GpuPass,
}

/// The state when a phase began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    pub(crate) totals: Option<MemorySplit>,
    /// What the sums may lack.
    pub(crate) lacks: ByteSize,
    pub(crate) system: Option<SystemMemory>,
}

impl Start {
    /// The state before any process of the tree held anything.
    pub(crate) fn with_nothing(self) -> Self {
        let none = Some(ByteSize::ZERO);
        let nothing =
            MemorySplit { rss: ByteSize::ZERO, anon: none, file: none, shmem: none, swap: none, hugetlb: none };
        Self { totals: self.totals.or(Some(nothing)), ..self }
    }
}

/// The reference for growth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baseline {
    /// The start of the first phase.
    pub(crate) first: Start,
    /// The start of this phase.
    pub(crate) phase: Start,
    pub(crate) swap: SwapScope,
}

/// The value of a metric in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure<'a> {
    Bytes(ByteSize),
    /// This pass does not have it, but another may.
    NotTaken,
    /// The figure is unavailable, for this reason.
    Missing(&'a str),
}

impl Pass {
    pub(crate) fn start(&self) -> Start {
        Start { totals: self.totals, lacks: self.lacks, system: self.system.as_ref().ok().copied() }
    }

    /// `baseline` is absent before the first phase.
    pub(crate) fn figure(&self, metric: Metric, baseline: Option<&Baseline>) -> Figure<'_> {
        let first = baseline.and_then(|baseline| baseline.first.totals);
        match metric {
            Metric::PeakRss => self.part(|totals| Some(totals.rss), ""),
            Metric::PeakAnon => self.part(|totals| totals.anon, "`/proc/PID/status` has no RssAnon"),
            Metric::PeakFile => self.part(|totals| totals.file, "`/proc/PID/status` has no RssFile"),
            Metric::PeakShmem => self.part(|totals| totals.shmem, "`/proc/PID/status` has no RssShmem"),
            Metric::PeakHugetlb => self.part(|totals| totals.hugetlb, NO_HUGETLB),
            Metric::PeakSwap => self.part(|totals| totals.swap, NO_SWAP),
            Metric::PeakRssGrowth => self.growth(Metric::PeakRss, first.map(|first| first.rss), baseline),
            Metric::PeakAnonGrowth => self.growth(Metric::PeakAnon, first.and_then(|first| first.anon), baseline),
            Metric::PeakPss => match &self.smaps {
                SmapsPass::NotTaken => Figure::NotTaken,
                SmapsPass::Taken { pss, .. } => Figure::Bytes(*pss),
                SmapsPass::Failed(reason) => Figure::Missing(reason),
            },
            Metric::SwapGrowth => match baseline {
                None => Figure::NotTaken,
                Some(Baseline { swap: SwapScope::Tree, phase, .. }) => {
                    self.growth(Metric::PeakSwap, phase.totals.and_then(|start| start.swap), baseline)
                }
                Some(Baseline { swap: SwapScope::System, phase, .. }) => {
                    let start = phase.system.and_then(|system| system.swap_used());
                    let growth = |system: &SystemMemory| Some(system.swap_used()?.saturating_sub(start?));
                    self.of_system(growth, "`/proc/meminfo` has no SwapTotal and SwapFree")
                }
            },
            Metric::AvailableFloor => self.of_system(|system| system.available, "`/proc/meminfo` has no MemAvailable"),
            Metric::PeakCgroup => match &self.cgroup {
                Ok(bytes) => Figure::Bytes(*bytes),
                Err(reason) => Figure::Missing(reason),
            },
            Metric::GpuPeak => self.gpu_peak(),
            Metric::UnifiedPeak => self.unified_peak(baseline),
            Metric::PeakHeap | Metric::RetainedHeap => Figure::Missing(NO_ALLOCATOR),
            // Retained memory is known only at the end.
            Metric::RetainedRss | Metric::RetainedAnon => Figure::NotTaken,
        }
    }

    fn part(&self, part: impl Fn(&MemorySplit) -> Option<ByteSize>, reason: &'static str) -> Figure<'_> {
        match &self.totals {
            None => Figure::NotTaken,
            Some(totals) => part(totals).map_or(Figure::Missing(reason), Figure::Bytes),
        }
    }

    fn of_system(&self, part: impl Fn(&SystemMemory) -> Option<ByteSize>, reason: &'static str) -> Figure<'_> {
        match &self.system {
            Ok(system) => part(system).map_or(Figure::Missing(reason), Figure::Bytes),
            Err(reason) => Figure::Missing(reason),
        }
    }

    fn gpu_peak(&self) -> Figure<'_> {
        match &self.gpu {
            GpuPass::NotTaken => Figure::NotTaken,
            GpuPass::Failed(reason) => Figure::Missing(reason),
            GpuPass::Taken(GpuUse::Tree { bytes, .. } | GpuUse::Devices { bytes } | GpuUse::Clients { bytes }) => {
                Figure::Bytes(*bytes)
            }
            GpuPass::Taken(GpuUse::Unified) => Figure::Missing(NO_MEMORY_OF_ITS_OWN),
        }
    }

    fn unified_peak(&self, baseline: Option<&Baseline>) -> Figure<'_> {
        match &self.gpu {
            GpuPass::NotTaken => Figure::NotTaken,
            GpuPass::Failed(reason) => Figure::Missing(reason),
            GpuPass::Taken(GpuUse::Clients { .. }) => Figure::Missing(NOT_KNOWN_TO_BE_UNIFIED),
            GpuPass::Taken(GpuUse::Tree { unified: false, .. } | GpuUse::Devices { .. }) => {
                Figure::Missing(NOT_UNIFIED)
            }
            GpuPass::Taken(GpuUse::Tree { unified: true, .. } | GpuUse::Unified) => {
                let Some(baseline) = baseline else { return Figure::NotTaken };
                let in_use = |system: &SystemMemory| Some(system.total.saturating_sub(system.available?));
                let start = baseline.first.system.as_ref().and_then(in_use);
                let growth = |system: &SystemMemory| Some(in_use(system)?.saturating_sub(start?));
                self.of_system(growth, "`/proc/meminfo` has no MemAvailable")
            }
        }
    }

    /// How far `of` is above `start`.
    fn growth(&self, of: Metric, start: Option<ByteSize>, baseline: Option<&Baseline>) -> Figure<'_> {
        match (self.figure(of, None), start) {
            (Figure::Bytes(now), Some(start)) => Figure::Bytes(now.saturating_sub(start)),
            (Figure::Bytes(_), None) if baseline.is_none() => Figure::NotTaken,
            (Figure::Bytes(_), None) => Figure::Missing(NO_START),
            (other, _) => other,
        }
    }
}

/// Why a figure is unavailable that neither a ceiling nor a report requested.
pub const NOT_ASKED_FOR: &str = "it was not asked for";
pub(crate) const NO_START: &str = "no process of the tree ran when the count began";
const NO_MEMORY_OF_ITS_OWN: &str = "the GPU has no memory of its own and reports no memory per process (N/A): unified_peak counts host and device together";
const NOT_UNIFIED: &str = "the GPU has memory of its own, which gpu_peak counts";
const NOT_KNOWN_TO_BE_UNIFIED: &str =
    "the kernel's graphics drivers do not say whether the GPU shares the system's memory: gpu_peak counts what is open";
const NO_HUGETLB: &str = "`/proc/PID/status` has no HugetlbPages, as in a kernel without hugetlbfs";
const NO_SWAP: &str = "`/proc/PID/status` has no VmSwap";
const NO_ALLOCATOR: &str = "only a counting allocator knows it: set `plimsoll::alloc::Tracking` as the global \
                            allocator of what is measured";

/// The source of each metric, if the tree has more than one process.
pub(crate) fn counter(metric: Metric, swap: SwapScope) -> &'static str {
    match (metric, swap) {
        (Metric::SwapGrowth, SwapScope::Tree) => "sum of VmSwap over the tree, less that when the phase began",
        _ => metric.facts().source,
    }
}

/// The source of `gpu_peak` on AMD and Intel GPUs.
pub(crate) const CLIENTS: &str = "DRM fdinfo: resident memory of the devices that the tree's processes have opened";
/// The source of `gpu_peak` if the processes listed by a device cannot be matched.
pub(crate) const DEVICES: &str = "NVML: memory in use on all devices, less that when the meter began; other \
                                  programs count, for the ids of processes are not those of the host here or a device \
                                  does not list their memory";
