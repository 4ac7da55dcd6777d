//! Baselines: the records that others are held against, in a file, a folder or a revision of git.
//!
//! A folder of baselines is made to be committed: one record a subject, under the subject's name, without what a gate does
//! not need (timelines, processes, mappings). Every record can be a baseline, and a baseline is a record that every other
//! command reads.

mod error;
mod folder;
mod git;
mod source;
mod update;

pub use error::BaselineError;
pub use source::{BaselineSource, DEFAULT_FOLDER};
pub use update::{distilled, write_baseline};
