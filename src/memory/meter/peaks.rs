//! The peaks of one process during a phase, and how exact they are.

use super::process::ProcessMemory;
use super::reading::{ProcessPeak, Reading, Source};
use crate::bytes::{ByteSize, MIB};

/// What is kept about one process during a phase.
#[derive(Clone, Debug)]
pub(crate) struct ProcessPeaks {
    name: String,
    /// The largest sampled resident set.
    rss: ByteSize,
    anon: Option<ByteSize>,
    /// The largest high-water mark that was read.
    mark: Option<ByteSize>,
    /// The mark when the phase began, which an earlier phase may have set; absent if the mark starts within this phase.
    mark_before: Option<ByteSize>,
    latest_mark: Option<ByteSize>,
    /// The mark fell: the process executed another program, or someone reset it. The mark's value between the last
    /// reading and that moment is unknown.
    pub(crate) interrupted: bool,
    /// Whether the process was read immediately before it was ended.
    pub(crate) seen_to_the_end: bool,
    /// What its threads may have held back from the kernel's counters at most.
    pub(crate) held_back: ByteSize,
    latest_pass: u64,
}

impl ProcessPeaks {
    /// `within` means that its mark starts within this phase.
    pub(crate) fn new(name: &str, within: bool, memory: &ProcessMemory) -> Self {
        Self {
            name: name.to_owned(),
            rss: memory.rss,
            anon: memory.anon,
            mark: memory.peak_rss,
            mark_before: if within { None } else { memory.peak_rss },
            latest_mark: memory.peak_rss,
            interrupted: false,
            seen_to_the_end: false,
            held_back: ByteSize::ZERO,
            latest_pass: 0,
        }
    }

    pub(crate) fn record(&mut self, name: &str, memory: &ProcessMemory, pass: u64) {
        if self.name != name {
            name.clone_into(&mut self.name);
        }
        self.interrupted |= match (self.latest_mark, memory.peak_rss) {
            (Some(before), Some(now)) => has_fallen(before, now),
            (before, _) => before.is_some(),
        };
        self.latest_mark = memory.peak_rss;
        self.rss = self.rss.max(memory.rss);
        self.anon = self.anon.max(memory.anon);
        self.mark = self.mark.max(memory.peak_rss);
        self.latest_pass = pass;
    }

    /// Notes that it has ended, with a peak of at most `mark`.
    pub(crate) fn record_end(&mut self, mark: ByteSize) {
        self.mark = self.mark.max(Some(mark));
        self.interrupted = false;
        self.seen_to_the_end = true;
    }

    /// Notes the kernel's mark at its exit, for its `whole` life or for its last program.
    pub(crate) fn record_exit(&mut self, mark: ByteSize, whole: bool) {
        self.mark = self.mark.max(Some(mark));
        self.interrupted |= !whole;
        self.seen_to_the_end = true;
    }

    /// Whether it was missing in the latest of `passes` passes.
    pub(crate) fn ended_before(&self, passes: u64) -> bool {
        self.latest_pass + 1 < passes
    }

    /// Its peaks. `ended` means that it was gone before the end of the phase.
    pub(crate) fn process_peak(&self, pid: u32, sampled: Source, ended: bool) -> ProcessPeak {
        let peak_rss = match self.mark {
            // A mark that rose in this phase was set in it.
            Some(mark) if self.mark_before.is_none_or(|before| mark > before) => {
                let bytes = mark.max(self.rss);
                if self.interrupted || ended && !self.seen_to_the_end {
                    Reading::new(bytes, Source::LowerBound, "VmHWM")
                } else {
                    let most = mark + self.held_back;
                    Reading::new(bytes, Source::Exact, "VmHWM").holding_back(most.saturating_sub(bytes))
                }
            }
            _ => Reading::new(self.rss, sampled, "VmRSS"),
        };
        let peak_anon = self.anon.map(|bytes| Reading::new(bytes, sampled, "RssAnon"));
        ProcessPeak { pid, name: self.name.clone(), peak_rss, peak_anon }
    }
}

/// Whether the mark was reset. If the present resident set is the largest, the kernel reports it exactly. Later it
/// reports the stored mark, which lacks pages that each processor held back, so a mark may shrink slightly by itself.
pub(crate) fn has_fallen(before: ByteSize, now: ByteSize) -> bool {
    before.saturating_sub(now).bytes() > MIB.max(before.bytes() / 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED: Source = Source::Sampled { interval_ns: 10 };

    fn memory(mark: u64, rss: u64) -> ProcessMemory {
        let anon = Some(ByteSize::mib(rss / 2));
        let peak_rss = Some(ByteSize::mib(mark));
        ProcessMemory { peak_rss, rss: ByteSize::mib(rss), anon, file: None, shmem: None, swap: None, hugetlb: None }
    }

    fn peak(within: bool, ended: bool, observed: bool, samples: &[(u64, u64)]) -> (u64, Source) {
        let mut peaks = ProcessPeaks::new("sh", within, &memory(samples[0].0, samples[0].1));
        for (pass, &(mark, rss)) in samples.iter().enumerate() {
            peaks.record("sh", &memory(mark, rss), pass as u64);
        }
        peaks.seen_to_the_end = observed;
        let peak = peaks.process_peak(1, SAMPLED, ended).peak_rss;
        (peak.bytes.bytes() / MIB, peak.source)
    }

    #[test]
    fn a_mark_counts_where_it_is_of_this_phase() {
        // A process that began in the phase, or whose mark was reset at its beginning.
        assert_eq!(peak(true, false, false, &[(50, 20), (50, 30)]), (50, Source::Exact));
        // It existed before: the mark of 50 may be older than the phase, that of 60 cannot be.
        assert_eq!(peak(false, false, false, &[(50, 20), (50, 30)]), (30, SAMPLED));
        assert_eq!(peak(false, false, false, &[(50, 20), (60, 30)]), (60, Source::Exact));
    }

    #[test]
    fn what_threads_hold_back_is_missing_in_the_mark_alone() {
        let mut peaks = ProcessPeaks::new("sh", true, &memory(50, 20));
        peaks.held_back = ByteSize::mib(4);
        let held_back = |peaks: &ProcessPeaks, ended| peaks.process_peak(1, SAMPLED, ended).peak_rss.held_back;
        assert_eq!(held_back(&peaks, false), Some(ByteSize::mib(4)));
        // The page tables show more than the mark has.
        peaks.record("sh", &memory(50, 53), 1);
        assert_eq!(held_back(&peaks, false), Some(ByteSize::mib(1)));
        assert_eq!(held_back(&peaks, true), None, "a lower bound may lack anything");
    }

    #[test]
    fn an_end_or_a_reset_leaves_a_lower_bound() {
        assert_eq!(peak(true, true, false, &[(50, 20)]), (50, Source::LowerBound));
        assert_eq!(peak(true, true, true, &[(50, 20)]), (50, Source::Exact));
        assert_eq!(peak(true, false, false, &[(50, 20), (8, 8), (9, 9)]), (50, Source::LowerBound));
        // The kernel's own inexactness is not a reset.
        assert_eq!(peak(true, false, false, &[(50, 50), (49, 20)]), (50, Source::Exact));
    }
}
