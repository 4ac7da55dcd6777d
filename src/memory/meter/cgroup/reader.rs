//! Reads a meter's group: its memory in every sample, its peak from the kernel's mark.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::counters::{CgroupStat, names};
use super::group::Cgroup;
use super::hierarchy::CgroupVersion;
use super::peak::{CgroupMark, OwnPeak};
use crate::bytes::ByteSize;
use crate::meter::activity::ActivityScope;
use crate::meter::oom::OomKills;
use crate::meter::pressure::MemoryPressure;
use crate::meter::reading::{Reading, Source};
use crate::meter::text::{TextFile, number};
use crate::nanoseconds;

/// A default group is read at most this often, because nobody asked for it.
const SELDOM: Duration = Duration::from_millis(100);

/// The marks of a group when a phase began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CgroupMarks {
    pub(crate) memory: CgroupMark,
    pub(crate) swap: CgroupMark,
}

impl CgroupMarks {
    /// No group.
    pub(crate) const ABSENT: Self = Self { memory: CgroupMark::Absent, swap: CgroupMark::Absent };
}

/// Reads the group given to a meter, or the one that the root of its tree is in.
#[derive(Debug)]
pub(crate) struct CgroupReader {
    group: Cgroup,
    peak: OwnPeak,
    /// For swap; absent if the group has other processes, or if the kernel keeps no such mark.
    swap_peak: Option<OwnPeak>,
    current: TextFile,
    /// Whether it was given to the meter, so that it provides stalls and kills.
    given: bool,
    /// The latest reading and its time.
    latest: Option<(ByteSize, Instant)>,
    /// Readings of the tree's own group since the phase began.
    seen: Seen,
    text: Vec<u8>,
}

impl CgroupReader {
    /// The error says why there is nothing to read.
    pub(crate) fn new(given: Option<&Cgroup>, root: u32) -> Result<Self, Arc<str>> {
        let found = given.map_or_else(|| Cgroup::of(root), |group| Ok(group.clone()));
        let group = found.map_err(|error| Arc::from(error.to_string()))?;
        let path = group.file(names(group.version()).current);
        let current = TextFile::open(&path).map_err(|error| Arc::from(format!("{}: {error}", path.display())))?;
        let names = names(group.version());
        Ok(Self {
            peak: OwnPeak::open(group.path(), names.peak),
            swap_peak: names.swap_peak.filter(|_| group.is_own()).map(|name| OwnPeak::open(group.path(), name)),
            group,
            current,
            given: given.is_some(),
            latest: None,
            seen: Seen::default(),
            text: Vec::new(),
        })
    }

    /// The present memory of the group; for a default group a value up to [`SELDOM`] old. `edge` means that a phase
    /// begins or ends here.
    pub(crate) fn current(&mut self, now: Instant, edge: bool) -> Result<ByteSize, Arc<str>> {
        if let Some((bytes, at)) = self.latest
            && !(self.given || edge)
            && now < at + SELDOM
        {
            return Ok(bytes);
        }
        let text = self.current.read_single(&mut self.text).map_err(|error| Arc::from(error.to_string()))?;
        let bytes = number(text.trim_ascii()).map(ByteSize::new);
        let bytes = bytes.ok_or_else(|| Arc::from("the group's counter is not a number"))?;
        self.latest = Some((bytes, now));
        if self.group.is_own()
            && let Ok(stat) = self.group.stat()
        {
            self.seen.record(bytes, &stat);
        }
        Ok(bytes)
    }

    /// Resets the marks for a new phase. In version 1 that affects everyone, so only our own groups are reset.
    pub(crate) fn begin(&mut self) -> CgroupMarks {
        self.seen = Seen::default();
        let may_reset = self.group.version() == CgroupVersion::V2 || self.group.is_own();
        CgroupMarks {
            memory: self.peak.begin(may_reset),
            swap: self.swap_peak.as_ref().map_or(CgroupMark::Absent, |peak| peak.begin(may_reset)),
        }
    }

    /// The peak of a phase that began with `mark` and whose largest sample is `sampled`.
    pub(crate) fn peak(&self, mark: CgroupMark, sampled: ByteSize, source: Source) -> Reading {
        self.exact(&self.peak, mark, sampled).unwrap_or_else(|| {
            let counter = format!("{} of the control group {}", names(self.group.version()).current, self.group.name());
            Reading::new(sampled, self.sampled(source), counter)
        })
    }

    /// The peak of swap, likewise; `None` if the kernel does not report it.
    pub(crate) fn swap_peak(&self, mark: CgroupMark, sampled: ByteSize) -> Option<Reading> {
        self.exact(self.swap_peak.as_ref()?, mark, sampled)
    }

    fn exact(&self, peak: &OwnPeak, mark: CgroupMark, sampled: ByteSize) -> Option<Reading> {
        let (bytes, reset) = peak.of_phase(mark)?;
        let suffix = if reset { ", reset when the phase began" } else { "" };
        let counter = format!("{} of the control group {}{suffix}", peak.name, self.group.name());
        Some(Reading::new(bytes.max(sampled), Source::Exact, counter))
    }

    /// Estimates the peak of anonymous memory in a phase that began with `mark`, including what no sample saw: how far
    /// the mark of the tree's own group is above the largest sample, minus what page cache may have grown by between
    /// two samples. `None` if undecidable.
    pub(crate) fn unseen(&self, mark: CgroupMark) -> Option<ByteSize> {
        let (peak, _) = self.group.is_own().then(|| self.peak.of_phase(mark)).flatten()?;
        Some(self.seen.at_most(peak))
    }

    fn sampled(&self, source: Source) -> Source {
        let seldom = nanoseconds(SELDOM);
        match source {
            Source::Sampled { interval_ns } if !self.given => Source::Sampled { interval_ns: interval_ns.max(seldom) },
            source => source,
        }
    }

    /// How long tasks waited for memory, and the scope: the group, if it was given and reports it.
    pub(crate) fn pressure(&self) -> (Option<MemoryPressure>, ActivityScope) {
        match Some(&self.group).filter(|_| self.given).and_then(Cgroup::pressure) {
            Some(pressure) => (Some(pressure), ActivityScope::Cgroup),
            None => (MemoryPressure::read(), ActivityScope::System),
        }
    }

    /// Kills for memory, and their scope.
    pub(crate) fn oom_kills(&self) -> (Option<OomKills>, ActivityScope) {
        let group = Some(&self.group).filter(|_| self.given);
        match group.and_then(|group| group.oom_kills().ok()?) {
            Some(kills) => (Some(OomKills::new(kills)), ActivityScope::Cgroup),
            None => (OomKills::read().ok().flatten(), ActivityScope::System),
        }
    }
}

/// The maxima over the samples of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    current: ByteSize,
    anon: ByteSize,
    /// Page cache in the latest sample, and its largest growth between two samples.
    cache: Option<ByteSize>,
    cache_step: ByteSize,
}

impl Seen {
    fn record(&mut self, current: ByteSize, stat: &CgroupStat) {
        self.current = self.current.max(current);
        self.anon = self.anon.max(stat.anon.unwrap_or(ByteSize::ZERO));
        if let Some((now, before)) = stat.file.zip(self.cache) {
            self.cache_step = self.cache_step.max(now.saturating_sub(before));
        }
        self.cache = stat.file;
    }

    fn at_most(&self, peak: ByteSize) -> ByteSize {
        self.anon + peak.saturating_sub(self.current).saturating_sub(self.cache_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::cgroup::hierarchy::Group;

    const SAMPLED: Source = Source::Sampled { interval_ns: 10 };

    #[test]
    fn what_no_sample_has_seen_is_in_the_mark() {
        let mut seen = Seen::default();
        let stat = |anon, file| CgroupStat {
            anon: Some(ByteSize::mib(anon)),
            file: Some(ByteSize::mib(file)),
            ..CgroupStat::default()
        };
        seen.record(ByteSize::mib(50), &stat(48, 1));
        seen.record(ByteSize::mib(90), &stat(40, 49));
        assert_eq!(seen.at_most(ByteSize::mib(200)), ByteSize::mib(48 + 200 - 90 - 48));
        assert_eq!(seen.at_most(ByteSize::mib(100)), ByteSize::mib(48), "page cache may be all of it");
    }

    #[test]
    fn a_mark_counts_where_it_is_of_the_phase() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("memory.current", "5000\n");
        write("memory.peak", "9000\n");
        write("memory.events", "oom_kill 3\n");
        let group = Group { version: CgroupVersion::V2, path: dir.path().into(), mount: dir.path().into() };
        let group = Cgroup::new(group, None);
        let mut reader = CgroupReader::new(Some(&group), 1).unwrap();
        assert_eq!(reader.current(Instant::now(), false), Ok(ByteSize::new(5000)));
        let peak = |mark| {
            let reading = reader.peak(mark, ByteSize::new(6000), SAMPLED);
            (reading.bytes.bytes(), reading.source, reading.counter)
        };
        assert_eq!(
            peak(CgroupMark::Reset),
            (9000, Source::Exact, "memory.peak of the control group /, reset when the phase began".into())
        );
        assert_eq!(peak(CgroupMark::Stood(ByteSize::new(8000))).0, 9000);
        // The mark may be from before the phase.
        assert_eq!(
            peak(CgroupMark::Stood(ByteSize::new(9000))),
            (6000, SAMPLED, "memory.current of the control group /".into())
        );
        assert_eq!(peak(CgroupMark::Absent).0, 6000);
        assert_eq!(reader.oom_kills(), (Some(OomKills::new(3)), ActivityScope::Cgroup));
        assert_eq!(reader.pressure().1, ActivityScope::System, "the group does not report it");
        let error = CgroupReader::new(Some(&group), 1).map(|_| ()).and(CgroupReader::new(None, u32::MAX).map(|_| ()));
        assert!(error.unwrap_err().contains("/proc/4294967295/cgroup"));
    }
}
