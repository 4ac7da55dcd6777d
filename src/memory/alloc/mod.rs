//! Exact heap figures: what a thread or the whole process allocates between two moments.
//!
//! [`Tracking`] wraps a program's allocator and counts while a [`Scope`] is open. A scope ends with [`HeapReadings`]:
//! the most bytes that were live at one time, the bytes live at its end, and the number of calls. For one thread they
//! are equal in every run of the same code, so a test can require exact values.
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
//! Meaning of the figures:
//! - Bytes are those requested (`Layout::size`), not those that the allocator used for them.
//! - Live bytes count from the opening of the scope. If a scope frees memory allocated before it, they fall below zero;
//!   peak and retained bytes are then reported as zero.
//! - A thread counts its own calls. Memory that it passed to another thread, which freed it, stays retained here;
//!   memory that it freed for another thread is subtracted. Over the whole process both balance.
//! - `realloc` is one reallocation that changes live bytes by the difference, although both blocks exist for a moment
//!   if the allocator has to move one.
//! - A failed call is not counted.
//!
//! Counting neither allocates nor locks: a thread counts in its own cells, and a scope over the process in static
//! atomics. Without an open scope, a call costs one load.

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
