//! Merging: the records of shards and of ranks as one.
//!
//! A record is one run, or the [`Part`](crate::record::Part)s of several. [`Merge`] takes records of either kind and gives
//! one whose entries are those of all, in the order of the capture, and whose parts are all of theirs. Everything else in it
//! follows from entries and parts alone, whatever the order and the grouping in which they were added: merging is
//! associative and commutative.
//!
//! Entries and parts wait in a temporary file, so that memory depends on the largest record that is added, and on the
//! number of entries by some bytes each.

mod add;
mod error;
mod finish;
mod fold;
mod gap;
mod known;
mod merged;
mod missing;
mod semantics;
mod spill;
#[cfg(test)]
mod tests;

pub use add::Merge;
pub use error::MergeError;
pub use gap::Missing;
pub use merged::Merged;
