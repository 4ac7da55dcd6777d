//! Shards: which share of a capture a process takes, and what each share holds.
//!
//! A launcher (Slurm, `mpirun`, torchrun, a CI service) starts the processes; [`detect`] reads which of them this one is from
//! the variables that the launcher set. [`Shares`] deals the entries of a capture out, by their bytes, in the same way in
//! every process. Nothing here starts, queues or schedules anything.

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
