//! [`Counts`]: what allocator calls change, and whether anybody counts them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The changes made by one allocator call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) allocations: u64,
    pub(super) reallocations: u64,
    pub(super) deallocations: u64,
    pub(super) allocated: u64,
    pub(super) freed: u64,
}

impl Counts {
    pub(super) const ZERO: Self = Self { allocations: 0, reallocations: 0, deallocations: 0, allocated: 0, freed: 0 };

    /// The change of live bytes. No real amount of memory reaches 2^63.
    pub(super) const fn live(&self) -> i64 {
        self.allocated.wrapping_sub(self.freed) as i64
    }

    pub(super) const fn plus(&self, other: &Self) -> Self {
        Self {
            allocations: self.allocations.wrapping_add(other.allocations),
            reallocations: self.reallocations.wrapping_add(other.reallocations),
            deallocations: self.deallocations.wrapping_add(other.deallocations),
            allocated: self.allocated.wrapping_add(other.allocated),
            freed: self.freed.wrapping_add(other.freed),
        }
    }

    pub(super) const fn since(&self, before: &Self) -> Self {
        Self {
            allocations: self.allocations.wrapping_sub(before.allocations),
            reallocations: self.reallocations.wrapping_sub(before.reallocations),
            deallocations: self.deallocations.wrapping_sub(before.deallocations),
            allocated: self.allocated.wrapping_sub(before.allocated),
            freed: self.freed.wrapping_sub(before.freed),
        }
    }
}

/// The number of open scopes, over any thread or the process.
///
/// Relaxed ordering suffices: a thread sees the scopes that it opened itself and those opened before it started or
/// before another thread synchronized with it. If a call merely overlaps the opening of a scope, either answer is
/// correct.
static ANY: AtomicUsize = AtomicUsize::new(0);

/// Called when a scope opens.
pub(super) fn opened() {
    ANY.fetch_add(1, Ordering::Relaxed);
}

/// Called when a scope has closed.
pub(super) fn closed() {
    ANY.fetch_sub(1, Ordering::Relaxed);
}

/// Whether any scope is open.
#[inline]
pub(super) fn is_any_open() -> bool {
    ANY.load(Ordering::Relaxed) != 0
}
