//! Baselines: the records that others are compared with, in a file, a folder or a git revision.
//!
//! A folder of baselines is meant to be committed: one record per subject, named after it, without data that a gate
//! does not need (timelines, processes, mappings). Every record can serve as a baseline, and every command can read a
//! baseline.

mod error;
mod folder;
pub(super) mod git;
mod source;
mod update;

pub use error::BaselineError;
pub use source::{BaselineSource, DEFAULT_FOLDER};
pub use update::{distilled, write_baseline};
