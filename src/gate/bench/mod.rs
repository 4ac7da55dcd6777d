//! The benchmarks of criterion, gungraun and divan: [`judge_benchmarks`] judges their outputs against a baseline.
//!
//! Criterion reports a regression but exits with 0, and divan compares nothing. The contents of a file or folder show
//! which of them wrote it: the tables of divan and the summaries of gungraun (formerly iai-callgrind) are described in
//! the modules of these names. Criterion keeps samples in a folder:
//! ```text
//! target/criterion/GROUP/FUNCTION/VALUE/new/benchmark.json   its name; sample.json  every sample: iterations and their total
//!                                       BASELINE/sample.json the same of `--save-baseline BASELINE`, or of the run before (`base`)
//!                                       change/estimates.json criterion's own comparison, a cross-check
//! ```
//! - A figure is a sample's total divided by its iterations. The files name no unit. It is bytes if a word of the
//!   group's name is a memory metric, as `plimsoll::criterion::group` writes it, and nanoseconds otherwise. If
//!   criterion wrote `raw.csv` (its feature `csv_output`), the unit in that file is used.
//! - Criterion ends every run by copying `new` to `base`, so the samples of the previous run are gone. In that case
//!   criterion's own comparison of the two is judged by the same rules.

mod compare;
mod divan;
mod error;
mod files;
mod folder;
mod gungraun;
mod report;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;
mod source;

pub use error::BenchError;
#[cfg(feature = "history")]
pub(in crate::gate) use files::unit as unit_of;
pub use folder::{DEFAULT_BASELINE, judge_folder};
pub use report::{BenchGate, BenchmarkVerdict, CriterionChange};
pub use source::judge_benchmarks;
