//! [`MergeError`]: why records cannot be merged.

use std::io;

use super::gap::Missing;
use crate::record::RecordError;

/// Why records cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no record.
    #[error("no record was given: name the records of all shards or ranks")]
    None,
    /// A record belongs neither to a shard nor to a rank.
    #[error(
        "{name} is the record of {what}, not of a shard or rank: only records of `--shard`, or of `run` under a launcher, are merged"
    )]
    NoPart {
        /// The record.
        name: String,
        /// What the record describes.
        what: &'static str,
    },
    /// Two records are of different kinds or things.
    #[error("{one} and {other} have different {what}: {before} and {after}; merge records of the same run")]
    Different {
        /// One record.
        one: String,
        /// The other record.
        other: String,
        /// What differs.
        what: &'static str,
        /// The value in the first record.
        before: String,
        /// The value in the other record.
        after: String,
    },
    /// Two records have a result for the same entry, or belong to the same rank.
    #[error("{one} and {other} both have {what}: give one of them")]
    Overlap {
        /// One record.
        one: String,
        /// The other record.
        other: String,
        /// What both contain.
        what: String,
    },
    /// Shards or ranks are missing.
    #[error("{0}")]
    Gap(Missing),
    /// The merged record would be too large for any command to read.
    #[error(
        "the merged record would have {bytes}, more than the limit of {limit}: divide the capture into several captures"
    )]
    TooLarge {
        /// The record's size, at least.
        bytes: plimsoll_memory::bytes::ByteSize,
        /// The largest size that is read.
        limit: plimsoll_memory::bytes::ByteSize,
    },
    /// The temporary file could not be written or read.
    #[error("cannot keep merged entries in a temporary file: {0}; free space in the folder of the merged record")]
    Spill(#[from] io::Error),
    /// A record could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
}
