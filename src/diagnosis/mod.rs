//! Diagnosis of what this crate writes: a record's failures among the inputs of an analysis.

mod read;
mod record;

pub use read::read;
