//! What one thread has counted, in cells of its own.

use std::cell::Cell;

use super::counts::{Counts, closed, is_any_open, opened};
use super::error::HeapError;
use super::process;

/// So many scopes over one thread can be open at once.
pub(super) const SCOPES: usize = 16;
/// The bit of `open` by which it is found out whether anything is counted at all.
const PROBE: u32 = 1 << 31;

/// The cells of a thread. They have no destructor and a constant beginning, so that they stand from the first
/// allocation of the thread to its last, that of other destructors included.
struct Thread {
    /// One bit a scope that is open.
    open: Cell<u32>,
    /// How many calls of [`uncounted`] the thread is in.
    uncounted: Cell<u32>,
    /// The id that the kernel gave it; 0 as long as nobody asked.
    id: Cell<u32>,
    counts: Cell<Counts>,
    /// The most live bytes since each scope was opened.
    peaks: [Cell<i64>; SCOPES],
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            open: Cell::new(0),
            uncounted: Cell::new(0),
            id: Cell::new(0),
            counts: Cell::new(Counts::ZERO),
            peaks: [const { Cell::new(0) }; SCOPES],
        }
    };
}

/// Counts a call of the allocator on this thread, if a scope is open.
#[inline]
pub(super) fn count(change: Counts) {
    if !is_any_open() {
        return;
    }
    THREAD.with(|thread| {
        let everywhere = process::open();
        if thread.open.get() | everywhere != 0 && thread.uncounted.get() == 0 {
            thread.count(&change, everywhere);
        }
    });
}

impl Thread {
    #[inline(never)]
    fn count(&self, change: &Counts, everywhere: u32) {
        let mut open = self.open.get();
        if open != 0 {
            let counts = self.counts.get().plus(change);
            self.counts.set(counts);
            open &= !PROBE;
            while open != 0 {
                let peak = &self.peaks[open.trailing_zeros() as usize];
                peak.set(peak.get().max(counts.live()));
                open &= open - 1;
            }
        }
        if everywhere != 0 {
            process::count(change, everywhere, self.id());
        }
    }

    fn id(&self) -> u32 {
        if self.id.get() == 0 {
            self.id.set(crate::thread::id());
        }
        self.id.get()
    }
}

/// Does `work` without counting what this thread allocates and frees meanwhile. What is allocated in it should be freed
/// in it, or else the live bytes of an open scope no longer come out even.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            THREAD.with(|thread| thread.uncounted.set(thread.uncounted.get() - 1));
        }
    }
    THREAD.with(|thread| thread.uncounted.set(thread.uncounted.get() + 1));
    let _again = Again;
    work()
}

/// Whether `work`, which allocates, is counted.
pub(super) fn is_counted(work: impl FnOnce()) -> bool {
    THREAD.with(|thread| {
        let (open, uncounted, before) = (thread.open.get(), thread.uncounted.replace(0), thread.counts.get());
        thread.open.set(open | PROBE);
        opened();
        work();
        closed();
        thread.open.set(open);
        thread.uncounted.set(uncounted);
        thread.counts.get() != before
    })
}

/// Opens a scope over this thread: its place, and what was counted before.
pub(super) fn open() -> Result<(usize, Counts), HeapError> {
    THREAD.with(|thread| {
        let open = thread.open.get();
        let place = open.trailing_ones() as usize;
        if place >= SCOPES {
            return Err(HeapError::TooManyScopes { open: SCOPES, of: "thread" });
        }
        let counts = thread.counts.get();
        thread.peaks[place].set(counts.live());
        thread.open.set(open | 1 << place);
        opened();
        Ok((place, counts))
    })
}

/// What this thread has counted, and the most live bytes of the scope at `place`.
pub(super) fn read(place: usize) -> (Counts, i64) {
    THREAD.with(|thread| (thread.counts.get(), thread.peaks[place].get()))
}

/// The peak of the scope at `place` begins anew at the live bytes of now.
pub(super) fn restart_peak(place: usize) {
    THREAD.with(|thread| thread.peaks[place].set(thread.counts.get().live()));
}

pub(super) fn close(place: usize) {
    THREAD.with(|thread| thread.open.set(thread.open.get() & !(1 << place)));
    closed();
}
