//! Ceilings in tests: for a block in this process or for a whole test in a process of its own, and the failure message.
//!
//! [`assert_memory!`](crate::assert_memory) measures a block, [`MemoryGuard`] code that is not a block.
//! `#[plimsoll::test]` expands to [`isolated`]. [`phase`] names what a test is doing, for the timeline and the
//! verdicts. [`failure`](fn@failure) is the message of a test or block that broke a limit: a summary first, details
//! below.
//!
//! Figures that judge a block are exact if the kernel or the allocator counts them; otherwise the message says so. A
//! limit on a figure that could not be read counts as broken and is never skipped.

mod alone;
mod block;
mod counted;
mod failure;
mod guard;
pub mod isolated;
mod limits;
mod macros;
mod measured;
pub mod metrics;
mod others;
mod phase;
mod runner;
mod test_run;
mod turn;
mod wire;

pub use counted::{HeapCounter, HeapLimit, HeapVerdict, ParseHeapCounterError, judge_heap};
pub use failure::{Failure, failure};
pub use guard::MemoryGuard;
pub use limits::{Amount, Limit, LimitError, Limits};
pub use measured::Measured;
pub use phase::{Installed, Sink, install, install_on_thread, phase};
pub use test_run::{Keeper, RECORD_DIR, TestRun};
