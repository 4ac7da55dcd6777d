//! [`Tracking`]: an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};

use super::counts::Counts;
use super::thread::count;

/// An allocator that counts what passes through it to another, as long as a [`Scope`](super::Scope) is open.
///
/// ```
/// use plimsoll_memory::alloc::Tracking;
///
/// #[global_allocator]
/// static ALLOCATOR: Tracking = Tracking::new();
/// ```
///
/// `Tracking::wrap(MiMalloc)` counts before an allocator of another kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracking<A = System> {
    inner: A,
}

impl Tracking {
    /// Counts before the system's allocator.
    pub const fn new() -> Self {
        Self { inner: System }
    }
}

impl<A> Tracking<A> {
    /// Counts before `inner`.
    pub const fn wrap(inner: A) -> Self {
        Self { inner }
    }

    /// The allocator behind it.
    pub const fn inner(&self) -> &A {
        &self.inner
    }
}

const fn allocation(layout: Layout) -> Counts {
    Counts { allocations: 1, allocated: layout.size() as u64, ..Counts::ZERO }
}

// SAFETY: every call goes to `inner` as it came, which keeps the contract, and what `inner` gives is given on unchanged.
// Counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Tracking<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.inner.alloc(layout) };
        if !block.is_null() {
            count(allocation(layout));
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if !block.is_null() {
            count(allocation(layout));
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Counted before, for as soon as it is free another thread may have it.
        count(Counts { deallocations: 1, freed: layout.size() as u64, ..Counts::ZERO });
        // SAFETY: the caller keeps the contract.
        unsafe { self.inner.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        let moved = unsafe { self.inner.realloc(block, layout, size) };
        if !moved.is_null() {
            count(Counts {
                reallocations: 1,
                allocated: size.saturating_sub(layout.size()) as u64,
                freed: layout.size().saturating_sub(size) as u64,
                ..Counts::ZERO
            });
        }
        moved
    }
}
