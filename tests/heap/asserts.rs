//! `assert_memory!` on the heap: exact, and equal in every run.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll::assert::MemoryGuard;
use plimsoll::{ByteSize, assert_memory};

fn panic_of<T>(work: impl FnOnce() -> T) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).err().expect("it does not panic");
    *panic.downcast::<String>().expect("a formatted message")
}

/// Ten blocks of 100 bytes, all live at once.
fn work() -> Vec<Vec<u8>> {
    let mut all = Vec::with_capacity(10);
    (0..10).for_each(|_| all.push(black_box(vec![0u8; 100])));
    all
}

/// The bytes that they take.
const PEAK: u64 = 10 * 100 + 10 * size_of::<Vec<u8>>() as u64;

#[test]
fn limits_of_the_heap_hold_at_equality_and_break_one_below() {
    for _ in 0..50 {
        assert_memory!(peak_heap <= PEAK, retained_heap <= "0 B", allocations <= 11, allocated <= PEAK, {
            drop(work())
        });
    }
    let message = panic_of(|| assert_memory!(allocations <= 10, { drop(work()) }));
    assert!(message.contains("allocations is 11 (exact), 1 (10 %) above its ceiling of 10"), "{message}");
    let message = panic_of(|| assert_memory!(peak_heap <= PEAK - 1, { drop(work()) }));
    assert!(message.contains("1 B (0.1 %) above its ceiling"), "{message}");
    let message = panic_of(|| assert_memory!(retained_heap <= PEAK - 1, { work() }));
    assert!(message.contains("exact (allocator, this thread)"), "{message}");
    let message =
        panic_of(|| assert_memory!(reallocations <= 0, { (0..100u8).filter(|n| n % 2 == 0).collect::<Vec<_>>() }));
    assert!(message.contains("reallocations is "), "{message}");
}

#[test]
fn a_block_within_a_block_changes_nothing_for_the_outer() {
    let nested = |inner: bool| {
        let guard = MemoryGuard::begin("peak_heap = 1 GiB".parse::<plimsoll::assert::Limits>().unwrap());
        let kept = if inner {
            let kept = assert_memory!(peak_heap <= PEAK, peak_rss <= "1 TiB", { work() });
            plimsoll::phase("after");
            kept
        } else {
            work()
        };
        let heap = guard.finish().heap.unwrap();
        drop(kept);
        heap
    };
    assert_eq!(nested(true), nested(false));
}

#[test]
fn phases_have_peaks_of_their_own() {
    let guard = MemoryGuard::begin("peak_heap = 0 B, retained_heap = 0 B".parse::<plimsoll::assert::Limits>().unwrap());
    drop(black_box(vec![0u8; 500]));
    plimsoll::phase("keep");
    let kept = black_box(vec![0u8; 200]);
    plimsoll::phase("end");
    drop(kept);
    let measured = guard.finish();
    let of = |phase: usize, metric| measured.phases[phase].readings[&metric].bytes.bytes();
    use plimsoll::meter::Metric::{PeakHeap, RetainedHeap};
    assert_eq!([of(0, PeakHeap), of(1, PeakHeap), of(2, PeakHeap)], [500, 200, 200]);
    assert_eq!([of(0, RetainedHeap), of(1, RetainedHeap), of(2, RetainedHeap)], [0, 200, 0]);
    assert_eq!(measured.verdicts[0].phase.as_deref(), Some("begin"));
    assert!(measured.verdicts[1].reading.as_ref().is_some_and(|reading| reading.bytes == ByteSize::ZERO));
    assert_eq!(measured.heap.as_ref().unwrap().peak.bytes(), 500);
}

#[test]
fn all_threads_are_counted_where_that_is_asked_for() {
    let elsewhere = || {
        let work = || drop(black_box(vec![1u8; 3 << 20]));
        std::thread::Builder::new().name("heap elsewhere".to_owned()).spawn(work).unwrap().join().unwrap();
    };
    assert_memory!(peak_heap <= "1 MiB", { elsewhere() });
    let message = panic_of(|| assert_memory!(all_threads, peak_heap <= "1 MiB", { elsewhere() }));
    assert!(
        message.contains("exact (allocator, all threads)") && message.contains("heap elsewhere 3.00 MiB"),
        "{message}"
    );
}

#[test]
fn what_other_threads_allocated_meanwhile_is_told() {
    let message = panic_of(|| {
        assert_memory!(peak_rss <= "0 B", {
            let work = || drop(black_box(vec![1u8; 3 << 20]));
            std::thread::Builder::new().name("heap neighbour".to_owned()).spawn(work).unwrap().join().unwrap();
        })
    });
    let note = message.lines().find(|line| line.contains("other threads allocated at the same time")).unwrap();
    assert!(note.contains("note"), "{message}");
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("heap neighbour (") && words.contains(") 3.00 MiB in "), "{message}");
    assert!(!words.contains("memory-meter"), "{message}");
}
