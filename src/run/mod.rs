//! Runs: validate, release, profile, written once over a [`Launcher`].
//!
//! ```text
//! manifest (headers only) -> validate: launch, judge, one entry resident at a time -> release: worker gone, memory back
//!                         -> profile: batches under the byte cap, each entry timed by itself -> verdicts -> record
//! ```
//!
//! [`versus()`] does this for two kernels, and times them in turns instead of batches. [`Check`] is all of it for a
//! test: it starts the meter, launches kernels in this process or in workers, and returns a [`Report`].
//!
//! A launcher runs the kernel; this module judges the results. The failure of one entry is the typed result of that
//! entry: every record has a result for every entry of the capture.

mod audit;
mod audited;
mod check;
mod checksums;
mod document;
mod entries;
mod error;
mod facade;
mod honesty;
mod in_process;
mod judge;
mod launcher;
mod manifest;
mod node;
mod observer;
mod operators;
mod options;
mod output;
mod overhead;
mod placement;
mod plan;
mod profile;
mod session;
mod side;
mod validate;
pub(crate) mod verdicts;
pub(crate) mod versus;
mod watch;

pub use check::{Check, Launch, NoKernel, Report, Role, RunContext};
pub use error::RunError;
pub use facade::Validation;
pub use in_process::InProcess;
pub use launcher::{
    Audited, Contents, Job, LaunchError, Launched, Launcher, Launchers, Patch, Region, Span, Timed, Wanted,
};
pub use observer::{Observer, Phase};
pub use options::{AuditOptions, DEFAULT_PAIRS, Options, Share};
pub use output::{Output, OutputValue, Placed};
pub use overhead::Overhead;
pub use placement::{OUTPUT_ALIGNMENT, Placement};
pub use session::{run, run_against, versus};
