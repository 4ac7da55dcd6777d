//! [`Wire`]: values as a line of words, by which the process of a test reports to its parent.
//!
//! Words are separated by tabs; a number is decimal, a variant its name, a list its length and then its items, and what may
//! be absent is `None`, or `Some` and the value. Not JSON, because `serde` is half of what a test dependency costs to build.

use std::collections::BTreeMap;
use std::str::Split;

use super::counted::{HeapCounter, HeapVerdict};
use super::isolated::message::{Message, Outcome};
use super::measured::Measured;
use crate::alloc::{HeapReadings, HeapScope, ThreadAllocations};
use crate::bytes::ByteSize;
use crate::ceiling::{CeilingStatus, CeilingVerdict};
use crate::meter::{
    Activity, ActivityScope, CpuSource, MappingGrowth, MappingKind, MemorySplit, Metric, PhaseReadings, ProcessCount,
    ProcessPeak, ProcessRss, Reading, SharedPages, Source, TimelinePoint,
};

/// A value that a process of a test can report.
pub(super) trait Wire: Sized {
    /// Adds the words of the value.
    fn put(&self, words: &mut Vec<String>);

    /// Reads the value from the words that come next; `None` if they are not of such a value.
    fn take(words: &mut Split<'_, char>) -> Option<Self>;
}

/// The line of a value, with its end.
pub(super) fn line(value: &impl Wire) -> String {
    let mut words = Vec::new();
    value.put(&mut words);
    words.join("\t") + "\n"
}

/// The value of a line without its end; `None` if it is not the line of such a value.
pub(super) fn value<T: Wire>(line: &str) -> Option<T> {
    let mut words = line.split('\t');
    let value = T::take(&mut words)?;
    words.next().is_none().then_some(value)
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Wire for $type {
            fn put(&self, words: &mut Vec<String>) {
                words.push(self.to_string());
            }

            fn take(words: &mut Split<'_, char>) -> Option<Self> {
                words.next()?.parse().ok()
            }
        }
    )+};
}

macro_rules! structs {
    ($($type:ident { $($field:ident),+ })+) => {$(
        impl Wire for $type {
            fn put(&self, words: &mut Vec<String>) {
                let Self { $($field),+ } = self;
                $($field.put(words);)+
            }

            fn take(words: &mut Split<'_, char>) -> Option<Self> {
                Some(Self { $($field: Wire::take(words)?),+ })
            }
        }
    )+};
}

macro_rules! enums {
    ($($type:ident { $($variant:ident $({ $($field:ident),+ })?),+ })+) => {$(
        impl Wire for $type {
            fn put(&self, words: &mut Vec<String>) {
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        words.push(stringify!($variant).to_owned());
                        $($($field.put(words);)+)?
                    })+
                }
            }

            fn take(words: &mut Split<'_, char>) -> Option<Self> {
                match words.next()? {
                    $(word if word == stringify!($variant) => {
                        Some(Self::$variant $({ $($field: Wire::take(words)?),+ })?)
                    })+
                    _ => None,
                }
            }
        }
    )+};
}

numbers!(u32 u64);

structs! {
    Activity {
        minor_faults, major_faults, cpu_user_ns, cpu_system_ns, cpu_source, some_stall_us, full_stall_us, stalls_of, oom_kills,
        oom_kills_of
    }
    CeilingVerdict { metric, limit, status, phase, reading, process, by, message }
    HeapReadings { scope, peak, retained, allocations, reallocations, deallocations, allocated, freed, threads }
    HeapVerdict { counter, limit, status, count, message }
    MappingGrowth { name, kind, before, after }
    Measured { name, verdicts, heap_verdicts, phases, heap, notes }
    MemorySplit { rss, anon, file, shmem, swap, hugetlb }
    PhaseReadings {
        phase, wall_ns, readings, unavailable, at_start, at_peak, at_end, activity, mappings, peak_rss_at_most,
        peak_pss_at_most, shared, process_count, processes, timeline
    }
    ProcessCount { count, source }
    ProcessPeak { pid, name, peak_rss, peak_anon }
    ProcessRss { pid, rss }
    Reading { bytes, source, counter, held_back }
    SharedPages { rss, pss }
    ThreadAllocations { id, name, allocations, allocated, freed }
    TimelinePoint { at_ns, rss, anon, shmem, swap, available, largest }
}

enums! {
    ActivityScope { System, Cgroup }
    CeilingStatus { Holds, Broken, NotMeasurable }
    CpuSource { Tick, Reaped }
    HeapCounter { Allocations, Reallocations, Allocated }
    HeapScope { Thread, Process }
    MappingKind { Heap, Anonymous, Stack, File, SharedMemory, Kernel }
    Message { Ready, Phase { name }, Done { outcome, heap }, Outcome { outcome } }
    Outcome {
        Returned, Failed, Panicked { message }, Raised { message }, ExpectedFailure { message }, Skipped
    }
    Source { Exact, Sampled { interval_ns }, LowerBound }
}

impl Wire for ByteSize {
    fn put(&self, words: &mut Vec<String>) {
        self.bytes().put(words);
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        u64::take(words).map(Self::new)
    }
}

impl Wire for Metric {
    fn put(&self, words: &mut Vec<String>) {
        words.push(self.name().to_owned());
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        words.next()?.parse().ok()
    }
}

/// A text is a word in which `\t`, `\n` and `\\` stand for a tab, the end of a line and a backslash.
impl Wire for String {
    fn put(&self, words: &mut Vec<String>) {
        words.push(self.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"));
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        let mut text = Self::new();
        let mut rest = words.next()?;
        while let Some((before, after)) = rest.split_once('\\') {
            text += before;
            text.push(match after.as_bytes().first()? {
                b'\\' => '\\',
                b't' => '\t',
                b'n' => '\n',
                _ => return None,
            });
            rest = &after[1..];
        }
        Some(text + rest)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, words: &mut Vec<String>) {
        words.push(if self.is_some() { "Some" } else { "None" }.to_owned());
        self.iter().for_each(|value| value.put(words));
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        match words.next()? {
            "Some" => T::take(words).map(Some),
            "None" => Some(None),
            _ => None,
        }
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    fn put(&self, words: &mut Vec<String>) {
        words.push(if self.is_ok() { "Ok" } else { "Err" }.to_owned());
        match self {
            Ok(value) => value.put(words),
            Err(error) => error.put(words),
        }
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        match words.next()? {
            "Ok" => T::take(words).map(Ok),
            "Err" => E::take(words).map(Err),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, words: &mut Vec<String>) {
        (self.len() as u64).put(words);
        self.iter().for_each(|value| value.put(words));
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        (0..u64::take(words)?).map(|_| T::take(words)).collect()
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, words: &mut Vec<String>) {
        (self.len() as u64).put(words);
        for (key, value) in self {
            key.put(words);
            value.put(words);
        }
    }

    fn take(words: &mut Split<'_, char>) -> Option<Self> {
        (0..u64::take(words)?).map(|_| Some((K::take(words)?, V::take(words)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::judge;
    use proptest::prelude::*;

    fn read_again<T: Wire>(sent: &T) -> T {
        let line = line(sent);
        value(line.strip_suffix('\n').unwrap()).unwrap()
    }

    fn measured() -> Measured {
        let reading = |source| Reading::new(ByteSize::mib(3), source, "VmHWM").holding_back(ByteSize::mib(4));
        let sampled = reading(Source::Sampled { interval_ns: 1_000_000 });
        let process = ProcessPeak {
            pid: 7,
            name: "a\tb\\n\n".to_owned(),
            peak_rss: sampled.clone(),
            peak_anon: Some(reading(Source::Exact)),
        };
        let split = MemorySplit {
            rss: ByteSize::mib(9),
            anon: Some(ByteSize::mib(1)),
            file: None,
            shmem: Some(ByteSize::ZERO),
            swap: None,
            hugetlb: Some(ByteSize::mib(2)),
        };
        let phase = PhaseReadings {
            phase: "load".to_owned(),
            wall_ns: u64::MAX,
            readings: BTreeMap::from([(Metric::PeakRss, sampled)]),
            unavailable: BTreeMap::from([(Metric::PeakSwap, String::new())]),
            at_start: Some(split),
            at_peak: None,
            at_end: Some(split),
            activity: Activity {
                minor_faults: Some(1),
                cpu_source: CpuSource::Reaped,
                oom_kills_of: ActivityScope::Cgroup,
                ..Activity::default()
            },
            mappings: vec![MappingGrowth {
                name: "/a b".to_owned(),
                kind: MappingKind::SharedMemory,
                before: ByteSize::ZERO,
                after: ByteSize::mib(1),
            }],
            peak_rss_at_most: Some(ByteSize::mib(4)),
            peak_pss_at_most: None,
            shared: Some(SharedPages { rss: ByteSize::mib(2), pss: ByteSize::mib(1) }),
            process_count: Some(ProcessCount { count: 2, source: Source::LowerBound }),
            processes: vec![process],
            timeline: vec![TimelinePoint {
                at_ns: 5,
                largest: vec![ProcessRss { pid: 7, rss: ByteSize::mib(1) }],
                ..TimelinePoint::default()
            }],
        };
        let ceilings = "peak_rss=1MiB,peak_swap=1MiB".parse().unwrap();
        let verdicts = judge(std::slice::from_ref(&phase), &ceilings);
        let heap = HeapReadings {
            scope: HeapScope::Process,
            peak: ByteSize::mib(1),
            retained: ByteSize::ZERO,
            allocations: 1,
            reallocations: 2,
            deallocations: 3,
            allocated: ByteSize::new(4),
            freed: ByteSize::new(5),
            threads: vec![ThreadAllocations {
                id: None,
                name: "ü".to_owned(),
                allocations: 6,
                allocated: ByteSize::new(7),
                freed: ByteSize::new(8),
            }],
        };
        let heap_verdicts = vec![HeapVerdict {
            counter: HeapCounter::Reallocations,
            limit: 1,
            status: CeilingStatus::Broken,
            count: Some(2),
            message: "more".to_owned(),
        }];
        Measured {
            name: "own".to_owned(),
            verdicts,
            heap_verdicts,
            phases: vec![phase],
            heap: Some(heap),
            notes: vec![],
        }
    }

    #[test]
    fn what_is_sent_is_what_arrives() {
        let sent = measured();
        assert_eq!(format!("{:?}", read_again(&sent)), format!("{sent:?}"));
        for message in [
            Message::Ready,
            Message::Phase { name: "\t\\\n".to_owned() },
            Message::Done { outcome: Outcome::Failed, heap: sent.heap.ok_or_else(String::new) },
            Message::Done { outcome: Outcome::Panicked { message: "no".to_owned() }, heap: Err("none".to_owned()) },
            Message::Outcome { outcome: Outcome::Skipped },
        ] {
            assert_eq!(read_again(&message), message);
        }
    }

    #[test]
    fn a_line_that_is_cut_or_longer_is_of_no_value() {
        let sent = line(&measured());
        let whole = sent.strip_suffix('\n').unwrap();
        for (at, _) in whole.match_indices('\t') {
            assert!(value::<Measured>(&whole[..at]).is_none(), "{}", &whole[..at]);
        }
        assert!(value::<Measured>(&format!("{whole}\t")).is_none());
        assert_eq!(value::<Vec<u64>>(&u64::MAX.to_string()), None);
        assert_eq!(value::<String>("\\"), None);
    }

    proptest! {
        #[test]
        fn every_text_arrives(text: String) {
            prop_assert_eq!(read_again(&text), text);
        }

        #[test]
        fn no_line_panics(line: String) {
            let _ = (value::<Message>(&line), value::<Measured>(&line));
        }
    }
}
