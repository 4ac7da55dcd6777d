//! Plimsoll: a test harness and regression-benchmark framework for memory.
//!
//! The parts that a test needs are always here; everything else is a feature, and `full` enables all but `remote` and
//! older versions of criterion.
//!
//! | feature | modules | for |
//! |---|---|---|
//! | always | [`test`](macro@test), [`assert_memory!`], [`assert`](mod@assert), [`alloc`], [`meter`], [`ceiling`], [`command`], [`bytes`] | memory in tests, and of commands |
//! | `capture` | `capture`, `inspect`, `compare`, `kernel`, `timing`, `gpu` | entries in `.pt` files, and kernels launched on them |
//! | `criterion` | `criterion` | memory as a measurement of criterion 0.8; `criterion-0-5`, `-0-6` and `-0-7` for older ones |
//! | `diagnose` | `diagnose`, `estimate` | what went wrong with memory, and what training should cost |
//! | `gpu` | | GPU memory by NVML; with `capture` kernels on a device, with `criterion` `CudaTime` |
//! | `history` | `gate::history` | records by commit in an SQLite file |
//! | `phase-lines` | `command::PhaseLines`, `command::OutputTap` | phases by lines of a command's output |
//! | `proptest` | `capture::strategies` | proptest strategies for entries and captures |
//! | `record` | `record`, `run`, `shard`, `merge`, `gate`, `config`, `defaults` | checks of captures, records of tests, their judgement |
//! | `report` | `report`, `matrix` | records and findings as documents |
//!
#![allow(clippy::duplicate_mod, reason = "the measurements of criterion are compiled once a version")]
#![cfg_attr(
    feature = "record",
    doc = r#"```
use plimsoll::capture::{Capture, synthesize};
use plimsoll::kernel::builtin;
use plimsoll::run::Validation;

let dir = tempfile::tempdir()?;
synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(2).write(dir.path())?;
let report = Validation::of(&Capture::open(dir.path())?).run(builtin::embedding())?;
assert!(report.passed(), "{}", report.summary());
# Ok::<(), plimsoll::Error>(())
```"#
)]

#[cfg(feature = "record")]
pub mod config;
// One source for every version of criterion, whose types differ.
#[cfg(feature = "criterion")]
#[path = "criterion/v0_8.rs"]
pub mod criterion;
#[cfg(feature = "criterion-0-5")]
#[path = "criterion/v0_5.rs"]
pub mod criterion_0_5;
#[cfg(feature = "criterion-0-6")]
#[path = "criterion/v0_6.rs"]
pub mod criterion_0_6;
#[cfg(feature = "criterion-0-7")]
#[path = "criterion/v0_7.rs"]
pub mod criterion_0_7;
#[cfg(feature = "record")]
pub mod defaults;
#[cfg(feature = "record")]
mod diagnosis;
#[cfg(all(feature = "history", feature = "report"))]
pub mod documents;
#[cfg(feature = "record")]
pub mod elsewhere;
mod error;
#[cfg(feature = "record")]
pub mod gate;
#[cfg(feature = "report")]
pub mod matrix;
#[cfg(feature = "record")]
pub mod merge;
#[cfg(feature = "record")]
pub mod record;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "record")]
pub mod run;
#[cfg(feature = "record")]
pub mod shard;

#[cfg(feature = "capture")]
pub use plimsoll_capture::{self as capture, compare, gpu, inspect, kernel, timing};
#[cfg(feature = "diagnose")]
pub use plimsoll_diagnose::estimate;
pub use plimsoll_memory::{ByteSize, alloc, assert_memory, bytes, ceiling, command, debug_assert_memory, meter, phase};
#[cfg(feature = "remote")]
pub use plimsoll_remote as remote;
#[cfg(feature = "record")]
pub use plimsoll_statistics::random;

pub use error::{Error, Result};
pub use plimsoll_attribute::test;

/// Ceilings in tests: of a block in this process, of a whole test in a process of its own.
pub mod assert {
    pub use plimsoll_memory::assert::*;

    #[cfg(feature = "record")]
    pub use crate::record::keep_record;

    /// The test `function` of the module `module_path!()`, the first call of `#[plimsoll::test]`. With the feature
    /// `record`, records are kept.
    #[doc(hidden)]
    pub fn test(package: &str, module: &str, function: &str) -> isolated::Isolated {
        let test = isolated::Isolated::new(package, module, function);
        #[cfg(feature = "record")]
        let test = test.keeper(crate::record::keep_test_run);
        test
    }
}

/// Diagnosis: what went wrong with memory, from the texts that a run leaves behind.
#[cfg(feature = "diagnose")]
pub mod diagnose {
    pub use plimsoll_diagnose::*;

    #[cfg(feature = "record")]
    pub use crate::diagnosis::{CommandWatch, read};
}
