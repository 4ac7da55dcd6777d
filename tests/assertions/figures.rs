//! Readings of blocks match what the blocks are known to take.

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::assert::{Measured, MemoryGuard};
use plimsoll::bytes::MIB;
use plimsoll::ceiling::CeilingStatus;
use plimsoll::meter::{Metric, Source};

use super::touch;

fn measure<T>(limits: &str, work: impl FnOnce() -> T) -> (Measured, T) {
    let guard = MemoryGuard::begin(limits.parse::<plimsoll::assert::Limits>().unwrap());
    let value = work();
    (guard.finish(), value)
}

fn reading(measured: &Measured, metric: Metric) -> (ByteSize, Source) {
    let verdict = measured.verdicts.iter().find(|verdict| verdict.metric == metric).unwrap();
    let reading = verdict.reading.as_ref().unwrap_or_else(|| panic!("{}", verdict.message));
    (reading.bytes, reading.source)
}

/// Whether it is within the larger of 1 % and 1 MiB.
fn close(read: ByteSize, mib: u64) -> bool {
    read.bytes().abs_diff(mib * MIB) <= MIB.max(mib * MIB / 100)
}

#[test]
fn a_spike_of_a_millisecond_is_in_the_exact_peak() {
    let (measured, ()) = measure("peak_rss_growth = 0 B", || {
        std::thread::sleep(Duration::from_millis(30));
        drop(touch(6));
        std::thread::sleep(Duration::from_millis(30));
    });
    let (bytes, source) = reading(&measured, Metric::PeakRssGrowth);
    assert_eq!(source, Source::Exact, "{measured}");
    assert!(close(bytes, 6), "{measured}");
    assert_eq!(measured.verdicts[0].status, CeilingStatus::Broken);
}

#[test]
fn growth_and_what_is_retained_count_from_the_beginning() {
    // Memory taken before the blocks is inside a block as well, for the sake of other tests.
    let _alone = MemoryGuard::begin("peak_rss = 1 TiB".parse::<plimsoll::assert::Limits>().unwrap());
    let before = touch(16);
    let limits = "peak_rss_growth = 1 GiB, retained_rss = 1 GiB, peak_anon_growth = 1 GiB, retained_anon = 1 GiB";
    let (measured, kept) = measure(limits, || {
        drop(touch(32));
        let kept = touch(8);
        std::thread::sleep(Duration::from_millis(30));
        kept
    });
    assert!(close(reading(&measured, Metric::PeakRssGrowth).0, 32), "{measured}");
    assert!(close(reading(&measured, Metric::RetainedRss).0, 8), "{measured}");
    assert!(close(reading(&measured, Metric::RetainedAnon).0, 8), "{measured}");
    assert!(reading(&measured, Metric::PeakAnonGrowth).0 >= ByteSize::mib(7), "{measured}");
    assert!(measured.passed());
    let (measured, ()) = measure("retained_rss = 0 B", || drop((before, kept)));
    assert_eq!(reading(&measured, Metric::RetainedRss).0, ByteSize::ZERO, "less is no growth");
}

#[test]
fn phases_are_those_that_the_block_names() {
    let (measured, ()) = measure("peak_rss_growth = 20 MiB, retained_rss = 64 MiB", || {
        plimsoll::phase("load");
        let data = touch(20);
        drop(touch(4));
        plimsoll::phase("close");
        drop(data);
    });
    let names: Vec<&str> = measured.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["begin", "load", "close"]);
    assert_eq!(measured.verdicts[0].phase.as_deref(), Some("load"), "{measured}");
    assert_eq!(measured.verdicts[1].phase.as_deref(), Some("close"), "{measured}");
}

#[test]
fn what_nobody_counts_is_not_measurable() {
    let (measured, ()) = measure("peak_heap = 1 GiB, allocations = 1000", || {});
    assert!(!measured.passed() && measured.heap.is_none());
    for message in [&measured.verdicts[0].message, &measured.heap_verdicts[0].message] {
        assert!(message.contains("not measurable") && message.contains("#[global_allocator]"), "{message}");
    }
    // Read if there is a GPU; otherwise the reason is not that nobody asked.
    let (measured, ()) = measure("gpu_peak = 64 TiB", || {});
    let gpu = &measured.verdicts[0];
    assert!(gpu.status == CeilingStatus::Holds || gpu.message.contains("not measurable: in phase `begin` "), "{gpu:?}");
    assert!(!gpu.message.contains("not asked for"), "{gpu:?}");
    let (measured, ()) = measure("peak_rss_growth = 1 GiB, retained_heap = 1 GiB", || {});
    let statuses: Vec<_> = measured.verdicts.iter().map(|verdict| verdict.status).collect();
    assert_eq!(statuses, [CeilingStatus::Holds, CeilingStatus::NotMeasurable]);
}

#[test]
fn other_threads_that_ran_meanwhile_are_named() {
    let (measured, ()) = measure("peak_rss_growth = 1 MiB", || {
        let (to, from) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let work = move || {
            let data = touch(20);
            ready.send(()).unwrap();
            let _ = from.recv();
            data.len()
        };
        let other = std::thread::Builder::new().name("another test".to_owned()).spawn(work).unwrap();
        is_ready.recv().unwrap();
        // It is still there when the block ends.
        std::mem::forget((to, other));
    });
    let note = measured.notes.iter().find(|note| note.starts_with("other threads ran at the same time"));
    assert!(note.is_some_and(|note| note.contains("another test (")), "{measured}");
}
