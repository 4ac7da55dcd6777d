//! The benchmarks of criterion, judged: `target/criterion` against a baseline in it.
//!
//! Criterion tells of a regression and exits 0. [`judge_folder`] reads the samples that it keeps and judges each benchmark:
//! ```text
//! target/criterion/GROUP/FUNCTION/VALUE/new/benchmark.json   its name; sample.json  every sample: iterations and their total
//!                                       BASELINE/sample.json the same of `--save-baseline BASELINE`, or of the run before (`base`)
//!                                       change/estimates.json criterion's own comparison, a cross-check
//! ```
//! - A figure is a sample's total by its iterations. The files name no unit: it is bytes if a word of the group's name
//!   is a metric of memory, as `plimsoll::criterion::group` puts it there, and nanoseconds elsewhere;
//!   if criterion wrote `raw.csv` (its feature `csv_output`), the unit in it counts.
//! - Criterion ends every run by making `base` a copy of `new`, so that the samples of the run before are gone. Then its own
//!   comparison of the two, made before, is judged by the same rules.

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
