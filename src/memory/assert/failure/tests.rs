use std::collections::BTreeMap;

use super::super::counted::{HeapCounter, HeapLimit, judge_heap};
use super::*;
use crate::alloc::{HeapScope, ThreadAllocations};
use crate::bytes::ByteSize;
use crate::ceiling::judge;
use crate::meter::{
    Activity, ActivityScope, MappingGrowth, MappingKind, MemorySplit, ProcessPeak, Reading, TimelinePoint,
};
use crate::testing::assert_snapshot;

const MS: u64 = 1_000_000;
const SAMPLED: Source = Source::Sampled { interval_ns: 10 * MS };

fn split(anon: u64, file: u64) -> Option<MemorySplit> {
    let [anon, file] = [anon, file].map(ByteSize::mib);
    let zero = Some(ByteSize::ZERO);
    Some(MemorySplit { rss: anon + file, anon: Some(anon), file: Some(file), shmem: zero, swap: zero, hugetlb: None })
}

fn readings(figures: &[(Metric, u64, Source, &str)]) -> BTreeMap<Metric, Reading> {
    let reading = |&(metric, mib, source, counter): &(Metric, u64, Source, &str)| {
        (metric, Reading::new(ByteSize::mib(mib), source, counter))
    };
    figures.iter().map(reading).collect()
}

/// Three phases of a test that loads 96 MiB and keeps some of it.
fn phases() -> Vec<PhaseReadings> {
    let mapping = |name: &str, kind, before, after| MappingGrowth {
        name: name.to_owned(),
        kind,
        before: ByteSize::mib(before),
        after: ByteSize::mib(after),
    };
    let process = |peak: u64| ProcessPeak {
        pid: 4242,
        name: "streaming".to_owned(),
        peak_rss: Reading::new(ByteSize::mib(peak), Source::Exact, "VmHWM"),
        peak_anon: None,
    };
    let phase =
        |name: &str, wall_ms: u64, rss: &[u64], splits: [Option<MemorySplit>; 3], anon_peak: u64| PhaseReadings {
            phase: name.to_owned(),
            wall_ns: wall_ms * MS,
            readings: readings(&[
                (Metric::PeakRss, anon_peak + 12, Source::Exact, "VmHWM"),
                (Metric::PeakAnon, anon_peak, SAMPLED, "RssAnon"),
                (Metric::RetainedRss, splits[2].unwrap().rss.bytes() / crate::bytes::MIB - 10, Source::Exact, "VmRSS"),
                (Metric::SwapGrowth, 0, Source::Exact, "VmSwap, SwapTotal is 0"),
                (Metric::AvailableFloor, 8000, SAMPLED, "MemAvailable"),
            ]),
            unavailable: BTreeMap::from([(Metric::GpuPeak, "libnvidia-ml.so.1 is not installed".to_owned())]),
            at_start: splits[0],
            at_peak: splits[1],
            at_end: splits[2],
            activity: Activity {
                minor_faults: Some(8_000),
                major_faults: Some(1),
                cpu_user_ns: Some(40 * MS),
                cpu_system_ns: Some(10 * MS),
                some_stall_us: Some(0),
                full_stall_us: Some(0),
                oom_kills: Some(0),
                oom_kills_of: ActivityScope::Cgroup,
                ..Activity::default()
            },
            mappings: vec![
                mapping("[anon]", MappingKind::Anonymous, 1, 81),
                mapping("[heap]", MappingKind::Heap, 2, 10),
                mapping("/captures/embedding/entry_000000.pt", MappingKind::File, 0, 4),
                mapping("/usr/lib/libc.so.6", MappingKind::File, 2, 2),
            ],
            peak_rss_at_most: None,
            peak_pss_at_most: None,
            shared: None,
            process_count: None,
            processes: vec![process(anon_peak + 12)],
            timeline: rss
                .iter()
                .enumerate()
                .map(|(at, &mib)| TimelinePoint {
                    at_ns: wall_ms * MS * at as u64 / rss.len() as u64,
                    rss: ByteSize::mib(mib),
                    ..TimelinePoint::default()
                })
                .collect(),
        };
    vec![
        phase("open", 35, &[10, 11, 11], [split(4, 6), split(5, 6), split(5, 6)], 5),
        phase("load", 820, &[11, 40, 70, 90, 107, 104], [split(5, 6), split(91, 16), split(90, 14)], 96),
        phase("close", 12, &[104, 40, 20], [split(90, 14), split(90, 14), split(8, 12)], 90),
    ]
}

fn heap() -> HeapReadings {
    let thread = |id, name: &str, mib| ThreadAllocations {
        id: Some(id),
        name: name.to_owned(),
        allocations: 10,
        allocated: ByteSize::mib(mib),
        freed: ByteSize::mib(mib),
    };
    HeapReadings {
        scope: HeapScope::Process,
        peak: ByteSize::mib(86),
        retained: ByteSize::new(4096),
        allocations: 1204,
        reallocations: 1,
        deallocations: 1203,
        allocated: ByteSize::mib(190),
        freed: ByteSize::mib(190),
        threads: vec![thread(7, "streaming", 180), thread(8, "rayon-0", 10)],
    }
}

fn notes() -> [String; 1] {
    ["other threads allocated at the same time, which the figures of the process include: \
      tests::parse 12.00 MiB in 1024 allocations"
        .to_owned()]
}

#[test]
fn a_broken_test_is_reported_briefly_first_then_in_full() {
    let phases = phases();
    let ceilings =
        "peak_rss = 128 MiB, peak_anon = 64 MiB, retained_rss = 1 MiB, gpu_peak = 1 GiB, swap_growth = 0 B, \
                    available_floor = 1 GiB"
            .parse()
            .unwrap();
    let heap = heap();
    let limits = [
        HeapLimit { counter: HeapCounter::Allocations, limit: 1000 },
        HeapLimit { counter: HeapCounter::Allocated, limit: 200 << 20 },
    ];
    let text = failure(&Failure {
        name: "streams_a_capture",
        message: Some("streaming must not load every entry"),
        verdicts: &judge(&phases, &ceilings),
        heap_verdicts: &judge_heap(Ok(&heap), &limits),
        phases: &phases,
        heap: Some(&heap),
        notes: &notes(),
    });
    assert_snapshot("assert_failure", &text);
}

#[test]
fn one_ceiling_of_a_block_takes_a_few_lines() {
    let block = PhaseReadings {
        wall_ns: 3 * MS,
        readings: readings(&[(Metric::PeakRssGrowth, 40, Source::LowerBound, "VmRSS")]),
        ..PhaseReadings::default()
    };
    let verdicts = judge(std::slice::from_ref(&block), &"peak_rss_growth = 32 MiB".parse().unwrap());
    let text = failure(&Failure {
        name: "assert_memory! at tests/load.rs:12:5",
        message: None,
        verdicts: &verdicts,
        heap_verdicts: &[],
        phases: &[block],
        heap: None,
        notes: &[],
    });
    assert_snapshot("assert_failure_block", &text);
}

#[test]
fn a_heap_that_nobody_counts_is_not_measurable() {
    let why = crate::alloc::HeapError::NotTracking.to_string();
    let limits = [HeapLimit { counter: HeapCounter::Allocations, limit: 10 }];
    let verdicts = judge_heap(Err(&why), &limits);
    let text = failure(&Failure {
        name: "parses",
        message: None,
        verdicts: &[],
        heap_verdicts: &verdicts,
        phases: &[],
        heap: None,
        notes: &[],
    });
    assert_snapshot("assert_failure_not_tracking", &text);
}

#[test]
fn a_peak_between_two_samples_is_said_to_be_one() {
    let mut phases = phases();
    assert_eq!(between_samples(&phases), None);
    phases[1].at_peak = split(20, 6);
    phases[2].at_peak = split(20, 6);
    assert!(between_samples(&phases).unwrap().starts_with("the peak of 108.00 MiB lay between two samples"));
}

#[test]
fn many_phases_and_hostile_names_stay_in_their_lines() {
    let mut all = Vec::new();
    for n in 0..40 {
        let mut phase = phases().remove(n % 3);
        phase.phase = format!("phase {n}\n\x1b[31m a name of some length");
        all.push(phase);
    }
    let verdicts = judge(&all, &"peak_anon = 1 MiB".parse().unwrap());
    let text = failure(&Failure {
        name: "a\nb",
        message: Some("two\nlines\x07"),
        verdicts: &verdicts,
        heap_verdicts: &[],
        phases: &all,
        heap: None,
        notes: &[],
    });
    assert!(text.contains("more phases") && text.contains("two\nlines\u{fffd}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    for line in text.lines().skip(1) {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
}
