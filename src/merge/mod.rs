//! Merging: the records of shards and of ranks as one.
//!
//! A record is one run, or the [`Part`](crate::record::Part)s of several. [`Merge`] accepts both kinds and produces one
//! record with all their entries, in the order of the capture, and all their parts. Everything else in the record
//! follows from entries and parts alone, in whatever order and grouping they were added: merging is associative and
//! commutative.
//!
//! Entries and parts wait in a temporary file, so that memory depends only on the largest added record, and on the
//! number of entries by some bytes each.

mod add;
mod error;
mod finish;
mod fold;
mod gap;
mod known;
mod merged;
mod missing;
mod resume;
mod semantics;
mod spill;
#[cfg(test)]
mod tests;

pub use add::Merge;
pub use error::MergeError;
pub use gap::Missing;
pub use merged::Merged;
pub use resume::{ResumeError, Resumed};
