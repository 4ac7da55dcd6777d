//! [`RunError`]: why a run has no record.

use std::path::PathBuf;

use crate::record::RecordError;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::MeterError;

use super::launcher::LaunchError;

/// Why a run could not begin, or its record could not be built. The failure of an entry is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An entry exceeds the byte cap, and such entries are refused.
    #[error(
        "{name} alone keeps {bytes} resident, over the cap of {batch_bytes}: raise the cap, or let such entries run alone"
    )]
    OverCap {
        /// The entry.
        name: String,
        /// The bytes that the entry keeps resident.
        bytes: ByteSize,
        /// The cap.
        batch_bytes: ByteSize,
    },
    /// A kernel cannot be launched at all.
    #[error(transparent)]
    Launch(LaunchError),
    /// The file that the shards of a node share cannot be locked.
    #[error("cannot lock {}, by which the shards of a node see one another: {source}; name another folder for it in TMPDIR", .path.display())]
    Node {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The record could not be built.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Memory could not be metered.
    #[error(transparent)]
    Meter(#[from] MeterError),
}
