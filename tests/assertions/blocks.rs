//! A block is not a closure: code can leave it early, borrow from around it, and nest in it.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use plimsoll::assert::MemoryGuard;
use plimsoll::{ByteSize, assert_memory, debug_assert_memory};

use super::{panic_of, touch};

const ROOM: &str = "64 MiB";

#[test]
fn a_block_gives_its_value() {
    let mut log = Vec::new();
    let (sum, text) = assert_memory!(peak_rss_growth <= ROOM, retained_rss <= "16 MiB", {
        log.push("in the block");
        (1 + 1, String::from("moved out"))
    });
    assert_eq!((sum, text.as_str(), log.len()), (2, "moved out", 1));
    let borrowed: &str = assert_memory!(peak_rss_growth <= ROOM, { log[0] });
    assert_eq!(borrowed, "in the block");
    assert_memory!(peak_rss_growth <= ROOM, {});
}

#[test]
fn limits_are_texts_amounts_and_numbers_constant_or_not() {
    let (mib, text) = (64u64, format!("{} MiB", 8 * 8));
    assert_memory!(
        peak_rss_growth <= ByteSize::mib(mib),
        peak_anon_growth <= mib << 20,
        peak_rss <= 16 * 1024 * 1024 * 1024,
        peak_shmem <= text.as_str(),
        peak_file <= 0x4000_0000,
        swap_growth <= "1 GiB",
        available_floor >= "1 MiB",
        { drop(touch(1)) },
        "with a message of {mib}",
    );
    let text = "64 MB of it";
    let refused = panic_of(|| assert_memory!(peak_rss <= text, {}));
    assert!(refused.starts_with("assert_memory!: the limit of peak_rss: `64 MB of it` is not an amount"), "{refused}");
}

fn early(fail: bool, mib: u64) -> Result<u64, std::num::ParseIntError> {
    let value = assert_memory!(peak_rss_growth <= ROOM, {
        drop(touch(mib));
        if fail { "no number".parse::<u64>()? } else { 7 }
    });
    Ok(value + 1)
}

#[test]
fn a_block_that_is_left_early_is_judged_as_well() {
    assert_eq!(early(false, 1), Ok(8));
    assert!(early(true, 1).is_err());
    for fail in [false, true] {
        let message = panic_of(|| early(fail, 100));
        assert!(
            message.contains("above its ceiling of 64.00 MiB") && message.contains("tests/assertions/blocks.rs"),
            "{message}"
        );
    }
}

#[test]
fn control_flow_goes_through_a_block() {
    fn returns() -> u32 {
        assert_memory!(peak_rss_growth <= ROOM, { return 5 })
    }
    let mut rounds = 0;
    let found = 'search: loop {
        assert_memory!(peak_rss_growth <= ROOM, {
            rounds += 1;
            if rounds < 3 {
                continue;
            }
            break 'search rounds;
        });
    };
    assert_eq!((returns(), found), (5, 3));
}

#[test]
fn a_panic_goes_on_and_leaves_everything_usable() {
    let message =
        std::panic::catch_unwind(|| assert_memory!(peak_rss_growth <= "0 B", { panic!("of the block's own") }));
    assert_eq!(message.err().unwrap().downcast_ref::<&str>(), Some(&"of the block's own"));
    assert_memory!(peak_rss_growth <= ROOM, { drop(touch(1)) });
    panic_of(|| assert_memory!(peak_rss_growth <= "1 MiB", { drop(touch(20)) }));
    assert_memory!(peak_rss_growth <= ROOM, { drop(touch(1)) });
}

/// Pending once.
struct Later(bool);

impl Future for Later {
    type Output = u32;
    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(3);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[test]
fn a_block_may_await() {
    let mut future = pin!(async { assert_memory!(peak_rss_growth <= ROOM, { Later(false).await + 1 }) });
    let mut context = Context::from_waker(Waker::noop());
    let value = loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            break value;
        }
    };
    assert_eq!(value, 4);
}

#[test]
fn blocks_within_blocks_are_both_judged() {
    let outer = MemoryGuard::begin(limits("peak_rss_growth = 8 MiB"));
    // The outer block does not lose the spike before the inner block begins.
    drop(touch(24));
    let inner = assert_memory!(peak_rss_growth <= "20 MiB", { touch(12).len() });
    let outer = outer.finish();
    let verdict = &outer.verdicts[0];
    let reading = verdict.reading.as_ref().unwrap();
    assert!(!outer.passed() && inner == 12 << 20);
    assert!((ByteSize::mib(23)..ByteSize::mib(30)).contains(&reading.bytes), "{reading:?}");
    assert_eq!(reading.source, plimsoll::meter::Source::LowerBound);
    assert!(outer.notes.iter().any(|note| note.contains("a block within this one reset the high-water mark")));
}

// Runs in its own process, because the threads that it starts have no test's name.
#[plimsoll::test]
fn blocks_of_two_threads_wait_for_each_other() {
    static WITHIN: AtomicU32 = AtomicU32::new(0);
    let work = || {
        for _ in 0..4 {
            assert_memory!(peak_rss_growth <= "30 MiB", {
                assert_eq!(WITHIN.fetch_add(1, Ordering::SeqCst), 0, "another is measured");
                drop(touch(20));
                WITHIN.fetch_sub(1, Ordering::SeqCst);
            });
        }
    };
    std::thread::scope(|threads| {
        threads.spawn(work);
        threads.spawn(work);
    });
}

#[test]
fn a_guard_that_is_dropped_judges() {
    let message = panic_of(|| {
        let _guard = MemoryGuard::begin(limits("peak_rss_growth = 1 MiB"));
        drop(touch(20));
    });
    assert!(message.contains("above its ceiling of 1.00 MiB"), "{message}");
    MemoryGuard::begin(limits("peak_rss_growth = 64 MiB")).judge();
}

#[test]
fn a_debug_assertion_is_one_only_where_they_are_on() {
    let evaluated = AtomicU32::new(0);
    let limit = || {
        evaluated.fetch_add(1, Ordering::Relaxed);
        ByteSize::mib(64)
    };
    assert_eq!(debug_assert_memory!(peak_rss_growth <= limit(), { 9 }), 9);
    assert_eq!(evaluated.load(Ordering::Relaxed) == 1, cfg!(debug_assertions));
    let broken = std::panic::catch_unwind(|| debug_assert_memory!(peak_rss_growth <= "1 MiB", { drop(touch(20)) }));
    assert_eq!(broken.is_err(), cfg!(debug_assertions));
}

fn limits(text: &str) -> plimsoll::assert::Limits {
    text.parse().unwrap()
}
