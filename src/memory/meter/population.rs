//! The processes of a phase with their peaks, in bounded memory.

use std::collections::HashMap;

use super::counting::held_back_by;
use super::lives::EndedProcess;
use super::pass::ProcessSample;
use super::peaks::ProcessPeaks;
use super::process::{ProcessId, ProcessMemory};
use super::reading::{ProcessPeak, Reading, Source};
use crate::bytes::ByteSize;

/// Maximum number of processes listed for a phase, largest first.
pub(crate) const PROCESSES: usize = 32;
/// Ended processes beyond this number are not remembered individually.
const REMEMBERED: usize = 512;

/// The memory of a process that was never sampled.
const NOTHING: ProcessMemory = ProcessMemory {
    peak_rss: None,
    rss: ByteSize::ZERO,
    anon: None,
    file: None,
    shmem: None,
    swap: None,
    hugetlb: None,
};

/// The processes seen in a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Population {
    processes: HashMap<ProcessId, ProcessPeaks>,
    /// The peaks of processes that are no longer remembered.
    forgotten: Vec<ProcessPeak>,
    any_forgotten: bool,
}

impl Population {
    /// Notes a process in pass number `pass`. `within` means that its mark starts within the phase.
    pub(crate) fn record(&mut self, sample: ProcessSample<'_>, within: bool, pass: u64) {
        let peaks =
            self.processes.entry(sample.id).or_insert_with(|| ProcessPeaks::new(sample.name, within, &sample.memory));
        peaks.record(sample.name, &sample.memory, pass);
        peaks.held_back = peaks.held_back.max(sample.held_back);
    }

    /// Notes that the latest reading of a process is its last before it is ended.
    pub(crate) fn seen_to_the_end(&mut self, id: ProcessId) {
        if let Some(peaks) = self.processes.get_mut(&id) {
            peaks.seen_to_the_end = true;
        }
    }

    /// Notes that another meter reset the mark of the process `pid`.
    pub(crate) fn interrupt(&mut self, pid: u32) {
        self.processes.iter_mut().filter(|(id, _)| id.pid == pid).for_each(|(_, peaks)| peaks.interrupted = true);
    }

    /// Keeps memory bounded after `passes` passes.
    pub(crate) fn forget_ended(&mut self, passes: u64, sampled: Source) {
        if self.processes.len() <= REMEMBERED {
            return;
        }
        let forgotten = &mut self.forgotten;
        self.processes.retain(|id, peaks| {
            let ended = peaks.ended_before(passes);
            if ended {
                forgotten.push(peaks.process_peak(id.pid, sampled, true));
            }
            !ended
        });
        self.any_forgotten = true;
        keep_largest(&mut self.forgotten);
    }

    /// Whether only one process was ever seen, namely `root` if that is known.
    pub(crate) fn is_one(&self, root: Option<ProcessId>) -> bool {
        let alone = match (self.processes.len(), root) {
            (0, root) => root.is_some(),
            (1, root) => root.is_none_or(|root| self.processes.contains_key(&root)),
            _ => false,
        };
        alone && !self.any_forgotten
    }

    /// Notes that a single process has ended, with a peak of at most `mark`.
    pub(crate) fn record_end(&mut self, id: ProcessId, name: &str, mark: ByteSize) {
        let peaks = self.processes.entry(id).or_insert_with(|| ProcessPeaks::new(name, true, &NOTHING));
        peaks.record_end(mark);
        peaks.held_back = peaks.held_back.max(held_back_by(1));
    }

    /// Notes a process of the tree below `root` that has ended.
    pub(crate) fn record_exit(&mut self, root: ProcessId, ended: EndedProcess) {
        let EndedProcess { pid, name, mark, whole } = ended;
        if pid == root.pid {
            self.processes.entry(root).or_insert_with(|| ProcessPeaks::new(&name, true, &NOTHING));
        }
        let mut seen = self.processes.iter_mut().filter(|(id, peaks)| id.pid == pid && !peaks.seen_to_the_end);
        if let Some((_, peaks)) = seen.next() {
            peaks.record_exit(mark, whole);
            peaks.held_back = peaks.held_back.max(held_back_by(1));
        } else {
            let (source, held_back) =
                if whole { (Source::Exact, held_back_by(1)) } else { (Source::LowerBound, ByteSize::ZERO) };
            let peak_rss = Reading::new(mark, source, "hiwater_rss at its exit").holding_back(held_back);
            self.forgotten.push(ProcessPeak { pid, name, peak_rss, peak_anon: None });
            self.any_forgotten = true;
            if self.forgotten.len() >= REMEMBERED {
                keep_largest(&mut self.forgotten);
            }
        }
    }

    /// The peaks of the largest processes, largest first, after `passes` passes.
    pub(crate) fn into_peaks(self, passes: u64, sampled: Source) -> Vec<ProcessPeak> {
        let mut processes = self.forgotten;
        processes.extend(
            self.processes.iter().map(|(id, peaks)| peaks.process_peak(id.pid, sampled, peaks.ended_before(passes))),
        );
        keep_largest(&mut processes);
        processes
    }
}

fn keep_largest(processes: &mut Vec<ProcessPeak>) {
    processes.sort_by(|a, b| b.peak_rss.bytes.cmp(&a.peak_rss.bytes).then(a.pid.cmp(&b.pid)));
    processes.truncate(PROCESSES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_no_sample_saw_has_its_mark_from_its_exit() {
        let root = ProcessId { pid: 1, start_ticks: 5 };
        let ended = |pid, mib, whole| EndedProcess { pid, name: "cc".to_owned(), mark: ByteSize::mib(mib), whole };
        let mut population = Population::default();
        population.record_exit(root, ended(1, 20, true));
        assert!(population.is_one(Some(root)) && population.is_one(None));
        population.record_exit(root, ended(2, 30, true));
        population.record_exit(root, ended(3, 10, false));
        assert!(!population.is_one(Some(root)));
        let peaks = population.into_peaks(4, Source::Sampled { interval_ns: 1 });
        let peaks: Vec<_> = peaks.iter().map(|peak| (peak.pid, peak.peak_rss.bytes, peak.peak_rss.source)).collect();
        let mib = ByteSize::mib;
        assert_eq!(peaks, [(2, mib(30), Source::Exact), (1, mib(20), Source::Exact), (3, mib(10), Source::LowerBound)]);
    }
}
