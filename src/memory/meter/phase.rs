//! Collects the data of one phase, pass by pass.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::activity::Counters;
use super::cgroup::CgroupMarks;
use super::gpu::{GpuPass, GpuUse};
use super::lives::{Gap, Most};
use super::metric::Metric;
use super::pass::{Baseline, CLIENTS, DEVICES, Figure, Pass, ProcessSample, Start};
use super::population::Population;
use super::process::ProcessId;
use super::pss::{Proportional, PssBound};
use super::reading::{MemorySplit, ProcessRss, Source, TimelinePoint};
use super::smaps::{MappingTable, SmapsPass};
use super::swap::SwapScope;
use super::timeline::Timeline;
use crate::bytes::ByteSize;
use crate::nanoseconds;

/// Maximum number of processes kept per point of a timeline.
const LARGEST_PROCESSES: usize = 4;

/// The state at the beginning of a phase.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) at: Instant,
    /// The requested interval.
    pub(crate) sample_interval: Duration,
    pub(crate) swap: SwapScope,
    /// The state when the first phase began; absent in the first.
    pub(crate) first: Option<Start>,
    /// The counters of activity.
    pub(crate) counters: Counters,
    /// Whether the tree holds nothing yet, because its root must execute its program first.
    pub(crate) from_nothing: bool,
    /// The process whose high-water mark was reset: the meter's own, or the root.
    pub(crate) reset: Option<u32>,
    /// Minor faults of children that the root had reaped.
    pub(crate) reaped_faults: Option<u64>,
    /// How many processes had ended before.
    pub(crate) ended_before: u64,
    /// How many had ended before, from the kernel's process-event connector.
    pub(crate) ended_exactly: Option<u64>,
    /// The mark of the control group.
    pub(crate) cgroup: CgroupMarks,
    /// The mappings before, if known.
    pub(crate) mappings: Option<Arc<MappingTable>>,
}

/// A phase in progress.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(super) name: String,
    pub(super) beginning: Beginning,
    pub(super) baseline: Baseline,
    pub(super) passes: u64,
    pub(super) last: Instant,
    pub(super) population: Population,
    pub(super) peaks: BTreeMap<Metric, ByteSize>,
    pub(super) missing: BTreeMap<Metric, String>,
    pub(super) pss_late: Duration,
    pub(super) pss_bound: PssBound,
    /// The largest resident set at which the proportional set was read because processes share pages.
    pub(super) shared: Option<Proportional>,
    pub(super) swap_configured: bool,
    pub(super) at_peak: Option<MemorySplit>,
    /// The split in the latest pass.
    pub(super) at_end: Option<MemorySplit>,
    /// What its sums may lack.
    pub(super) lacks_at_end: ByteSize,
    /// How often GPU memory was read.
    pub(super) gpu_passes: u64,
    /// The source of GPU memory, unless it is NVML's list of processes.
    pub(super) gpu_counter: Option<&'static str>,
    /// The largest resident set at which the mappings were read, and the mappings.
    pub(super) mappings_at_peak: Option<(ByteSize, Arc<MappingTable>)>,
    pub(super) timeline: Timeline,
    /// The largest processes of the current pass.
    largest: Vec<ProcessRss>,
    /// The root if it has ended, its name, and the largest resident set of its line.
    pub(super) ended: Option<(ProcessId, String, ByteSize)>,
    /// An upper bound for every process of the root's line, if known.
    pub(super) bound: Option<ByteSize>,
    /// What the tree held at most at one instant, if every process was followed.
    pub(super) most: Most,
}

impl Phase {
    pub(crate) fn new(name: &str, beginning: Beginning) -> Self {
        let Beginning { at, sample_interval, swap, first, .. } = beginning;
        Self {
            name: name.to_owned(),
            beginning,
            baseline: Baseline { first: first.unwrap_or_default(), phase: Start::default(), swap },
            passes: 0,
            last: at,
            population: Population::default(),
            peaks: BTreeMap::new(),
            missing: BTreeMap::new(),
            pss_late: Duration::ZERO,
            pss_bound: PssBound::default(),
            shared: None,
            swap_configured: false,
            at_peak: None,
            at_end: None,
            lacks_at_end: ByteSize::ZERO,
            gpu_passes: 0,
            gpu_counter: None,
            mappings_at_peak: None,
            timeline: Timeline::new(sample_interval),
            largest: Vec::new(),
            ended: None,
            bound: None,
            most: Most::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    pub(crate) fn nanoseconds_to(&self, at: Instant) -> u64 {
        nanoseconds(at.saturating_duration_since(self.beginning.at))
    }

    /// Notes the reference for growth, if `pass` is the first.
    pub(crate) fn start(&mut self, pass: &Pass) {
        if self.passes == 0 {
            let start = if self.beginning.from_nothing { pass.start().with_nothing() } else { pass.start() };
            self.baseline.phase = start;
            if self.beginning.first.is_none() {
                self.baseline.first = start;
            }
        }
    }

    /// Adds a process of a pass.
    pub(crate) fn record_process(&mut self, sample: ProcessSample<'_>) {
        self.record_peaks(sample);
        let (pid, rss) = (sample.id.pid, sample.memory.rss);
        let place = self.largest.partition_point(|larger| larger.rss >= rss);
        if place < LARGEST_PROCESSES {
            self.largest.truncate(LARGEST_PROCESSES - 1);
            self.largest.insert(place, ProcessRss { pid, rss });
        }
    }

    fn record_peaks(&mut self, sample: ProcessSample<'_>) {
        let within = self.passes > 0 || self.beginning.reset == Some(sample.id.pid);
        self.population.record(sample, within, self.passes);
    }

    /// Notes that the latest reading of a process is its last before it is ended.
    pub(crate) fn record_last(&mut self, sample: ProcessSample<'_>) {
        self.record_peaks(sample);
        self.population.seen_to_the_end(sample.id);
    }

    /// Notes that the root has ended, and that the largest resident set of its line was `mark`.
    pub(crate) fn record_end(&mut self, id: ProcessId, name: &str, mark: ByteSize) {
        self.ended = Some((id, name.to_owned(), mark));
    }

    /// Notes a proportional set with the resident memory at that time.
    pub(crate) fn record_shared(&mut self, read: Proportional) {
        if self.shared.is_none_or(|shared| read.rss > shared.rss) {
            self.shared = Some(read);
        }
    }

    /// Notes that no process of the root's line exceeded `most`.
    pub(crate) fn record_bound(&mut self, most: ByteSize) {
        self.bound = Some(most);
    }

    /// Adds what is known of the time since the previous sample; `None` if something was missed.
    pub(crate) fn record_gap(&mut self, root: ProcessId, gap: Option<Gap>) {
        let Some(Gap { ended, most }) = gap else {
            self.most = Most::UNKNOWN;
            return;
        };
        self.most = self.most.and(most);
        if !ended.is_empty() {
            // A program that ended before the first sample has nothing else.
            self.peaks.entry(Metric::PeakRss).or_default();
        }
        for process in ended {
            self.population.record_exit(root, process);
        }
    }

    /// Adds the figures of a pass, after its processes.
    pub(crate) fn record(&mut self, pass: &Pass) {
        for metric in Metric::ALL {
            match pass.figure(metric, Some(&self.baseline)) {
                Figure::Bytes(now) => {
                    let peak = self.peaks.entry(metric).or_insert(now);
                    if metric.is_past(now, *peak) {
                        *peak = now;
                    }
                }
                Figure::NotTaken => {}
                Figure::Missing(reason) => {
                    self.missing.entry(metric).or_insert_with(|| reason.to_owned());
                }
            }
        }
        (self.at_end, self.lacks_at_end) = (pass.totals, pass.lacks);
        let largest = std::mem::take(&mut self.largest);
        if let Some(totals) = pass.totals {
            self.pss_bound.record(totals.rss, &pass.smaps);
            if self.at_peak.is_none_or(|peak| totals.rss > peak.rss) {
                self.at_peak = Some(totals);
            }
            self.timeline.push(TimelinePoint {
                at_ns: self.nanoseconds_to(pass.at),
                rss: totals.rss,
                anon: totals.anon,
                shmem: totals.shmem,
                swap: totals.swap,
                available: pass.system.as_ref().ok().and_then(|system| system.available),
                largest,
            });
        }
        if let SmapsPass::Taken { late, mappings, .. } = &pass.smaps {
            self.pss_late = self.pss_late.max(*late);
            self.record_mappings(pass.totals, mappings.as_ref());
        }
        self.gpu_passes += u64::from(matches!(pass.gpu, GpuPass::Taken(_)));
        match pass.gpu {
            GpuPass::Taken(GpuUse::Devices { .. }) => self.gpu_counter = Some(DEVICES),
            GpuPass::Taken(GpuUse::Clients { .. }) => self.gpu_counter = Some(CLIENTS),
            _ => {}
        }
        if let Ok(system) = &pass.system {
            self.swap_configured |= system.swap_total.is_some_and(|total| total > ByteSize::ZERO);
        }
        self.last = pass.at;
        self.passes += 1;
        self.population.forget_ended(self.passes, self.sampled());
    }

    fn record_mappings(&mut self, totals: Option<MemorySplit>, mappings: Option<&Arc<MappingTable>>) {
        let (Some(totals), Some(mappings)) = (totals, mappings) else { return };
        if self.passes == 0 && !self.beginning.from_nothing {
            self.beginning.mappings = Some(Arc::clone(mappings));
        }
        if self.mappings_at_peak.as_ref().is_none_or(|(rss, _)| totals.rss > *rss) {
            self.mappings_at_peak = Some((totals.rss, Arc::clone(mappings)));
        }
    }

    pub(super) fn sampled(&self) -> Source {
        self.taken(self.passes)
    }

    /// The actual average interval between samples, if it is longer than requested.
    pub(super) fn taken(&self, passes: u64) -> Source {
        let Beginning { at, sample_interval, .. } = self.beginning;
        let gaps = u32::try_from(passes.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        let mean = self.last.saturating_duration_since(at) / gaps;
        // An occasional late sample does not change the interval.
        let slow = passes > 1 && mean > sample_interval + sample_interval / 4;
        source(if slow { mean } else { sample_interval })
    }
}

pub(super) fn source(interval: Duration) -> Source {
    Source::Sampled { interval_ns: nanoseconds(interval) }
}
