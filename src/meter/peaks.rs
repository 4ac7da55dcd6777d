//! The peaks of one process during a phase, and how far they can be trusted.

use super::process::ProcessMemory;
use super::reading::{ProcessPeak, Reading, Source};
use crate::bytes::ByteSize;

/// What is kept of one process while a phase is under way.
#[derive(Clone, Debug)]
pub(crate) struct ProcessPeaks {
    name: String,
    /// The largest resident set that was sampled.
    rss: ByteSize,
    anon: Option<ByteSize>,
    /// The largest high-water mark that was read.
    mark: Option<ByteSize>,
    /// The mark when the phase began, which an earlier phase may have set; absent where the mark counts from within
    /// this phase.
    mark_before: Option<ByteSize>,
    latest_mark: Option<ByteSize>,
    /// The mark fell: the process executed another program, or someone reset it. What the mark had reached between
    /// the last reading and that moment is not known.
    pub(crate) interrupted: bool,
    /// It was read right before it was ended.
    pub(crate) seen_to_the_end: bool,
    latest_pass: u64,
}

impl ProcessPeaks {
    /// `within` tells that its mark counts from within this phase.
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
            latest_pass: 0,
        }
    }

    pub(crate) fn record(&mut self, name: &str, memory: &ProcessMemory, pass: u64) {
        if self.name != name {
            name.clone_into(&mut self.name);
        }
        self.interrupted |= memory.peak_rss < self.latest_mark;
        self.latest_mark = memory.peak_rss;
        self.rss = self.rss.max(memory.rss);
        self.anon = self.anon.max(memory.anon);
        self.mark = self.mark.max(memory.peak_rss);
        self.latest_pass = pass;
    }

    /// Whether it was not there any more in the latest of `passes` passes.
    pub(crate) fn ended_before(&self, passes: u64) -> bool {
        self.latest_pass + 1 < passes
    }

    /// Its peaks. `ended` tells that it was gone before the phase was over.
    pub(crate) fn process_peak(&self, pid: u32, sampled: Source, ended: bool) -> ProcessPeak {
        let peak_rss = match self.mark {
            // A mark that has risen in this phase was set in it.
            Some(mark) if self.mark_before.is_none_or(|before| mark > before) => {
                let exact = !self.interrupted && (!ended || self.seen_to_the_end);
                let source = if exact { Source::Exact } else { Source::LowerBound };
                Reading { bytes: mark.max(self.rss), source, counter: "VmHWM".to_owned() }
            }
            _ => Reading { bytes: self.rss, source: sampled, counter: "VmRSS".to_owned() },
        };
        let peak_anon = self.anon.map(|bytes| Reading { bytes, source: sampled, counter: "RssAnon".to_owned() });
        ProcessPeak { pid, name: self.name.clone(), peak_rss, peak_anon }
    }
}
