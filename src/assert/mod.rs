//! Ceilings in tests: of a block in this process, and what a broken one says.
//!
//! [`phase`] names what a test does, for the timeline and for verdicts.

mod phase;

pub use phase::{Installed, Sink, install, install_on_thread, phase};
