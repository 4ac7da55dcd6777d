//! Ceilings in tests: of a block in this process, and what a broken one says.
//!
//! [`phase`] names what a test does, for the timeline and for verdicts. [`failure`](fn@failure) is the message of a test
//! or block whose ceilings do not hold.

mod counted;
mod failure;
pub mod isolated;
mod keep;
mod phase;

pub use counted::{HeapCounter, HeapLimit, HeapVerdict, ParseHeapCounterError, judge_heap};
pub use failure::{Failure, failure};
pub use keep::{RECORD_DIR, keep_record};
pub use phase::{Installed, Sink, install, install_on_thread, phase};
