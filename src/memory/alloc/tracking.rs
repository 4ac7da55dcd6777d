//! [`Tracking`]: a counting allocator.

use std::alloc::{GlobalAlloc, Layout, System};

use super::counts::Counts;
use super::thread::count;

/// Passes calls on to another allocator and counts them while a [`Scope`](super::Scope) is open.
///
/// ```
/// use plimsoll_memory::alloc::Tracking;
///
/// #[global_allocator]
/// static ALLOCATOR: Tracking = Tracking::new();
/// ```
///
/// `Tracking::wrap(MiMalloc)` wraps an allocator other than the system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracking<A = System> {
    inner: A,
}

impl Tracking {
    /// Wraps the system's allocator.
    pub const fn new() -> Self {
        Self { inner: System }
    }
}

impl<A> Tracking<A> {
    /// Wraps `inner`.
    pub const fn wrap(inner: A) -> Self {
        Self { inner }
    }

    /// The wrapped allocator.
    pub const fn inner(&self) -> &A {
        &self.inner
    }
}

const fn allocation(layout: Layout) -> Counts {
    Counts { allocations: 1, allocated: layout.size() as u64, ..Counts::ZERO }
}

// SAFETY: every call is passed to `inner` unchanged, which keeps the contract, and its result is returned unchanged.
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
        // Counted first, because another thread may get the block as soon as it is free.
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
