//! [`MatrixError`]: why a matrix cannot be read, run or resumed.

use std::io;
use std::path::PathBuf;

use plimsoll_memory::bytes::ByteSize;

/// Why a matrix cannot be read, run or resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A file cannot be read or written.
    #[error("{}: cannot {what}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `write`, and the kind of file.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A file is larger than any of its kind.
    #[error("{}: it is larger than {limit}, too large for a {what}: is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The kind of file.
        what: &'static str,
        /// The maximum size that is read.
        limit: ByteSize,
    },
    /// The plan is not valid TOML, or has an unknown key or an invalid value.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why, possibly with a suggestion.
        message: String,
    },
    /// The plan contradicts itself.
    #[error("{}: {message}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The contradiction, and what to do.
        message: String,
    },
    /// No configuration has this name.
    #[error("there is no configuration `{name}`{hint}")]
    Unknown {
        /// The name.
        name: String,
        /// The names that exist.
        hint: String,
    },
    /// The state file is invalid.
    #[error("{}: not the state of a matrix ({message}): remove it to start over", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
}
