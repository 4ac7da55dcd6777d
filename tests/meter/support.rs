//! Shared by the tests: checks of readings against the truth.

use std::time::{Duration, Instant};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{Meter, Metric, PhaseReadings, ProcessPeak, Reading};

/// Exact readings are within this of the truth.
pub const MARGIN: u64 = MIB;

/// Figures that every kernel reports on which the tests run.
pub const IN_PROC: [Metric; 12] = [
    Metric::PeakRss,
    Metric::PeakRssGrowth,
    Metric::RetainedRss,
    Metric::PeakAnon,
    Metric::PeakAnonGrowth,
    Metric::RetainedAnon,
    Metric::PeakFile,
    Metric::PeakShmem,
    Metric::PeakPss,
    Metric::PeakSwap,
    Metric::SwapGrowth,
    Metric::AvailableFloor,
];

/// The resident set of a process and the anonymous part of it, from its page tables: unlike its counters, they lack nothing
/// that the kernel has not counted yet.
pub fn resident(pid: u32) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_suffix("kB"));
        lines.next().unwrap().trim().parse::<u64>().unwrap() << 10
    };
    (value("Rss:"), value("Anonymous:"))
}

/// The truth is between the figure and what it says it is at most.
#[track_caller]
pub fn assert_includes(what: &str, read: &Reading, truth: u64) {
    let most = close(read.at_most(), truth) || read.at_most().bytes() >= truth;
    let least = close(read.bytes, truth) || read.bytes.bytes() <= truth;
    assert!(most && least, "{what}: {read:?}, and is {}", ByteSize::new(truth));
}

pub fn close(read: ByteSize, truth: u64) -> bool {
    read.bytes().abs_diff(truth) <= MARGIN.max(truth / 100)
}

#[track_caller]
pub fn assert_close(what: &str, read: ByteSize, truth: u64) {
    assert!(close(read, truth), "{what}: {read}, and is {}", ByteSize::new(truth));
}

pub fn bytes(phase: &PhaseReadings, metric: Metric) -> ByteSize {
    phase.readings.get(&metric).unwrap_or_else(|| panic!("no {metric}: {:?}", phase.unavailable)).bytes
}

/// The proportional set of the present phase so far. Page tables are read for a small share of the time, so seldom if
/// reading them takes a slow processor long: a test waits until they have shown what it expects.
pub fn pss(meter: &Meter) -> u64 {
    let phases = meter.so_far();
    phases.last().and_then(|phase| Some(phase.readings.get(&Metric::PeakPss)?.bytes.bytes())).unwrap_or_default()
}

pub fn of(phase: &PhaseReadings, pid: u32) -> &ProcessPeak {
    phase.processes.iter().find(|process| process.pid == pid).unwrap()
}

pub fn base(memory: Option<ByteSize>) -> u64 {
    memory.unwrap().bytes()
}

/// Waits until `holds` returns true; `false` if that takes ten minutes, which no busy machine needs.
pub fn comes(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > Duration::from_secs(600) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}
