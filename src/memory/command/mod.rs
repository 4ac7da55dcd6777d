//! Runs a command's process tree under the meter: judges and optionally enforces its ceilings, applies its timeout, and
//! reports how it ended.
//!
//! [`Metered`] starts a command, [`Running`] waits for it, [`Ended`] has its readings and its end. Guarantees:
//! - The child waits at a latch between fork and exec until the meter is ready, and is read before the first
//!   instruction of its program. Nothing of it goes unmeasured, however short it is.
//! - The peak of a single process is exact to its very end. `ru_maxrss`, which the kernel keeps until the process is
//!   reaped, is its largest resident set if it exceeds what the child had inherited at the latch. Otherwise the reading
//!   is the last sampled `VmHWM`, and is marked accordingly.
//! - At the timeout or an enforced ceiling the whole tree is killed, and so is whatever a tree leaves running when its
//!   root ends. No process and no zombie is left.
//! - "Killed at the ceiling" is never confused with a kill by others: Plimsoll knows the signals it sent, and reports
//!   an out-of-memory kill only if a counter of the kernel shows it.

mod end;
mod enforcement;
mod error;
mod exec_stop;
mod forked;
mod kernel_log;
mod marks;
mod metered;
mod oom;
#[cfg(feature = "phase-lines")]
mod output;
mod repeat;
mod root;
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
