//! Scopes over one thread: exact whatever the other tests of this program do at the same time.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::mpsc;

use plimsoll::ByteSize;
use plimsoll::alloc::{HeapError, HeapReadings, HeapScope, Scope, is_tracking, uncounted};
use proptest::prelude::*;

use super::model::{Blocks, Call, Figures, Model, call};

fn bytes(n: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(n))
}

fn measure<T>(work: impl FnOnce() -> T) -> (T, HeapReadings) {
    let scope = Scope::thread().unwrap();
    let value = work();
    (value, scope.finish())
}

fn figures(heap: &HeapReadings) -> Figures {
    Figures {
        allocations: heap.allocations,
        reallocations: heap.reallocations,
        deallocations: heap.deallocations,
        allocated: heap.allocated.bytes(),
        freed: heap.freed.bytes(),
    }
}

#[test]
fn a_program_that_counts_is_told_from_one_that_does_not() {
    assert!(is_tracking());
    assert!(uncounted(is_tracking));
}

#[test]
fn every_call_is_counted_with_its_bytes() {
    let ((), heap) = measure(|| {
        let mut first = bytes(1000);
        let second = black_box(vec![0u8; 500]);
        first.reserve_exact(3000);
        drop(second);
        drop(first);
    });
    let expected = Figures { allocations: 2, reallocations: 1, deallocations: 2, allocated: 3500, freed: 3500 };
    assert_eq!((figures(&heap), heap.scope), (expected, HeapScope::Thread));
    assert_eq!((heap.peak, heap.retained), (ByteSize::new(3500), ByteSize::ZERO));
}

#[test]
fn the_same_code_gives_the_same_figures() {
    let work = || {
        let mut map = std::collections::BTreeMap::new();
        (0..1000u32).for_each(|n| drop(map.insert(n, n.to_string())));
        map.len()
    };
    let first = measure(work);
    assert!((0..20).all(|_| measure(work) == first));
    assert!(first.1.allocations > 1000);
}

#[test]
fn a_scope_counts_from_its_opening() {
    let before = bytes(10_000);
    let (kept, heap) = measure(|| {
        drop(before);
        bytes(4000)
    });
    assert_eq!((heap.peak, heap.retained), (ByteSize::ZERO, ByteSize::ZERO), "less is live than at the opening");
    assert_eq!((heap.allocated.bytes(), heap.freed.bytes()), (4000, 10_000));
    let ((), heap) = measure(|| drop(kept));
    assert_eq!((heap.deallocations, heap.retained), (1, ByteSize::ZERO));
}

#[test]
fn what_other_threads_do_is_theirs() {
    let (to, from) = mpsc::channel::<Vec<u8>>();
    let (back, done) = mpsc::channel();
    let other = std::thread::spawn(move || {
        let ((), heap) = measure(|| drop(from.recv().unwrap()));
        back.send(heap).unwrap();
    });
    let given = bytes(64 << 10);
    let scope = Scope::thread().unwrap();
    // Memory that is passed on stays with the thread that allocated it, and is subtracted where it is freed.
    let again = bytes(32 << 10);
    to.send(given).unwrap();
    let theirs = done.recv().unwrap();
    let ours = scope.finish();
    other.join().unwrap();
    assert!(ours.retained.bytes() >= 32 << 10 && ours.freed.bytes() < 64 << 10, "{ours:?}");
    assert!(theirs.freed.bytes() >= 64 << 10 && theirs.retained == ByteSize::ZERO, "{theirs:?}");
    drop(again);
}

#[test]
fn scopes_overlap_in_any_order() {
    let outer = Scope::thread().unwrap();
    let first = bytes(1000);
    let inner = Scope::thread().unwrap();
    drop(first);
    let second = bytes(200);
    let outer = outer.finish();
    let third = bytes(3000);
    let inner = inner.finish();
    assert_eq!((outer.peak.bytes(), outer.retained.bytes(), outer.allocations), (1000, 200, 2));
    assert_eq!((inner.peak.bytes(), inner.retained.bytes(), inner.allocations), (2200, 2200, 2));
    drop((second, third));
}

#[test]
fn a_peak_can_begin_anew() {
    let scope = Scope::thread().unwrap();
    drop(bytes(5000));
    let kept = bytes(100);
    assert_eq!(scope.readings().peak.bytes(), 5000);
    scope.restart_peak();
    assert_eq!(scope.readings().peak.bytes(), 100);
    drop(bytes(50));
    assert_eq!(scope.finish().peak.bytes(), 150);
    drop(kept);
}

#[test]
fn what_is_not_to_be_counted_is_not() {
    let ((), heap) = measure(|| uncounted(|| drop(bytes(1000))));
    assert_eq!(figures(&heap), Figures::default());
    let panicked = std::panic::catch_unwind(|| uncounted(|| std::panic::resume_unwind(Box::new(1))));
    let ((), heap) = measure(|| drop((panicked, bytes(10))));
    assert_eq!(heap.allocations, 1, "counting goes on after a panic");
}

#[test]
fn too_many_scopes_are_refused() {
    let mut scopes: Vec<Scope> = (0..16).map(|_| Scope::thread().unwrap()).collect();
    let refused = Scope::thread().unwrap_err();
    assert_eq!(refused, HeapError::TooManyScopes { open: 16, of: "thread" });
    drop(scopes.remove(7));
    let ((), heap) = measure(|| drop(bytes(7)));
    assert_eq!(heap.peak.bytes(), 7);
}

#[test]
fn a_thread_counts_until_its_last_destructor() {
    struct Late(mpsc::Sender<HeapReadings>);
    impl Drop for Late {
        fn drop(&mut self) {
            let ((), heap) = measure(|| drop(bytes(777)));
            self.0.send(heap).unwrap();
        }
    }
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let (to, from) = mpsc::channel();
    std::thread::spawn(|| LATE.set(Some(Late(to)))).join().unwrap();
    assert_eq!(from.recv().unwrap().peak.bytes(), 777);
}

/// A scope opened and closed somewhere in a sequence of calls, and its expected readings.
struct Open {
    scope: Scope,
    figures: Figures,
    peak: i64,
}

proptest! {
    #[test]
    fn any_calls_in_any_overlapping_scopes_are_read_as_they_are(
        calls in prop::collection::vec((call(), prop::option::of(0usize..4)), 0..200),
    ) {
        let (blocks, mut model) = (Blocks::default(), Model::default());
        let mut scopes: [Option<Open>; 4] = Default::default();
        let mut checked: Vec<(HeapReadings, Figures, i64)> = Vec::with_capacity(calls.len() + scopes.len());
        let mut close = |open: Open| checked.push((open.scope.finish(), open.figures, open.peak));
        for &(call, turn) in &calls {
            // Each turn of a scope opens it, or closes it if it is open.
            if let Some(at) = turn {
                match scopes[at].take() {
                    Some(open) => close(open),
                    None => {
                        let scope = Scope::thread().unwrap();
                        scopes[at] = Some(Open { scope, figures: Figures::default(), peak: 0 });
                    }
                }
            }
            let change = model.step(call);
            blocks.step(call);
            for open in scopes.iter_mut().flatten() {
                open.figures.add(change);
                open.peak = open.peak.max(open.figures.live());
            }
        }
        scopes.into_iter().flatten().for_each(&mut close);
        model.rest().for_each(|call| blocks.step(call));
        for (heap, expected, peak) in checked {
            prop_assert_eq!(figures(&heap), expected);
            prop_assert_eq!(heap.peak.bytes() as i64, peak);
            prop_assert_eq!(heap.retained.bytes() as i64, expected.live().max(0));
        }
    }
}

#[test]
fn the_model_can_fail() {
    let (mut model, mut sum) = (Model::default(), Figures::default());
    for call in [Call::Allocate { block: 1, size: 10, zeroed: true }, Call::Reallocate { block: 1, size: 4 }] {
        sum.add(model.step(call));
    }
    assert_eq!(sum, Figures { allocations: 1, reallocations: 1, deallocations: 0, allocated: 10, freed: 6 });
    assert_eq!(sum.live(), 4);
}
