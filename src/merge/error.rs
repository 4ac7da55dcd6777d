//! [`MergeError`]: why records are not one.

use std::io;

use super::gap::Missing;
use crate::record::RecordError;

/// Why records do not make one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no record.
    #[error("no record was given: name the records of all shards or ranks")]
    None,
    /// A record is neither of a shard nor of a rank.
    #[error(
        "{name} is the record of {what} and of no shard or rank: only records of `--shard`, or of `run` under a launcher, are merged"
    )]
    NoPart {
        /// The record.
        name: String,
        /// What it is of.
        what: &'static str,
    },
    /// Two records are of different kinds or things.
    #[error("{one} and {other} have different {what}: {before} and {after}; merge records of the same run")]
    Different {
        /// A record.
        one: String,
        /// Another.
        other: String,
        /// What differs.
        what: &'static str,
        /// What the one has.
        before: String,
        /// What the other has.
        after: String,
    },
    /// Two records have a result for the same entry, or are of the same rank.
    #[error("{one} and {other} both have {what}: give one of them")]
    Overlap {
        /// A record.
        one: String,
        /// Another.
        other: String,
        /// What both have.
        what: String,
    },
    /// Shards or ranks are missing.
    #[error("{0}")]
    Gap(Missing),
    /// The record that they make could not be read by any command.
    #[error(
        "the merged record would have {bytes}, and none is read that has more than {limit}: deal the capture out into several captures"
    )]
    TooLarge {
        /// Its bytes, at least.
        bytes: plimsoll_memory::bytes::ByteSize,
        /// The largest that is read.
        limit: plimsoll_memory::bytes::ByteSize,
    },
    /// What waits could not be written or read.
    #[error("cannot keep what is merged in a temporary file: {0}; free space in the folder of the merged record")]
    Spill(#[from] io::Error),
    /// A record could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
}
