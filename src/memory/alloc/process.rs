//! The counts of all threads, in static atomics.
//!
//! The live bytes of a scope are a single atomic. Its successive values are the true live bytes, so the largest of them
//! is the true peak. Everything else is counted per thread, each in its own cache line.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use super::counts::{Counts, closed, opened};
use super::error::HeapError;

/// Maximum number of open scopes over the process.
const SCOPES: usize = 8;
/// Maximum number of threads counted separately; further ones are counted together.
const THREADS: usize = 64;
/// The size of a thread's name in the kernel, including NUL.
const NAME: usize = 16;

/// The open scopes, one bit each.
static OPEN: AtomicU32 = AtomicU32::new(0);
/// The scopes in use, including those about to open or close.
static TAKEN: AtomicU32 = AtomicU32::new(0);
static SLOTS: [Slot; SCOPES] = [const { Slot::new() }; SCOPES];

struct Slot {
    live: AtomicI64,
    peak: AtomicI64,
    threads: [Entry; THREADS],
    further: Entry,
}

/// The counts of one thread; `id` is 0 if the entry is free.
#[repr(align(64))]
struct Entry {
    id: AtomicU32,
    name: [AtomicU64; NAME / 8],
    allocations: AtomicU64,
    reallocations: AtomicU64,
    deallocations: AtomicU64,
    allocated: AtomicU64,
    freed: AtomicU64,
}

/// The counts of one thread with its id, which is absent for threads counted together, and its name.
pub(super) struct ThreadCounts {
    pub(super) id: Option<u32>,
    pub(super) name: [u8; NAME],
    pub(super) counts: Counts,
}

/// The open scopes, one bit each.
#[inline]
pub(super) fn open() -> u32 {
    OPEN.load(Ordering::Relaxed)
}

/// Counts an allocator call of thread `id` in the scopes of `open`, which was read immediately before.
pub(super) fn count(change: &Counts, mut open: u32, id: u32) {
    // Pairs with the release in `begin`: whoever sees the bit also sees the zeros from which its scope counts. Starting
    // or joining a thread orders its calls relative to the scope; if a call merely overlaps the opening of a scope,
    // either answer is correct.
    fence(Ordering::Acquire);
    while open != 0 {
        SLOTS[open.trailing_zeros() as usize].count(change, id);
        open &= open - 1;
    }
}

impl Slot {
    const fn new() -> Self {
        Self {
            live: AtomicI64::new(0),
            peak: AtomicI64::new(0),
            threads: [const { Entry::new() }; THREADS],
            further: Entry::new(),
        }
    }

    fn count(&self, change: &Counts, id: u32) {
        let delta = change.live();
        // Relaxed ordering suffices: each atomic has one order of values, and no conclusion depends on two of them.
        let live = self.live.fetch_add(delta, Ordering::Relaxed).wrapping_add(delta);
        if live > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(live, Ordering::Relaxed);
        }
        self.entry(id).add(change);
    }

    /// The entry of a thread; claims a free one if it has none.
    fn entry(&self, id: u32) -> &Entry {
        let start = id as usize % THREADS;
        for entry in self.threads[start..].iter().chain(&self.threads[..start]) {
            match entry.id.load(Ordering::Relaxed) {
                taken if taken == id => return entry,
                0 => match entry.id.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        for (word, bytes) in entry.name.iter().zip(own_name().as_chunks().0) {
                            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
                        }
                        return entry;
                    }
                    // Only this thread claims an entry for its id, so another thread took this one.
                    Err(_) => continue,
                },
                _ => {}
            }
        }
        &self.further
    }

    fn clear(&self) {
        self.live.store(0, Ordering::Relaxed);
        self.peak.store(0, Ordering::Relaxed);
        self.threads.iter().chain([&self.further]).for_each(Entry::clear);
    }
}

impl Entry {
    const fn new() -> Self {
        Self {
            id: AtomicU32::new(0),
            name: [const { AtomicU64::new(0) }; NAME / 8],
            allocations: AtomicU64::new(0),
            reallocations: AtomicU64::new(0),
            deallocations: AtomicU64::new(0),
            allocated: AtomicU64::new(0),
            freed: AtomicU64::new(0),
        }
    }

    fn add(&self, change: &Counts) {
        for (total, more) in [
            (&self.allocations, change.allocations),
            (&self.reallocations, change.reallocations),
            (&self.deallocations, change.deallocations),
            (&self.allocated, change.allocated),
            (&self.freed, change.freed),
        ] {
            if more != 0 {
                total.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    fn counts(&self) -> Counts {
        let read = |total: &AtomicU64| total.load(Ordering::Relaxed);
        Counts {
            allocations: read(&self.allocations),
            reallocations: read(&self.reallocations),
            deallocations: read(&self.deallocations),
            allocated: read(&self.allocated),
            freed: read(&self.freed),
        }
    }

    fn name(&self) -> [u8; NAME] {
        let mut name = [0; NAME];
        for (bytes, word) in name.as_chunks_mut().0.iter_mut().zip(&self.name) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        name
    }

    fn clear(&self) {
        self.id.store(0, Ordering::Relaxed);
        let totals = [&self.allocations, &self.reallocations, &self.deallocations, &self.allocated, &self.freed];
        self.name.iter().chain(totals).for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// The name of this thread, found without allocating; zeros if the kernel reports none.
fn own_name() -> [u8; NAME] {
    let mut name = [0u8; NAME];
    // SAFETY: PR_GET_NAME writes at most 16 bytes to its second argument, which points to 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

/// Opens a scope over the process and returns its slot.
pub(super) fn begin() -> Result<usize, HeapError> {
    let mut taken = TAKEN.load(Ordering::Relaxed);
    let place = loop {
        let place = taken.trailing_ones() as usize;
        if place >= SCOPES {
            return Err(HeapError::TooManyScopes { open: SCOPES, of: "process" });
        }
        // Acquire: writes of the slot's previous scope come before the zeros of this one.
        match TAKEN.compare_exchange_weak(taken, taken | 1 << place, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => break place,
            Err(now) => taken = now,
        }
    };
    SLOTS[place].clear();
    opened();
    OPEN.fetch_or(1 << place, Ordering::Release);
    Ok(place)
}

/// The live bytes and the peak of the scope at `place`; passes each thread's counts to `take`.
pub(super) fn read(place: usize, take: &mut dyn FnMut(ThreadCounts)) -> (i64, i64) {
    let place = &SLOTS[place];
    let figures = (place.live.load(Ordering::Relaxed), place.peak.load(Ordering::Relaxed));
    for entry in &place.threads {
        let id = entry.id.load(Ordering::Relaxed);
        if id != 0 {
            take(ThreadCounts { id: Some(id), name: entry.name(), counts: entry.counts() });
        }
    }
    let counts = place.further.counts();
    if counts != Counts::ZERO {
        take(ThreadCounts { id: None, name: [0; NAME], counts });
    }
    figures
}

/// Restarts the peak of the scope at `place` from the present live bytes.
pub(super) fn restart_peak(place: usize) {
    SLOTS[place].peak.store(SLOTS[place].live.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Stops counting at `place`.
pub(super) fn stop(place: usize) {
    if OPEN.fetch_and(!(1 << place), Ordering::Relaxed) & 1 << place != 0 {
        closed();
    }
}

/// Frees `place` for another scope.
pub(super) fn release(place: usize) {
    TAKEN.fetch_and(!(1 << place), Ordering::Release);
}
