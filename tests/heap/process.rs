//! Scopes over the process. The tests of this program are threads of one process, all of which would be counted, so
//! tests of exact figures run alone in their own process.

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use plimsoll::alloc::{HeapReadings, HeapScope, Scope, uncounted};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::model::{Blocks, Call, Figures, Model, call};

/// Runs an ignored test of this program in a process of its own.
fn alone(test: &str) {
    let exact = ["--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(std::env::current_exe().unwrap()).arg(test).args(exact).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Waits until the main thread of this process waits for its test, which allocates a little.
fn alone_now() {
    let stat = format!("/proc/self/task/{}/stat", std::process::id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
        std::thread::yield_now();
    }
}

/// The threads except the one that opened the scope.
fn others(heap: &HeapReadings) -> Vec<(&str, u64)> {
    let others = heap.threads.iter().filter(|thread| thread.name.starts_with("heap "));
    others.map(|thread| (thread.name.as_str(), thread.allocations)).collect()
}

#[test]
fn every_thread_is_counted_and_told_apart() {
    alone("process::threads");
}

#[test]
#[ignore = "run by `every_thread_is_counted_and_told_apart`: what its neighbours free is freed in the process"]
fn threads() {
    alone_now();
    let (to, from) = mpsc::channel::<Vec<u8>>();
    let scope = Scope::process().unwrap();
    let worker = |name: &str, blocks: u64| {
        let to = to.clone();
        let work = move || {
            for _ in 0..blocks {
                to.send(black_box(vec![1; 100_000])).unwrap();
            }
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap()
    };
    let workers = [worker("heap one", 10), worker("heap two with a long name", 20)];
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let kept = scope.readings();
    drop(to);
    assert_eq!(from.iter().count(), 30);
    let heap = scope.finish();
    assert_eq!(heap.scope, HeapScope::Process);
    assert!(heap.peak.bytes() >= 3_000_000 && kept.retained.bytes() >= 3_000_000, "{heap:?}");
    // This thread frees what the others allocated, and the process balances.
    assert!(heap.freed.bytes() >= 3_000_000, "{heap:?}");
    let others = others(&heap);
    assert_eq!(others.iter().map(|other| other.0).collect::<Vec<_>>(), ["heap two with a", "heap one"]);
    assert!(others[0].1 >= 20 && others[1].1 >= 10, "{others:?}");
}

#[test]
fn calls_of_many_threads_in_any_order_are_read_as_they_are() {
    alone("process::turns");
}

/// The number of threads that take turns.
const THREADS: usize = 3;

#[test]
#[ignore = "run by `calls_of_many_threads_in_any_order_are_read_as_they_are`, as it must be alone"]
fn turns() {
    alone_now();
    let calls = prop::collection::vec((call(), 0..THREADS), 0..150);
    TestRunner::default()
        .run(&calls, |calls| {
            let (heap, by_thread, peak) = take_turns(calls);
            let mut sum = Figures::default();
            by_thread.iter().for_each(|figures| sum.add(*figures));
            prop_assert_eq!(heap.peak.bytes() as i64, peak);
            prop_assert_eq!(heap.retained.bytes() as i64, sum.live());
            prop_assert_eq!((heap.allocations, heap.allocated.bytes()), (sum.allocations, sum.allocated));
            prop_assert_eq!((heap.reallocations, heap.freed.bytes()), (sum.reallocations, sum.freed));
            prop_assert_eq!(heap.deallocations, sum.deallocations);
            for (number, figures) in by_thread.iter().enumerate() {
                let thread = heap.threads.iter().find(|thread| thread.name == format!("heap {number}"));
                let read = thread.map_or((0, 0, 0), |t| (t.allocations, t.allocated.bytes(), t.freed.bytes()));
                prop_assert_eq!(read, (figures.allocations, figures.allocated, figures.freed));
            }
            Ok(())
        })
        .unwrap();
}

/// Makes each call on its thread, one after the other; returns the readings, each thread's counts, and the peak.
fn take_turns(calls: Vec<(Call, usize)>) -> (HeapReadings, [Figures; THREADS], i64) {
    let (mut model, mut by_thread, mut live, mut peak) = (Model::default(), [Figures::default(); THREADS], 0, 0);
    for &(call, thread) in &calls {
        let change = model.step(call);
        by_thread[thread].add(change);
        live += change.live();
        peak = peak.max(live);
    }
    // A turn that nobody has: no thread continues before the scope is open, and none ends before it is closed.
    const BEFORE: usize = usize::MAX;
    const AFTER: usize = usize::MAX - 1;
    let shared = Arc::new((calls, Blocks::default(), AtomicUsize::new(BEFORE), AtomicUsize::new(0)));
    let wait = |turn: &AtomicUsize, until: usize| {
        while turn.load(Ordering::Acquire) != until {
            std::thread::yield_now();
        }
    };
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let shared = Arc::clone(&shared);
            let work = move || {
                let (calls, blocks, turn, ready) = &*shared;
                ready.fetch_add(1, Ordering::AcqRel);
                for (at, &(call, _)) in calls.iter().enumerate().filter(|(_, (_, thread))| *thread == number) {
                    wait(turn, at);
                    blocks.step(call);
                    turn.store(at + 1, Ordering::Release);
                }
                wait(turn, AFTER);
            };
            std::thread::Builder::new().name(format!("heap {number}")).spawn(work).unwrap()
        })
        .collect();
    let (calls, blocks, turn, ready) = &*shared;
    wait(ready, THREADS);
    let scope = Scope::process().unwrap();
    turn.store(0, Ordering::Release);
    wait(turn, calls.len());
    let heap = scope.finish();
    turn.store(AFTER, Ordering::Release);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    model.rest().for_each(|call| blocks.step(call));
    (heap, by_thread, peak)
}

#[test]
fn a_storm_of_threads_is_counted_in_bounded_room() {
    alone("process::storm");
}

#[test]
#[ignore = "run by `a_storm_of_threads_is_counted_in_bounded_room`, as it must be alone"]
fn storm() {
    alone_now();
    let scope = Scope::process().unwrap();
    for _ in 0..20 {
        std::thread::scope(|threads| {
            (0..10).for_each(|_| {
                threads.spawn(|| (0..50).for_each(|n| drop(black_box(Vec::<u8>::with_capacity(1000 + n)))));
            });
        });
    }
    let heap = scope.finish();
    assert!(heap.threads.len() <= 65 && heap.allocations >= 20 * 10 * 50, "{heap:?}");
    assert!(heap.threads.iter().any(|thread| thread.id.is_none() && thread.name == "further threads"), "{heap:?}");
    assert_eq!(heap.allocations, heap.threads.iter().map(|thread| thread.allocations).sum::<u64>());
    // The initial allocations of each thread are freed, whichever thread does it.
    assert!(heap.retained.bytes() < 16 << 10, "{heap:?}");
}

#[test]
fn a_scope_counts_nothing_of_a_thread_that_asks_not_to_be() {
    let scope = Scope::process().unwrap();
    let quiet = || uncounted(|| drop(black_box(vec![1u8; 1 << 20])));
    std::thread::Builder::new().name("heap quiet".to_owned()).spawn(quiet).unwrap().join().unwrap();
    let heap = scope.finish();
    let quiet = heap.threads.iter().find(|thread| thread.name == "heap quiet");
    assert!(quiet.is_none_or(|thread| thread.allocated.bytes() < 1 << 20), "{heap:?}");
}
