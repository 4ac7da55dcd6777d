//! The counts of one thread, in its own cells.

use std::cell::Cell;

use super::counts::{Counts, closed, is_any_open, opened};
use super::error::HeapError;
use super::process;

/// Maximum number of open scopes over one thread.
pub(super) const SCOPES: usize = 16;
/// The bit of `open` that tests whether anything is counted.
const PROBE: u32 = 1 << 31;

/// The cells of a thread. They have a constant initial value and no destructor, so they are valid from the thread's
/// first allocation to its last, including those in other destructors.
struct Thread {
    /// The open scopes, one bit each.
    open: Cell<u32>,
    /// The nesting depth of [`uncounted`] calls.
    uncounted: Cell<u32>,
    /// The kernel's id for it; 0 until somebody asks.
    id: Cell<u32>,
    counts: Cell<Counts>,
    /// The most live bytes since each scope opened.
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

/// Counts an allocator call on this thread, if a scope is open.
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

/// Runs `work` without counting what this thread allocates and frees during it. Memory allocated in it should be freed
/// in it; otherwise the live bytes of an open scope become wrong.
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

/// Whether the allocations of `work` are counted.
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

/// Opens a scope over this thread; returns its slot and the counts before it.
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

/// The counts of this thread, and the most live bytes of the scope at `place`.
pub(super) fn read(place: usize) -> (Counts, i64) {
    THREAD.with(|thread| (thread.counts.get(), thread.peaks[place].get()))
}

/// Restarts the peak of the scope at `place` from the present live bytes.
pub(super) fn restart_peak(place: usize) {
    THREAD.with(|thread| thread.peaks[place].set(thread.counts.get().live()));
}

pub(super) fn close(place: usize) {
    THREAD.with(|thread| thread.open.set(thread.open.get() & !(1 << place)));
    closed();
}
