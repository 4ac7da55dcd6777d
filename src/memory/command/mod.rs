//! A command's process tree under the meter: its ceilings judged and, if asked for, enforced; its timeout; its end,
//! typed.
//!
//! [`Metered`] starts a command, [`Running`] is waited for, [`Ended`] says what was read and how it ended. What holds:
//! - The child waits at a latch between fork and exec until the meter is in place, and is looked at before the first
//!   instruction of its program, so that nothing of it is unmetered, however short it is.
//! - The peak of one process alone is exact to its very end: `ru_maxrss` of the ended process, which is kept until it is
//!   reaped, is its own largest resident set if it is above what the child had inherited at the latch. Where it is
//!   not, the reading is the last `VmHWM` that was sampled, and says so.
//! - At its timeout or a ceiling that is enforced the whole tree is killed, and what a tree leaves running when its root
//!   ends is killed as well: nothing of it is left, neither a process nor an entry that waits to be reaped.
//! - "Killed at the ceiling" is never confused with a kill by others: what was sent from here is known, and an
//!   out-of-memory kill is only called one if a counter of the kernel shows it.

mod end;
mod enforcement;
mod error;
mod exec_stop;
mod kernel_log;
mod marks;
mod metered;
mod oom;
#[cfg(feature = "phase-lines")]
mod output;
mod repeat;
mod running;
mod signal;
mod slurm;
mod start_latch;
#[cfg(test)]
mod tests;
mod tree;
mod wait;

pub use end::{EndCause, ProcessEnd};
pub use enforcement::Enforcement;
pub use error::CommandError;
pub use kernel_log::KernelLog;
#[cfg(feature = "phase-lines")]
pub use marks::PhaseLines;
pub use marks::{MARKS, MAX_PHASES, MarkError, MarkPipe, MarkSocket, mark};
pub use metered::Metered;
#[cfg(feature = "phase-lines")]
pub use output::{OutputTap, OutputWatch};
pub use repeat::Repeats;
pub use running::{Ended, Running, Step};
pub use signal::Signal;
pub use slurm::SlurmStep;
pub use tree::{end_children, end_children_but};
