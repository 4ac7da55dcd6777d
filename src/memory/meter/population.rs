//! The processes of a phase: each one's peaks, in bounded room.

use std::collections::HashMap;

use super::pass::ProcessSample;
use super::peaks::ProcessPeaks;
use super::process::{ProcessId, ProcessMemory};
use super::reading::{ProcessPeak, Source};
use crate::bytes::ByteSize;

/// So many processes are listed of a phase, the largest.
pub(crate) const PROCESSES: usize = 32;
/// More processes than this are not remembered one by one once they have ended.
const REMEMBERED: usize = 512;

/// The processes that were seen in a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Population {
    processes: HashMap<ProcessId, ProcessPeaks>,
    /// Of processes that are not remembered any more.
    forgotten: Vec<ProcessPeak>,
    any_forgotten: bool,
}

impl Population {
    /// Notes a process in the pass of number `pass`. `within` says that its mark counts from within the phase.
    pub(crate) fn record(&mut self, sample: ProcessSample<'_>, within: bool, pass: u64) {
        let peaks =
            self.processes.entry(sample.id).or_insert_with(|| ProcessPeaks::new(sample.name, within, &sample.memory));
        peaks.record(sample.name, &sample.memory, pass);
    }

    /// Notes that what was read of a process last is the last before it is ended.
    pub(crate) fn seen_to_the_end(&mut self, id: ProcessId) {
        if let Some(peaks) = self.processes.get_mut(&id) {
            peaks.seen_to_the_end = true;
        }
    }

    /// Notes that the mark of the process `pid` was reset by another.
    pub(crate) fn interrupt(&mut self, pid: u32) {
        self.processes.iter_mut().filter(|(id, _)| id.pid == pid).for_each(|(_, peaks)| peaks.interrupted = true);
    }

    /// Keeps the room bounded after `passes` passes.
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

    /// Whether only one process was ever seen, and `root` if that is known.
    pub(crate) fn is_one(&self, root: Option<ProcessId>) -> bool {
        let alone = match (self.processes.len(), root) {
            (0, root) => root.is_some(),
            (1, root) => root.is_none_or(|root| self.processes.contains_key(&root)),
            _ => false,
        };
        alone && !self.any_forgotten
    }

    /// Notes that a process was alone, has ended, and has had `mark` at most.
    pub(crate) fn record_end(&mut self, id: ProcessId, name: &str, mark: ByteSize) {
        let nothing = ProcessMemory {
            peak_rss: None,
            rss: ByteSize::ZERO,
            anon: None,
            file: None,
            shmem: None,
            swap: None,
            hugetlb: None,
        };
        self.processes.entry(id).or_insert_with(|| ProcessPeaks::new(name, true, &nothing)).record_end(mark);
    }

    /// The peaks of the largest, largest first, after `passes` passes.
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
