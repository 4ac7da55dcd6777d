//! [`RunError`]: why a run gave no record.

use crate::record::RecordError;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::MeterError;

use super::launcher::LaunchError;

/// Why a run could not begin, or its record not be built. Whatever happens to an entry is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An entry exceeds the byte cap and was to be refused.
    #[error(
        "{name} alone keeps {bytes} resident, over the cap of {batch_bytes}: raise the cap, or let such entries run alone"
    )]
    OverCap {
        /// The entry.
        name: String,
        /// What it keeps resident.
        bytes: ByteSize,
        /// The cap.
        batch_bytes: ByteSize,
    },
    /// A kernel cannot be launched at all.
    #[error(transparent)]
    Launch(LaunchError),
    /// The record could not be built.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Memory could not be metered.
    #[error(transparent)]
    Meter(#[from] MeterError),
}
