//! The history: records by commit, in one SQLite file, and where a figure changed its level.
//!
//! Each record is kept as a baseline is, without timelines, compressed, under its commit and branch. What a figure was at
//! every commit is read from the records, so that a figure that a later version of Plimsoll names is there from the first
//! commit. [`steps`] finds the commits at which a level changed for good.

mod accepted;
mod commit;
mod defence;
mod error;
pub mod import;
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
