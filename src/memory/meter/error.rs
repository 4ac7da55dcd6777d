//! Errors while reading memory.

use std::io;
use std::path::Path;

/// Why a figure could not be read, or the meter could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeterError {
    /// A file of the kernel could not be read.
    #[error("cannot read {path}: {source}; is /proc mounted, and does the process still run?")]
    Read {
        /// The file that could not be read.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// A kernel file lacks a field that every supported kernel writes.
    #[error("{path} has no readable `{field}`: this kernel writes it in an unknown form")]
    Malformed {
        /// The file.
        path: String,
        /// The missing field.
        field: &'static str,
    },
    /// There is no control group to read or create.
    #[error("no control group for memory: {reason}")]
    NoCgroup {
        /// The reason.
        reason: String,
    },
    /// The system refused an operation on a control group.
    #[error(
        "cannot {what} {path}: {source}; it needs root, or a group that is delegated to this user (systemd: Delegate=yes)"
    )]
    Cgroup {
        /// The operation: `create`, `set`, `join`, `reset`.
        what: &'static str,
        /// The group, or its file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused the sampler's thread or the descriptor that signals breaches.
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

    pub(crate) fn cgroup(what: &'static str, path: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        Self::Cgroup { what, path: path.as_ref().display().to_string(), source: source.into() }
    }
}
