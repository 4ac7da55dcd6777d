//! What is gathered of one phase, pass by pass, and the readings that it ends in.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::meminfo::SystemMemory;
use super::peaks::ProcessPeaks;
use super::process::{ProcessId, ProcessMemory};
use super::reading::{Metric, PhaseReadings, ProcessPeak, Reading, Source, TimelinePoint};
use super::timeline::Timeline;
use super::tree::Totals;
use crate::bytes::ByteSize;

/// So many processes are told of a phase, the largest.
const PROCESSES: usize = 32;
/// More processes than this are not remembered one by one once they have ended.
const REMEMBERED: usize = 512;

/// The proportional set in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PssPass {
    /// Not read this time.
    NotTaken,
    /// The sum over the tree, taken this long after it was first wanted.
    Sum { bytes: ByteSize, late: Duration },
    /// It cannot be read.
    Failed(String),
}

/// One process in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessSample<'a> {
    pub(crate) id: ProcessId,
    pub(crate) name: &'a str,
    pub(crate) memory: ProcessMemory,
}

/// What one pass over the tree and the system has read.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) at: Instant,
    /// The sums over the tree; absent where no process of it runs.
    pub(crate) totals: Option<Totals>,
    /// The system's memory, or why it cannot be read.
    pub(crate) system: Result<SystemMemory, String>,
    pub(crate) pss: PssPass,
}

/// How a phase began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beginning {
    /// The process of the meter itself, where its high-water mark was reset.
    pub(crate) reset: Option<u32>,
    /// Minor faults of children that the root had reaped.
    pub(crate) reaped_faults: Option<u64>,
}

/// A phase that is under way.
#[derive(Debug)]
pub(crate) struct Phase {
    name: String,
    began: Instant,
    interval: Duration,
    beginning: Beginning,
    passes: u64,
    last: Instant,
    processes: HashMap<ProcessId, ProcessPeaks>,
    /// Of processes that are not remembered any more.
    forgotten: Vec<ProcessPeak>,
    any_forgotten: bool,
    peaks: BTreeMap<Metric, ByteSize>,
    missing: BTreeMap<Metric, String>,
    pss_late: Duration,
    swap_at_start: Option<ByteSize>,
    swap_configured: bool,
    timeline: Timeline,
}

impl Phase {
    pub(crate) fn new(name: &str, began: Instant, interval: Duration, beginning: Beginning) -> Self {
        Self {
            name: name.to_owned(),
            began,
            interval,
            beginning,
            passes: 0,
            last: began,
            processes: HashMap::new(),
            forgotten: Vec::new(),
            any_forgotten: false,
            peaks: BTreeMap::new(),
            missing: BTreeMap::new(),
            pss_late: Duration::ZERO,
            swap_at_start: None,
            swap_configured: false,
            timeline: Timeline::new(interval),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn nanoseconds_to(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes the processes of a pass.
    pub(crate) fn record_process(&mut self, sample: ProcessSample<'_>) {
        let first_pass = self.passes == 0;
        let reset = self.beginning.reset == Some(sample.id.pid);
        let peaks = self
            .processes
            .entry(sample.id)
            .or_insert_with(|| ProcessPeaks::new(sample.name, !first_pass || reset, &sample.memory));
        peaks.record(sample.name, &sample.memory, self.passes);
    }

    /// Notes that what was read of a process in the latest pass is the last before it is ended.
    pub(crate) fn record_last(&mut self, sample: ProcessSample<'_>) {
        self.record_process(sample);
        if let Some(peaks) = self.processes.get_mut(&sample.id) {
            peaks.seen_to_the_end = true;
        }
    }

    /// Notes the sums of a pass, after its processes.
    pub(crate) fn record(&mut self, pass: &Pass) {
        if let Some(totals) = &pass.totals {
            self.peak(Metric::PeakRss, Some(totals.rss), "");
            self.peak(Metric::PeakAnon, totals.anon, "`/proc/PID/status` has no RssAnon");
            self.peak(Metric::PeakFile, totals.file, "`/proc/PID/status` has no RssFile");
            self.peak(Metric::PeakShmem, totals.shmem, "`/proc/PID/status` has no RssShmem");
            self.peak(Metric::PeakSwap, totals.swap, "`/proc/PID/status` has no VmSwap");
            self.timeline.push(TimelinePoint {
                at_ns: self.nanoseconds_to(pass.at),
                rss: totals.rss,
                anon: totals.anon,
                available: pass.system.as_ref().ok().and_then(|system| system.available),
            });
        }
        match &pass.pss {
            PssPass::NotTaken => {}
            PssPass::Sum { bytes, late } => {
                self.peak(Metric::PeakPss, Some(*bytes), "");
                self.pss_late = self.pss_late.max(*late);
            }
            PssPass::Failed(reason) => self.peak(Metric::PeakPss, None, reason),
        }
        match &pass.system {
            Ok(system) => {
                self.swap_configured |= system.swap_total.is_some_and(|total| total > ByteSize::ZERO);
                if self.passes == 0 {
                    self.swap_at_start = system.swap_used();
                }
                self.peak(
                    Metric::SwapGrowth,
                    self.swap_growth(system),
                    "`/proc/meminfo` has no SwapTotal and SwapFree",
                );
                self.peak(Metric::AvailableFloor, system.available, "`/proc/meminfo` has no MemAvailable");
            }
            Err(reason) => {
                self.peak(Metric::SwapGrowth, None, reason);
                self.peak(Metric::AvailableFloor, None, reason);
            }
        }
        self.last = pass.at;
        self.passes += 1;
        if self.processes.len() > REMEMBERED {
            self.forget_ended();
        }
    }

    /// The system's swap in use beyond that of the phase's first pass.
    pub(crate) fn swap_growth(&self, system: &SystemMemory) -> Option<ByteSize> {
        let used = system.swap_used()?;
        Some(used.saturating_sub(if self.passes == 0 { used } else { self.swap_at_start? }))
    }

    fn peak(&mut self, metric: Metric, now: Option<ByteSize>, reason: &str) {
        match now {
            Some(now) => {
                let peak = self.peaks.entry(metric).or_insert(now);
                if metric.is_past(now, *peak) {
                    *peak = now;
                }
            }
            None => {
                self.missing.entry(metric).or_insert_with(|| reason.to_owned());
            }
        }
    }

    fn forget_ended(&mut self) {
        let (passes, source) = (self.passes, self.sampled());
        let forgotten = &mut self.forgotten;
        self.processes.retain(|id, peaks| {
            let ended = peaks.ended_before(passes);
            if ended {
                forgotten.push(peaks.process_peak(id.pid, source, true));
            }
            !ended
        });
        self.any_forgotten = true;
        keep_largest(&mut self.forgotten);
    }

    /// The interval at which samples were really taken, on average, where that is longer than was asked for.
    fn sampled(&self) -> Source {
        let gaps = u32::try_from(self.passes.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        let mean = self.last.saturating_duration_since(self.began) / gaps;
        // A late sample now and then is no other interval.
        let slow = self.passes > 1 && mean > self.interval + self.interval / 4;
        source(if slow { mean } else { self.interval })
    }

    /// The readings; `reaped_faults` is that of the root now, `reset_since` tells that the high-water mark of the
    /// meter's own process was reset by another since the phase began.
    pub(crate) fn finish(mut self, ended: Instant, reaped_faults: Option<u64>, reset_since: bool) -> PhaseReadings {
        let sampled = self.sampled();
        if reset_since && let Some(own) = self.beginning.reset {
            self.processes.iter_mut().filter(|(id, _)| id.pid == own).for_each(|(_, peaks)| peaks.interrupted = true);
        }
        // The root's count of faults of reaped children tells of children too short-lived to be sampled.
        let alone = self.processes.len() == 1
            && !self.any_forgotten
            && reaped_faults.is_some()
            && reaped_faults == self.beginning.reaped_faults;
        let mut processes = std::mem::take(&mut self.forgotten);
        processes.extend(
            self.processes
                .iter()
                .map(|(id, peaks)| peaks.process_peak(id.pid, sampled, peaks.ended_before(self.passes))),
        );
        keep_largest(&mut processes);

        let mut readings = BTreeMap::new();
        for (&metric, &bytes) in &self.peaks {
            if self.missing.contains_key(&metric) {
                continue;
            }
            let reading = match metric {
                Metric::PeakRss => peak_rss(bytes, &processes, alone, sampled),
                Metric::SwapGrowth if !self.swap_configured => {
                    Reading { bytes, source: Source::Exact, counter: "SwapTotal, which is 0".to_owned() }
                }
                _ => {
                    let source = match metric {
                        Metric::PeakPss => source(self.pss_late.max(self.interval)),
                        _ => sampled,
                    };
                    Reading { bytes, source, counter: metric.counter().to_owned() }
                }
            };
            readings.insert(metric, reading);
        }
        let mut unavailable = self.missing;
        for metric in Metric::ALL {
            if !readings.contains_key(&metric) {
                unavailable.entry(metric).or_insert_with(|| "no process was seen in this phase".to_owned());
            }
        }
        PhaseReadings {
            phase: self.name,
            wall_ns: u64::try_from(ended.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX),
            readings,
            unavailable,
            processes,
            timeline: self.timeline.into_points(),
        }
    }
}

/// The tree's peak: the kernel's own mark where the tree was one process, else the largest sum that was sampled, which
/// cannot be less than the largest mark of any one process.
fn peak_rss(sampled_sum: ByteSize, processes: &[ProcessPeak], alone: bool, sampled: Source) -> Reading {
    match processes.iter().max_by_key(|process| process.peak_rss.bytes) {
        Some(process) if alone => process.peak_rss.clone(),
        Some(process) if process.peak_rss.bytes > sampled_sum => Reading {
            bytes: process.peak_rss.bytes,
            source: Source::LowerBound,
            counter: format!("{} of {} ({})", process.peak_rss.counter, process.name, process.pid),
        },
        _ => Reading { bytes: sampled_sum, source: sampled, counter: Metric::PeakRss.counter().to_owned() },
    }
}

fn source(interval: Duration) -> Source {
    Source::Sampled { interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX) }
}

fn keep_largest(processes: &mut Vec<ProcessPeak>) {
    processes.sort_by(|a, b| b.peak_rss.bytes.cmp(&a.peak_rss.bytes).then(a.pid.cmp(&b.pid)));
    processes.truncate(PROCESSES);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(10);

    /// A phase of passes of (process, resident MiB, swap in use MiB), ten milliseconds apart; the marks are the most so far.
    fn phase(swap: u64, passes: &[&[(u32, u64)]], swap_used: &[u64], faults: u64) -> PhaseReadings {
        let began = Instant::now();
        let mut phase = Phase::new("p", began, INTERVAL, Beginning { reset: None, reaped_faults: Some(0) });
        for (n, processes) in passes.iter().enumerate() {
            let memory = |rss| ProcessMemory {
                peak_rss: Some(ByteSize::mib(rss + n as u64)),
                rss: ByteSize::mib(rss),
                anon: None,
                file: Some(ByteSize::ZERO),
                shmem: Some(ByteSize::ZERO),
                swap: Some(ByteSize::ZERO),
            };
            for &(pid, rss) in *processes {
                let id = ProcessId { pid, start_ticks: 1 };
                phase.record_process(ProcessSample { id, name: "sh", memory: memory(rss) });
            }
            let used = ByteSize::mib(swap_used.get(n).copied().unwrap_or(0));
            phase.record(&Pass {
                at: began + INTERVAL * n as u32,
                totals: Totals::of(processes.iter().map(|&(_, rss)| memory(rss))),
                system: Ok(SystemMemory {
                    total: ByteSize::gib(8),
                    available: Some(ByteSize::mib(500 - n as u64)),
                    swap_total: Some(ByteSize::mib(swap)),
                    swap_free: Some(ByteSize::mib(swap).saturating_sub(used)),
                }),
                pss: PssPass::Failed("/proc/7/smaps_rollup: Permission denied".to_owned()),
            });
        }
        phase.finish(began + INTERVAL * passes.len() as u32, Some(faults), false)
    }

    #[test]
    fn the_peak_of_a_tree_is_the_largest_sum_of_one_pass() {
        let readings = phase(0, &[&[(1, 10), (2, 30)], &[(1, 35), (2, 4)]], &[], 0);
        let peak = &readings.readings[&Metric::PeakRss];
        assert_eq!((peak.bytes, peak.source), (ByteSize::mib(40), Source::Sampled { interval_ns: 10_000_000 }));
        assert_eq!(readings.processes[0].peak_rss.bytes, ByteSize::mib(36));
        assert_eq!(readings.readings[&Metric::AvailableFloor].bytes, ByteSize::mib(499));
    }

    #[test]
    fn a_mark_above_every_sum_is_a_lower_bound_of_the_tree() {
        let began = &[(1, 1), (2, 1)][..];
        let readings = phase(0, &[began, began, began, began, &[(1, 2)], &[(1, 2)]], &[], 0);
        let peak = &readings.readings[&Metric::PeakRss];
        assert_eq!((peak.bytes, peak.source), (ByteSize::mib(7), Source::LowerBound));
        assert_eq!(peak.counter, "VmHWM of sh (1)");
    }

    #[test]
    fn one_process_alone_is_exact_unless_a_child_was_reaped() {
        let passes: &[&[(u32, u64)]] = &[&[(1, 10)], &[(1, 10)]];
        let source = |faults| phase(0, passes, &[], faults).readings[&Metric::PeakRss].source;
        assert_eq!((source(0), source(5)), (Source::Exact, Source::LowerBound));
    }

    #[test]
    fn what_a_kernel_does_not_tell_is_absent_with_the_reason() {
        let readings = phase(0, &[&[(1, 10)]], &[], 0);
        assert!(readings.unavailable[&Metric::PeakAnon].contains("RssAnon"));
        assert!(readings.unavailable[&Metric::PeakPss].contains("Permission denied"));
        assert_eq!(readings.readings.len() + readings.unavailable.len(), Metric::ALL.len());
    }

    #[test]
    fn swap_grows_from_what_was_used_at_the_start() {
        let one = &[(1, 1)][..];
        let growth = |swap, used: &[u64]| phase(swap, &[one; 3], used, 0).readings[&Metric::SwapGrowth].clone();
        assert_eq!(growth(100, &[40, 55, 30]).bytes, ByteSize::mib(15));
        assert_eq!(growth(100, &[40, 5, 30]).bytes, ByteSize::ZERO);
        // No swap at all is known not to grow.
        assert_eq!((growth(0, &[]).bytes, growth(0, &[]).source), (ByteSize::ZERO, Source::Exact));
    }

    #[test]
    fn a_storm_of_processes_is_kept_in_bounded_room() {
        let passes: Vec<Vec<(u32, u64)>> =
            (0..40).map(|n| (n * 100..n * 100 + 100).map(|pid| (pid, 1)).collect()).collect();
        let passes: Vec<&[(u32, u64)]> = passes.iter().map(Vec::as_slice).collect();
        let readings = phase(0, &passes, &[], 0);
        assert_eq!(readings.processes.len(), PROCESSES);
        assert_eq!(readings.processes[0].peak_rss.bytes, ByteSize::mib(40));
    }
}
