//! [`SynthesizeError`]: why a capture could not be made.

use std::io;
use std::path::PathBuf;

use crate::Dtype;
use crate::write::WriteError;
use plimsoll_memory::ByteSize;

/// Why a capture could not be made; nothing of it is left on the disk.
#[derive(Debug, thiserror::Error)]
pub enum SynthesizeError {
    /// A dtype that no table can have.
    #[error("an embedding table cannot be of {dtype}: choose a floating-point dtype, such as `bfloat16` or `float32`")]
    Dtype {
        /// The dtype refused.
        dtype: Dtype,
    },
    /// A count that must not be zero is zero, or a size exceeds what a file can hold.
    #[error("{what}: {why}")]
    Shape {
        /// The count or size, such as `vocab`.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A scale at which a table would be left without columns, or which is above 1.
    #[error("the scale {numerator}/{denominator} gives no capture: choose one from {smallest} to 1")]
    Scale {
        /// The scale's numerator.
        numerator: u64,
        /// The scale's denominator.
        denominator: u64,
        /// The smallest scale at which every table has a column, such as `1/1536`.
        smallest: String,
    },
    /// A total below the smallest capture.
    #[error(
        "a capture of {entries} entries does not fit in {total}: the smallest is {smallest}; allow more, or ask for \
             fewer entries"
    )]
    Total {
        /// The entries asked for.
        entries: u64,
        /// The total asked for.
        total: ByteSize,
        /// The size at the smallest scale.
        smallest: ByteSize,
    },
    /// The folder already holds something.
    #[error("{}: the folder is not empty (it holds {found:?}): give a new or empty folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// The name of one file in the folder.
        found: String,
    },
    /// The disk has less room than the capture needs.
    #[error("{}: the capture needs {needed}, and the disk has {available} free: free some space, write elsewhere, or choose a \
             smaller scale", path.display())]
    TooLittleSpace {
        /// The folder.
        path: PathBuf,
        /// The size of the capture and a margin for the file system's own records.
        needed: ByteSize,
        /// The space that the file system grants this user.
        available: ByteSize,
    },
    /// An operation on the folder failed.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The output of an entry could not be computed.
    #[error("{entry}: its output could not be computed: {reason}")]
    Compute {
        /// The entry.
        entry: String,
        /// The kernel's error.
        reason: String,
    },
    /// An entry could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
