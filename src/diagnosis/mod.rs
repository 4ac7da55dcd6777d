//! Diagnosis of what this crate writes and runs: a record among the inputs of an analysis, and a command while it runs.

mod behind;
mod read;
mod record;
mod watch;

pub use read::read;
pub use watch::CommandWatch;
