//! Shared by the tests: checks of readings against the truth.

use std::time::{Duration, Instant};

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{Metric, PhaseReadings, ProcessPeak};

/// Exact readings are within this of the truth.
pub const MARGIN: u64 = MIB;

/// Counts of file pages are within this: four MiB per thread before Linux 6.2.
pub const FILE_MARGIN: u64 = 4 * MIB;

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
