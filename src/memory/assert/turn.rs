//! [`Turn`]: lets one block of a process measure at a time, because each would see the memory of the others as its own.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::meter::{is_gone, processor_time};

/// A thread that has its turn but has not run for this long may be waiting, in its block, for the thread that waits for
/// the turn.
const WAIT_FOR_TURN: Duration = Duration::from_secs(60);
/// How often the thread that has its turn is checked.
const LOOK: Duration = Duration::from_secs(1);

/// The kernel's id of the thread that has its turn.
static HOLDER: Mutex<Option<u32>> = Mutex::new(None);
static FREE: Condvar = Condvar::new();

thread_local! {
    /// The number of nested turns of this thread.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// The turn of this thread. A nested block of the same thread shares the outer block's turn.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whether the thread gave up waiting and measures beside another one.
    pub(super) beside_another: bool,
    not_send: PhantomData<*const ()>,
}

impl Turn {
    /// Waits for the turn.
    pub(super) fn wait() -> Self {
        let within = HELD.get() > 0;
        let beside_another = !within && !wait(&mut Patience::default(), WAIT_FOR_TURN, LOOK);
        if !beside_another {
            HELD.set(HELD.get() + 1);
        }
        Self { beside_another, not_send: PhantomData }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.beside_another {
            return;
        }
        HELD.set(HELD.get() - 1);
        if HELD.get() == 0 {
            *holder() = None;
            FREE.notify_one();
        }
    }
}

/// How long the thread that has its turn has not run.
#[derive(Default)]
struct Patience {
    seen: Option<(u32, Option<Duration>, Instant)>,
}

impl Patience {
    fn is_over(&mut self, holder: u32, patience: Duration) -> bool {
        let ran = processor_time(holder);
        match self.seen {
            Some((before, had_run, since)) if (before, had_run) == (holder, ran) => since.elapsed() >= patience,
            _ => {
                self.seen = Some((holder, ran, Instant::now()));
                false
            }
        }
    }
}

/// Takes the turn; `false` if waiting was given up.
fn wait(seen: &mut Patience, patience: Duration, look: Duration) -> bool {
    let mut taken = holder();
    loop {
        // A thread that leaked its guard has ended with its turn.
        let Some(other) = taken.filter(|&other| !is_gone(other)) else {
            *taken = Some(crate::thread::id());
            return true;
        };
        if seen.is_over(other, patience) {
            return false;
        }
        taken = FREE.wait_timeout(taken, look).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// A panic cannot leave the guarded value inconsistent.
fn holder() -> MutexGuard<'static, Option<u32>> {
    HOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn turns_are_taken_one_after_the_other_and_within_one_another() {
        let outer = Turn::wait();
        let inner = Turn::wait();
        let (to, from) = mpsc::channel();
        let other = std::thread::spawn(move || {
            let turn = Turn::wait();
            to.send(turn.beside_another).unwrap();
        });
        drop(outer);
        // The inner one still has it: guards may end in any order.
        assert!(from.recv_timeout(Duration::from_millis(50)).is_err());
        drop(inner);
        assert!(!from.recv().unwrap());
        other.join().unwrap();

        // Detects a thread that waits for one which waits for the turn, because it does not run.
        let turn = Turn::wait();
        let waits = || wait(&mut Patience::default(), Duration::from_millis(50), Duration::from_millis(5));
        assert!(!std::thread::spawn(waits).join().unwrap());
        drop(turn);

        // A thread that ends with its turn releases it.
        std::thread::spawn(|| std::mem::forget(Turn::wait())).join().unwrap();
        assert!(!Turn::wait().beside_another);
    }
}
