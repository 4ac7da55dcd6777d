//! The phases of a small check, as a user would see them.

use std::collections::BTreeMap;

use crate::bytes::ByteSize;
use crate::meter::{
    Activity, CpuSource, MappingGrowth, MappingKind, MemorySplit, Metric, PhaseReadings, ProcessPeak, ProcessRss,
    Reading, Source, TimelinePoint,
};

/// The phases of a check that passes.
pub fn phases() -> Vec<PhaseReadings> {
    vec![phase("validate", 48), phase("release", 12), phase("profile", 900)]
}

/// [`phases`], the resident set of each peaking at `mib` MiB.
pub fn phases_of(mib: u64) -> Vec<PhaseReadings> {
    let mut phases = phases();
    for phase in &mut phases {
        if let Some(reading) = phase.readings.get_mut(&Metric::PeakRss) {
            reading.bytes = ByteSize::mib(mib);
        }
    }
    phases
}

fn reading(bytes: ByteSize, source: Source, counter: &str) -> Reading {
    Reading::new(bytes, source, counter)
}

/// A phase whose resident set peaks at `mib` MiB.
pub fn phase(name: &str, mib: u64) -> PhaseReadings {
    let sampled = Source::Sampled { interval_ns: 10_000_000 };
    let readings = BTreeMap::from([
        (Metric::PeakRss, reading(ByteSize::mib(mib), sampled, "sum of VmRSS over the tree")),
        (Metric::PeakAnon, reading(ByteSize::mib(mib / 4), sampled, "sum of RssAnon over the tree")),
        (Metric::PeakPss, reading(ByteSize::mib(mib - 2), Source::LowerBound, "sum of Pss over the tree")),
        (Metric::SwapGrowth, reading(ByteSize::ZERO, sampled, "SwapTotal - SwapFree")),
        (Metric::AvailableFloor, reading(ByteSize::gib(57), sampled, "MemAvailable")),
    ]);
    let worker = reading(ByteSize::mib(mib - 8), Source::Exact, "VmHWM");
    let timeline = (0..24u64).map(|i| TimelinePoint {
        at_ns: i * 10_000_000,
        rss: ByteSize::mib(8 + (mib - 8) * (i % 12) / 11),
        anon: Some(ByteSize::mib(4)),
        available: Some(ByteSize::gib(57)),
        // The supervisor beside its worker.
        largest: vec![
            ProcessRss { pid: 4242, rss: ByteSize::mib((mib - 8) * (i % 12) / 11 + 4) },
            ProcessRss { pid: 4241, rss: ByteSize::mib(4) },
        ],
        ..TimelinePoint::default()
    });
    let split = |mib| {
        let part = |part| Some(ByteSize::mib(part));
        let (anon, file, swap) = (part(mib / 4), part(mib - mib / 4), part(0));
        Some(MemorySplit { rss: ByteSize::mib(mib), anon, file, shmem: part(0), swap, hugetlb: None })
    };
    PhaseReadings {
        phase: name.to_owned(),
        wall_ns: 240_000_000,
        readings,
        at_start: split(8),
        at_peak: split(mib),
        at_end: split(12),
        activity: Activity {
            minor_faults: Some(mib * 256),
            major_faults: Some(3),
            cpu_user_ns: Some(180_000_000),
            cpu_system_ns: Some(40_000_000),
            cpu_source: CpuSource::Reaped,
            some_stall_us: Some(1500),
            full_stall_us: Some(20),
            oom_kills: Some(0),
            ..Activity::default()
        },
        mappings: vec![MappingGrowth {
            name: "captures/gemma4-e2b-gb10/entry_000003.pt".to_owned(),
            kind: MappingKind::File,
            before: ByteSize::ZERO,
            after: ByteSize::mib(mib / 2),
        }],
        processes: vec![ProcessPeak { pid: 4242, name: "worker 1".to_owned(), peak_rss: worker, peak_anon: None }],
        timeline: timeline.collect(),
        ..PhaseReadings::default()
    }
}
