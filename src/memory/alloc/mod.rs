//! Exact figures of the heap: what a thread or the whole process allocates between two moments.
//!
//! [`Tracking`] stands before the allocator of a program and counts, as long as a [`Scope`] is open. A scope ends in
//! [`HeapReadings`]: the most bytes that were live at one time, what was live at its end, and how many calls there
//! were. Of one thread they are the same in every run of the same code, so that a test may gate at equality.
//!
//! ```
//! use plimsoll_memory::alloc::{Scope, Tracking};
//!
//! #[global_allocator]
//! static ALLOCATOR: Tracking = Tracking::new();
//!
//! let scope = Scope::thread()?;
//! let table = vec![0u64; 1000];
//! drop(table);
//! let heap = scope.finish();
//! assert_eq!((heap.peak.bytes(), heap.retained.bytes(), heap.allocations), (8000, 0, 1));
//! # Ok::<(), plimsoll_memory::alloc::HeapError>(())
//! ```
//!
//! What the figures mean:
//! - Bytes are those that were asked for (`Layout::size`), not what the allocator took for them.
//! - Live bytes count from the opening of the scope: they fall below zero if a scope frees what was allocated before
//!   it, and the peak and what is retained are then zero.
//! - A thread counts what it does itself. Memory that it gave to another thread, which freed it, stays retained here;
//!   memory that it freed for another is taken off. Over the process both come out even.
//! - `realloc` is one reallocation; the live bytes change by the difference, although both blocks exist for a moment
//!   if the allocator has to move one.
//! - A call that failed is not counted.
//!
//! Nothing here allocates or locks: a thread counts in cells of its own, and a scope over the process in atomics that
//! exist from the start. With no scope open, a call costs one load.

mod counts;
mod error;
mod process;
mod readings;
mod scope;
mod thread;
mod tracking;

pub use error::HeapError;
pub use readings::{HeapReadings, HeapScope, ThreadAllocations};
pub use scope::{Scope, is_tracking, uncounted};
pub use tracking::Tracking;
