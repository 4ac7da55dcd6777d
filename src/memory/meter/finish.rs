//! The readings at the end of a phase.

use std::collections::BTreeMap;
use std::time::Instant;

use super::activity::Counters;
use super::cgroup::CgroupReader;
use super::metric::Metric;
use super::pass::{NO_START, counter};
use super::peaks::has_fallen;
use super::phase::{Beginning, Phase, source};
use super::pss::Proportional;
use super::reading::{MemorySplit, PhaseReadings, ProcessCount, ProcessPeak, Reading, SharedPages, Source};
use super::smaps::growth;
use crate::bytes::{ByteSize, MIB};

/// Why a metric has no reading that any pass provided.
const NOBODY: &str = "no process was seen in this phase";
const NOBODY_AT_THE_END: &str = "no process of the tree was left when the phase ended";

/// How a phase ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) at: Instant,
    /// The counters of activity.
    pub(crate) counters: Counters,
    /// Minor faults of children that the root had reaped.
    pub(crate) reaped_faults: Option<u64>,
    /// How many processes joined the tree in total.
    pub(crate) adopted: u64,
    /// How many processes were ever created, from the kernel's process-event connector.
    pub(crate) born: Option<u64>,
    /// Whether another meter reset the high-water mark of the meter's own process since the phase began.
    pub(crate) reset_since: bool,
    /// The control group, if one can be read.
    pub(crate) cgroup: Option<&'a CgroupReader>,
}

impl Phase {
    pub(crate) fn finish(mut self, ending: Ending<'_>) -> PhaseReadings {
        let sampled = self.sampled();
        if ending.reset_since
            && let Some(own) = self.beginning.reset
        {
            self.population.interrupt(own);
        }
        let born = born(&self.beginning, &ending);
        // Without the kernel's own count, the root's count of faults of reaped children reveals children too
        // short-lived to be sampled.
        let none_unseen = match born {
            Some(count) => count <= 1,
            None => ending.reaped_faults.is_some() && ending.reaped_faults == self.beginning.reaped_faults,
        };
        let alone = none_unseen && self.population.is_one(self.ended.as_ref().map(|(root, ..)| *root));
        if let Some((root, name, mark)) = &self.ended {
            if alone {
                self.population.record_end(*root, name, *mark);
            }
            // For a root that was never sampled, this is all that is known.
            self.peaks.entry(Metric::PeakRss).or_default();
        }
        let processes = std::mem::take(&mut self.population).into_peaks(self.passes, sampled);
        let mut readings = BTreeMap::new();
        let mut unavailable = std::mem::take(&mut self.missing);
        for metric in Metric::ALL {
            if unavailable.contains_key(&metric) {
                continue;
            }
            match self.reading(metric, &processes, alone, ending.cgroup) {
                Ok(reading) => {
                    readings.insert(metric, reading);
                }
                Err(reason) => {
                    unavailable.insert(metric, reason.to_owned());
                }
            }
        }
        let is_exact = readings.get(&Metric::PeakRss).is_none_or(|peak| peak.source == Source::Exact);
        let of_group = || ending.cgroup.and_then(|cgroup| cgroup.unseen(self.beginning.cgroup.memory));
        let of_several = || {
            let most = of_group().into_iter().chain(self.together()).min();
            most.filter(|most| readings.get(&Metric::PeakRss).is_none_or(|peak| *most > peak.bytes))
        };
        // A single process has its own mark, and an exact figure needs no bound.
        let peak_rss_at_most = if alone { self.bound } else { of_several() }.filter(|_| !is_exact);
        let peak_pss_at_most = readings.get(&Metric::PeakPss).and_then(|pss| {
            let seen = self.at_peak.map_or(ByteSize::ZERO, |peak| peak.rss);
            let unseen = readings.get(&Metric::PeakRss).map_or(ByteSize::ZERO, |peak| peak.bytes.saturating_sub(seen));
            Some(self.pss_bound.at_most(unseen)).filter(|most| *most > pss.bytes)
        });
        let peak_rss = readings.get(&Metric::PeakRss).map_or(ByteSize::ZERO, |peak| peak.bytes);
        let process_count = Some(process_count(&self.beginning, &ending, alone));
        PhaseReadings {
            wall_ns: self.nanoseconds_to(ending.at),
            phase: self.name,
            readings,
            unavailable,
            at_start: self.baseline.phase.totals,
            at_peak: self.at_peak,
            at_end: self.at_end,
            activity: ending.counters.since(self.beginning.counters),
            mappings: self
                .beginning
                .mappings
                .zip(self.mappings_at_peak)
                // If the peak was over before the mappings were read, they would name mappings that had no part in it.
                .filter(|(_, (rss, _))| self.at_peak.is_none_or(|peak| is_near(*rss, peak.rss.max(peak_rss))))
                .map_or_else(Vec::new, |(before, (_, after))| growth(&before, &after)),
            peak_rss_at_most,
            peak_pss_at_most,
            shared: self.shared.map(|Proportional { rss, pss }| SharedPages { rss, pss }),
            process_count,
            processes,
            timeline: self.timeline.into_points(),
        }
    }

    fn reading(
        &self,
        metric: Metric,
        processes: &[ProcessPeak],
        alone: bool,
        cgroup: Option<&CgroupReader>,
    ) -> Result<Reading, &'static str> {
        let sampled = self.sampled();
        let peak = || self.peaks.get(&metric).copied().ok_or(NOBODY);
        let read = |bytes, source| Reading::new(bytes, source, counter(metric, self.baseline.swap));
        let (first, lacks) = (self.baseline.first.totals, self.baseline.first.lacks);
        let late = lacks + self.lacks_at_end;
        Ok(match metric {
            Metric::PeakRss => self.peak_rss(peak()?, processes, alone, sampled),
            Metric::PeakRssGrowth => {
                let absolute = *self.peaks.get(&Metric::PeakRss).ok_or(NOBODY)?;
                let whole = self.peak_rss(absolute, processes, alone, sampled);
                let held_back = whole.held_back.unwrap_or_default() + lacks;
                let bytes = whole.bytes.saturating_sub(first.ok_or(NO_START)?.rss);
                let counter = format!("{}, less VmRSS when the first phase began", whole.counter);
                Reading::new(bytes, whole.source, counter).holding_back(held_back)
            }
            Metric::RetainedRss => read(self.retained(|split| Some(split.rss))?, Source::Exact).holding_back(late),
            Metric::RetainedAnon => read(self.retained(|split| split.anon)?, Source::Exact).holding_back(late),
            Metric::PeakCgroup => {
                let bytes = peak()?;
                cgroup.map_or_else(
                    || read(bytes, sampled),
                    |cgroup| cgroup.peak(self.beginning.cgroup.memory, bytes, sampled),
                )
            }
            Metric::PeakSwap => {
                let bytes = peak()?;
                let exact = cgroup.and_then(|cgroup| cgroup.swap_peak(self.beginning.cgroup.swap, bytes));
                exact.unwrap_or_else(|| read(bytes, sampled))
            }
            Metric::SwapGrowth if !self.swap_configured => {
                Reading::new(peak()?, Source::Exact, "SwapTotal, which is 0")
            }
            Metric::PeakPss => read(peak()?, source(self.pss_late.max(self.beginning.sample_interval))),
            Metric::GpuPeak | Metric::UnifiedPeak => {
                let reading = read(peak()?, self.taken(self.gpu_passes));
                match self.gpu_counter {
                    Some(counter) => Reading { counter: counter.to_owned(), ..reading },
                    None => reading,
                }
            }
            _ => read(peak()?, sampled),
        })
    }

    /// The tree's peak is at least the largest value that the kernel reports for an ended process.
    fn peak_rss(&self, sampled_sum: ByteSize, processes: &[ProcessPeak], alone: bool, sampled: Source) -> Reading {
        let reading = peak_rss(sampled_sum, processes, alone, sampled);
        let reading = match self.ended {
            Some((.., mark)) if mark > reading.bytes => {
                Reading::new(mark, Source::LowerBound, "ru_maxrss of the largest process")
            }
            _ => reading,
        };
        // Both bounds are the same, as far as the kernel's counters are exact.
        let same = |most: ByteSize| most <= reading.bytes && !has_fallen(reading.bytes, most);
        let exact = !alone && self.together().is_some_and(same);
        Reading { source: if exact { Source::Exact } else { reading.source }, ..reading }
    }

    /// What the tree held at most at one instant, by the marks of all its processes.
    fn together(&self) -> Option<ByteSize> {
        self.most.with_line(self.bound)
    }

    /// The part at the end that was not there when the first phase began. Both instants are known, so samples cannot
    /// miss anything.
    fn retained(&self, part: impl Fn(MemorySplit) -> Option<ByteSize>) -> Result<ByteSize, &'static str> {
        let (before, after) = (self.baseline.first.totals.ok_or(NO_START)?, self.at_end.ok_or(NOBODY_AT_THE_END)?);
        let (before, after) = part(before).zip(part(after)).ok_or("`/proc/PID/status` has no RssAnon")?;
        Ok(after.saturating_sub(before))
    }
}

/// Whether this much resident memory is close to the peak: within a quarter, or a MiB.
fn is_near(read: ByteSize, peak: ByteSize) -> bool {
    peak.saturating_sub(read).bytes() <= (peak.bytes() / 4).max(MIB)
}

/// How many processes lived in the phase, from the kernel's process-event connector.
fn born(beginning: &Beginning, ending: &Ending<'_>) -> Option<u64> {
    let (born, ended) = ending.born.zip(beginning.ended_exactly)?;
    Some(born.saturating_sub(ended))
}

fn process_count(beginning: &Beginning, ending: &Ending<'_>, alone: bool) -> ProcessCount {
    match born(beginning, ending) {
        Some(count) => ProcessCount { count, source: Source::Exact },
        None => ProcessCount {
            count: ending.adopted.saturating_sub(beginning.ended_before),
            source: if alone { Source::Exact } else { Source::LowerBound },
        },
    }
}

/// The tree's peak: the kernel's own mark for a single process, otherwise the largest sampled sum, which is at least
/// the largest mark of any process.
fn peak_rss(sampled_sum: ByteSize, processes: &[ProcessPeak], alone: bool, sampled: Source) -> Reading {
    match processes.iter().max_by_key(|process| process.peak_rss.bytes) {
        Some(process) if alone => process.peak_rss.clone(),
        Some(process) if process.peak_rss.bytes > sampled_sum => {
            let counter = format!("{} of {} ({})", process.peak_rss.counter, process.name, process.pid);
            Reading::new(process.peak_rss.bytes, Source::LowerBound, counter)
        }
        _ => Reading::new(sampled_sum, sampled, counter(Metric::PeakRss, Default::default())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::cgroup::CgroupMarks;
    use crate::meter::gpu::GpuPass;
    use crate::meter::lives::{Gap, Most};
    use crate::meter::meminfo::SystemMemory;
    use crate::meter::pass::{Pass, ProcessSample};
    use crate::meter::population::PROCESSES;
    use crate::meter::process::{ProcessId, ProcessMemory};
    use crate::meter::smaps::SmapsPass;
    use crate::meter::swap::SwapScope;

    const INTERVAL: Duration = Duration::from_millis(10);

    /// A phase from passes of (process, resident MiB, swap in use in MiB), ten milliseconds apart; marks are the
    /// maximum so far.
    fn phase(swap: u64, passes: &[&[(u32, u64)]], swap_used: &[u64], faults: u64) -> PhaseReadings {
        ended_phase(swap, passes, swap_used, faults, None, Most::UNKNOWN)
    }

    /// A phase whose root, process 1, has ended: with a mark of this many MiB, or else with at most 90. Its processes
    /// held at most `most` together.
    fn ended_phase(
        swap: u64,
        passes: &[&[(u32, u64)]],
        swap_used: &[u64],
        faults: u64,
        mark: Option<u64>,
        most: Most,
    ) -> PhaseReadings {
        let began = Instant::now();
        let beginning = Beginning {
            at: began,
            sample_interval: INTERVAL,
            swap: SwapScope::System,
            first: None,
            counters: Counters::default(),
            reset: None,
            reaped_faults: Some(0),
            ended_before: 0,
            ended_exactly: None,
            from_nothing: false,
            cgroup: CgroupMarks::ABSENT,
            mappings: None,
        };
        let mut phase = Phase::new("p", beginning);
        for (n, processes) in passes.iter().enumerate() {
            let memory = |rss| ProcessMemory {
                peak_rss: Some(ByteSize::mib(rss + n as u64)),
                rss: ByteSize::mib(rss),
                anon: None,
                file: Some(ByteSize::ZERO),
                shmem: Some(ByteSize::ZERO),
                swap: Some(ByteSize::ZERO),
                hugetlb: None,
            };
            for &(pid, rss) in *processes {
                let id = ProcessId { pid, start_ticks: 1 };
                phase.record_process(ProcessSample { id, name: "sh", memory: memory(rss), held_back: ByteSize::ZERO });
            }
            let used = ByteSize::mib(swap_used.get(n).copied().unwrap_or(0));
            let pass = Pass {
                at: began + INTERVAL * n as u32,
                lacks: ByteSize::ZERO,
                totals: MemorySplit::of(processes.iter().map(|&(_, rss)| memory(rss))),
                system: Ok(SystemMemory {
                    total: ByteSize::gib(8),
                    available: Some(ByteSize::mib(500 - n as u64)),
                    swap_total: Some(ByteSize::mib(swap)),
                    swap_free: Some(ByteSize::mib(swap).saturating_sub(used)),
                }),
                smaps: SmapsPass::Failed("/proc/7/smaps_rollup: Permission denied".to_owned()),
                cgroup: Ok(ByteSize::mib(90 + n as u64)),
                gpu: GpuPass::Failed("it was not asked for".into()),
            };
            phase.start(&pass);
            phase.record_gap(ProcessId { pid: 1, start_ticks: 1 }, Some(Gap { ended: Vec::new(), most }));
            phase.record(&pass);
        }
        if let Some(mark) = mark {
            phase.record_end(ProcessId { pid: 1, start_ticks: 1 }, "sh", ByteSize::mib(mark));
        }
        phase.record_bound(ByteSize::mib(mark.unwrap_or(90)));
        phase.finish(Ending {
            at: began + INTERVAL * passes.len() as u32,
            counters: Counters::default(),
            reaped_faults: Some(faults),
            adopted: 1,
            born: None,
            reset_since: false,
            cgroup: None,
        })
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
    fn the_mark_of_a_root_that_has_ended_is_exact_where_it_was_alone() {
        let peak = |passes: &[&[(u32, u64)]], faults, mark| {
            let readings = ended_phase(0, passes, &[], faults, Some(mark), Most::UNKNOWN).readings;
            let Reading { bytes, source, counter, .. } = readings[&Metric::PeakRss].clone();
            (bytes.bytes() >> 20, source, counter)
        };
        let exact = (90, Source::Exact, "VmHWM".to_owned());
        assert_eq!(peak(&[&[(1, 10)], &[]], 0, 90), exact);
        assert_eq!(peak(&[&[], &[]], 0, 90), exact, "it was never sampled");
        // Beside other processes it is a lower bound for the tree.
        let least = (90, Source::LowerBound, "ru_maxrss of the largest process".to_owned());
        assert_eq!(peak(&[&[(1, 10)], &[]], 5, 90), least);
        assert_eq!(peak(&[&[(1, 10), (2, 20)], &[]], 0, 90), least);
        assert_eq!(peak(&[&[(1, 10), (2, 100)], &[]], 0, 90).0, 110);
    }

    #[test]
    fn a_bound_is_reported_for_a_single_root_without_a_known_peak() {
        let bounded = |processes: &[(u32, u64)], mark| {
            let readings = ended_phase(0, &[processes, &[], &[]], &[], 0, mark, Most::UNKNOWN);
            (readings.readings[&Metric::PeakRss].source == Source::Exact, readings.peak_rss_at_most)
        };
        assert_eq!(bounded(&[(1, 10)], None), (false, Some(ByteSize::mib(90))));
        assert_eq!(bounded(&[(1, 10)], Some(90)), (true, None));
        // Together with another process, both may have had more.
        assert_eq!(bounded(&[(1, 10), (2, 10)], None), (false, None));
    }

    #[test]
    fn the_marks_of_processes_bound_the_peak_of_a_tree_or_make_it_exact() {
        let read = |most| {
            let phase = ended_phase(0, &[&[(1, 10), (2, 30)]], &[], 0, Some(40), most);
            (phase.readings[&Metric::PeakRss].source, phase.peak_rss_at_most)
        };
        let known = |mib| Most { known: ByteSize::mib(mib), ..Most::default() };
        let sampled = Source::Sampled { interval_ns: 10_000_000 };
        assert_eq!(read(Most::UNKNOWN), (sampled, None));
        assert_eq!(read(known(30)), (sampled, None), "less than was sampled: something is amiss");
        assert_eq!(read(known(55)), (sampled, Some(ByteSize::mib(55))));
        assert_eq!(read(known(40)), (Source::Exact, None), "all were at their largest in the sample");
        let with_line = Most { line: true, ..known(10) };
        assert_eq!(read(with_line), (Source::Exact, None), "the mark of the line is 40");
    }

    #[test]
    fn one_process_alone_is_exact_unless_a_child_was_reaped() {
        let passes: &[&[(u32, u64)]] = &[&[(1, 10)], &[(1, 10)]];
        let source = |faults| phase(0, passes, &[], faults).readings[&Metric::PeakRss].source;
        assert_eq!((source(0), source(5)), (Source::Exact, Source::LowerBound));
    }

    #[test]
    fn what_a_kernel_does_not_report_is_absent_with_the_reason() {
        let readings = phase(0, &[&[(1, 10)]], &[], 0);
        assert!(readings.unavailable[&Metric::PeakAnon].contains("RssAnon"));
        assert!(readings.unavailable[&Metric::PeakPss].contains("Permission denied"));
        assert_eq!(readings.readings.len() + readings.unavailable.len(), Metric::ALL.len());
    }

    #[test]
    fn growth_and_what_is_retained_are_counted_from_the_start() {
        let of = |passes: &[&[(u32, u64)]], metric| phase(0, passes, &[], 0).readings.get(&metric).cloned();
        let passes: &[&[(u32, u64)]] = &[&[(1, 10)], &[(1, 10), (2, 30)], &[(1, 14)]];
        let growth = of(passes, Metric::PeakRssGrowth).unwrap();
        assert_eq!((growth.bytes, growth.source), (ByteSize::mib(30), Source::Sampled { interval_ns: 10_000_000 }));
        let retained = of(passes, Metric::RetainedRss).unwrap();
        assert_eq!((retained.bytes, retained.source), (ByteSize::mib(4), Source::Exact));
        assert_eq!(of(&[&[(1, 10)], &[(1, 3)]], Metric::RetainedRss).unwrap().bytes, ByteSize::ZERO);
        let alone = of(&[&[(1, 10)], &[(1, 20)]], Metric::PeakRssGrowth).unwrap();
        assert_eq!((alone.bytes, alone.source), (ByteSize::mib(11), Source::Exact));
        assert_eq!(alone.counter, "VmHWM, less VmRSS when the first phase began");
        // No process at the start or at the end: growth has no reference.
        assert_eq!(of(&[&[], &[(1, 10)]], Metric::PeakRssGrowth), None);
        assert_eq!(of(&[&[(1, 10)], &[]], Metric::RetainedRss), None);
        let split = |split: Option<MemorySplit>| split.map(|split| split.rss.bytes() >> 20);
        let readings = phase(0, passes, &[], 0);
        assert_eq!(
            [split(readings.at_start), split(readings.at_peak), split(readings.at_end)],
            [Some(10), Some(40), Some(14)]
        );
    }

    #[test]
    fn swap_grows_from_what_was_used_at_the_start() {
        let one = &[(1, 1)][..];
        let growth = |swap, used: &[u64]| phase(swap, &[one; 3], used, 0).readings[&Metric::SwapGrowth].clone();
        assert_eq!(growth(100, &[40, 55, 30]).bytes, ByteSize::mib(15));
        assert_eq!(growth(100, &[40, 5, 30]).bytes, ByteSize::ZERO);
        // Without swap, it is certain that swap did not grow.
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
