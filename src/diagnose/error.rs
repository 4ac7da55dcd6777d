//! [`DiagnoseError`]: why an input could not be read.

use std::io;

use super::snapshot::SnapshotError;

/// Why an input could not be read, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnoseError {
    /// The system refused to read the input.
    #[error("cannot read `{name}`: {source}")]
    Io {
        /// The input.
        name: String,
        /// What the system reported.
        source: io::Error,
    },
    /// The input is compressed, and the compressed bytes are damaged or end early.
    #[error("`{name}` is a gzip file damaged after {bytes} B of text: {source}; the text before was read")]
    Compressed {
        /// The input.
        name: String,
        /// Bytes of text that could be read.
        bytes: u64,
        /// What the decompressor reported.
        source: io::Error,
    },
    /// The input is a Plimsoll record that cannot be read.
    #[error(transparent)]
    Record(Box<dyn std::error::Error + Send + Sync>),
    /// The input is a memory snapshot that cannot be read.
    #[error(transparent)]
    UnreadableSnapshot(#[from] SnapshotError),
    /// The input is a memory snapshot, which is not text.
    #[error("`{name}` is a pickled memory snapshot, not a log: diagnose it without `--follow`")]
    Snapshot {
        /// The input.
        name: String,
    },
    /// No verdict has this name.
    #[error("`{name}` is not a verdict; {hint}")]
    UnknownVerdict {
        /// The name.
        name: String,
        /// The verdict that was meant, or those that exist.
        hint: String,
    },
    /// The verdict is about a whole document; no single finding has it.
    #[error("`{name}` is about a whole document: name a finding, such as `leak` or `fragmentation`")]
    NoFinding {
        /// The name.
        name: String,
    },
}
