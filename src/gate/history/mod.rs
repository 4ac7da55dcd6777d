//! The history: records by commit in one SQLite file, and the commits at which a figure changed its level.
//!
//! Each record is stored under its commit and branch as a baseline is: compressed and without timelines. Figures are
//! computed from the records, so that a figure which a later version of Plimsoll introduces exists from the first
//! commit on. [`steps`] finds the commits at which a level changed for good.

mod accepted;
mod commit;
mod defence;
mod error;
pub mod import;
mod packing;
mod report;
mod steps;
mod store;

pub use commit::{Commit, commits_between};
pub use error::HistoryError;
#[cfg(test)]
pub(crate) use report::tests::sample;
pub use report::{HistoryReport, Point, Series, schema, series, series_of};
pub use steps::{Accepted, Step, steps};
pub use store::{Added, DEFAULT_FILE, Entry, History};
