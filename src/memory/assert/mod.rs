//! Ceilings in tests: of a block in this process, of a whole test in a process of its own, and what a broken one says.
//!
//! [`assert_memory!`](crate::assert_memory) measures a block, [`MemoryGuard`] code that is not a block. [`isolated`] is
//! what `#[plimsoll::test]` stands for. [`phase`] names what a
//! test does, for the timeline and for verdicts. [`failure`](fn@failure) is the message of a test or block whose limits do
//! not all hold: the short of it first, the details below.
//!
//! What a block is judged by is exact if the kernel or the allocator counts, and else says so. A limit on what could
//! not be read is broken, never passed over.

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
