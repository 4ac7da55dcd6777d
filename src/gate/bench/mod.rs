//! Criterion benchmarks: judges `target/criterion` against a baseline in it.
//!
//! Criterion reports a regression but exits with 0. [`judge_folder`] reads the samples that criterion keeps and judges
//! each benchmark:
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

mod error;
mod files;
mod folder;
mod report;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;

pub use error::BenchError;
#[cfg(feature = "history")]
pub(in crate::gate) use files::unit as unit_of;
pub use folder::{DEFAULT_BASELINE, judge_folder};
pub use report::{BenchGate, BenchmarkVerdict, CriterionChange};
