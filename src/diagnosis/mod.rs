//! Diagnosis of this crate's own records and runs: a record as an input of an analysis, and a command while it runs.

mod behind;
mod read;
mod record;
mod watch;

pub use read::read;
pub use watch::CommandWatch;
