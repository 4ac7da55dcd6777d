//! Shards: which share of a capture a process takes, and what each share holds.
//!
//! A launcher (Slurm, `mpirun`, torchrun, a CI service) starts the processes; [`detect`] reads from the launcher's
//! variables which one this is. [`Shares`] divides the entries of a capture by their bytes, identically in every
//! process. Nothing here starts, queues or schedules anything.

mod choice;
mod detect;
mod error;
mod launchers;
mod names;
mod shares;

pub use choice::{ParseShardError, ShardChoice};
pub use detect::{Found, Unused, detect};
pub use error::LauncherError;
pub use names::{NameError, expand};
pub use shares::Shares;
