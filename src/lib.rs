//! Plimsoll: a test harness and regression-benchmark framework for memory.
//!
//! Modules in layers, each using only those above it in this list:
//! - [`bytes`]: amounts with their unit in the type. [`random`]: lots of a seed.
//! - [`alloc`]: exact figures of the heap, from an allocator that counts.
//! - [`capture`]: captured calls of operators in `entry_*.pt` files; reading, writing, synthesis, batches.
//! - [`inspect`]: what is inside files of torch.save.
//! - [`compare`]: expected against actual. [`kernel`]: what can be launched. [`timing`]: protocols, clocks, statistics.
//! - [`gpu`]: NVIDIA GPUs, by their driver alone.
//! - [`meter`]: memory of processes and the system. [`ceiling`]: limits on it and their verdicts.
//! - [`command`]: a command's process tree under the meter, its ceilings enforced, its end typed.
//! - [`record`]: the document of a run, and what changed between two.
//! - [`gate`]: figures against a baseline. [`defaults`]: what settings are if they are not given. [`config`]: a project's settings.
//! - [`estimate`]: what training a model should cost. [`diagnose`]: what went wrong.
//! - [`matrix`]: configurations of a command beside each other, by figures and logs.
//! - [`run`]: validate, release, profile, over a launcher. [`report`]: records as documents.
//! - [`assert`](mod@assert): ceilings in tests, of a block or of a whole test, and what a broken one says.
//! - `criterion` (a feature): memory as a measurement of criterion.
//!
//! ```
//! use plimsoll::capture::{Capture, synthesize};
//! use plimsoll::kernel::builtin;
//! use plimsoll::run::Validation;
//!
//! let dir = tempfile::tempdir()?;
//! synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(2).write(dir.path())?;
//! let report = Validation::of(&Capture::open(dir.path())?).run(builtin::embedding())?;
//! assert!(report.passed(), "{}", report.summary());
//! # Ok::<(), plimsoll::Error>(())
//! ```

pub mod alloc;
pub mod assert;
pub mod bytes;
pub mod capture;
pub mod ceiling;
pub mod command;
pub mod compare;
pub mod config;
#[cfg(feature = "criterion")]
pub mod criterion;
pub mod defaults;
pub mod diagnose;
mod error;
pub mod estimate;
pub mod gate;
pub mod gpu;
pub mod inspect;
pub mod kernel;
pub mod matrix;
mod median;
pub mod meter;
pub mod random;
pub mod record;
pub mod report;
pub mod run;
pub mod timing;
mod words;

pub use assert::phase;
pub use bytes::ByteSize;
pub use error::{Error, Result};
pub use plimsoll_attribute::test;
