//! [`Scope`]: counts allocations while it exists.

use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::counts::Counts;
use super::error::HeapError;
use super::process::{self, ThreadCounts};
use super::readings::{HeapReadings, HeapScope, ThreadAllocations};
use super::thread;
use crate::bytes::ByteSize;

pub use super::thread::uncounted;

/// Counts what one thread or all threads allocate while it exists. Scopes may overlap in any order.
///
/// A scope belongs to the thread that opened it.
#[derive(Debug)]
#[must_use = "a scope that is dropped at once counts nothing"]
pub struct Scope {
    place: Extent,
    not_send: PhantomData<*const ()>,
}

#[derive(Debug)]
enum Extent {
    Thread { place: usize, before: Counts },
    Process { place: usize },
}

impl Scope {
    /// Opens a scope over this thread. Its figures are exact, and equal in every run of the same code.
    ///
    /// # Errors
    /// [`HeapError`] if the program's allocator is not [`Tracking`](super::Tracking), or if 16 scopes are open.
    pub fn thread() -> Result<Self, HeapError> {
        tracking()?;
        let (place, before) = thread::open()?;
        Ok(Self { place: Extent::Thread { place, before }, not_send: PhantomData })
    }

    /// Opens a scope over every thread of the process. Its figures are exact, and as deterministic as the threads are.
    ///
    /// # Errors
    /// [`HeapError`] if the program's allocator is not [`Tracking`](super::Tracking), or if 8 scopes are open.
    pub fn process() -> Result<Self, HeapError> {
        tracking()?;
        Ok(Self { place: Extent::Process { place: process::begin()? }, not_send: PhantomData })
    }

    /// The counts so far.
    pub fn readings(&self) -> HeapReadings {
        match &self.place {
            Extent::Thread { place, before } => {
                let (counts, peak) = thread::read(*place);
                let peak = peak.saturating_sub(before.live());
                let counts = counts.since(before);
                readings(HeapScope::Thread, &counts, counts.live(), peak, Vec::new())
            }
            Extent::Process { place } => {
                let (mut counts, mut threads) = (Counts::ZERO, Vec::new());
                // The list itself is not counted: it would change the counts of the threads read after it.
                let (live, peak) = process::read(*place, &mut |thread| {
                    counts = counts.plus(&thread.counts);
                    uncounted(|| threads.push(thread));
                });
                let threads = uncounted(|| {
                    let mut threads: Vec<_> = threads.into_iter().map(thread_allocations).collect();
                    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.allocated), thread.id));
                    threads
                });
                readings(HeapScope::Process, &counts, live, peak, threads)
            }
        }
    }

    /// Restarts the peak from the present live bytes; it remains relative to those at the opening.
    pub fn restart_peak(&self) {
        match self.place {
            Extent::Thread { place, .. } => thread::restart_peak(place),
            Extent::Process { place } => process::restart_peak(place),
        }
    }

    /// Ends the scope and returns its counts.
    pub fn finish(self) -> HeapReadings {
        if let Extent::Process { place } = self.place {
            process::stop(place);
        }
        self.readings()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        match self.place {
            Extent::Thread { place, .. } => thread::close(place),
            Extent::Process { place } => {
                process::stop(place);
                process::release(place);
            }
        }
    }
}

fn readings(scope: HeapScope, counts: &Counts, live: i64, peak: i64, threads: Vec<ThreadAllocations>) -> HeapReadings {
    let or_zero = |bytes: i64| ByteSize::new(u64::try_from(bytes).unwrap_or(0));
    HeapReadings {
        scope,
        peak: or_zero(peak),
        retained: or_zero(live),
        allocations: counts.allocations,
        reallocations: counts.reallocations,
        deallocations: counts.deallocations,
        allocated: ByteSize::new(counts.allocated),
        freed: ByteSize::new(counts.freed),
        threads,
    }
}

fn thread_allocations(thread: ThreadCounts) -> ThreadAllocations {
    let name = thread.name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = match thread.id {
        Some(_) => String::from_utf8_lossy(name).into_owned(),
        None => "further threads".to_owned(),
    };
    ThreadAllocations {
        id: thread.id,
        name,
        allocations: thread.counts.allocations,
        allocated: ByteSize::new(thread.counts.allocated),
        freed: ByteSize::new(thread.counts.freed),
    }
}

/// Whether the program's allocator is [`Tracking`](super::Tracking) or wraps it, tested by allocating.
pub fn is_tracking() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| thread::is_counted(|| drop(black_box(Box::new(black_box(1u64))))))
}

fn tracking() -> Result<(), HeapError> {
    if is_tracking() { Ok(()) } else { Err(HeapError::NotTracking) }
}
