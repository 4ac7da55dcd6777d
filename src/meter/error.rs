//! What can go wrong while memory is read.

use std::io;

/// Why a figure could not be read, or the meter not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeterError {
    /// A file of the kernel could not be read.
    #[error("cannot read {path}: {source}; is /proc mounted, and does the process still run?")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file of the kernel lacks what every supported kernel writes.
    #[error("{path} has no readable `{field}`: this kernel writes it in a form that is not known here")]
    Malformed {
        /// The file.
        path: String,
        /// What was looked for.
        field: &'static str,
    },
    /// The system refused the sampler's thread or the descriptor that tells of breaches.
    #[error(
        "cannot start the memory meter: {what}: {source}; the process may be at its limit of threads or descriptors"
    )]
    Start {
        /// What was refused.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl MeterError {
    pub(crate) fn read(path: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Read { path: path.into(), source: source.into() }
    }
}
