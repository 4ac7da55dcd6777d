//! What can go wrong while memory is read.

use std::io;
use std::path::Path;

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
    /// There is no control group to read or to create.
    #[error("no control group for memory: {reason}")]
    NoCgroup {
        /// Why.
        reason: String,
    },
    /// The system refused what was to be done to a control group.
    #[error(
        "cannot {what} {path}: {source}; it needs root, or a group that is delegated to this user (systemd: Delegate=yes)"
    )]
    Cgroup {
        /// What was to be done: `create`, `set`, `join`, `reset`.
        what: &'static str,
        /// The group, or its file.
        path: String,
        /// The system's error.
        source: io::Error,
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

    pub(crate) fn cgroup(what: &'static str, path: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        Self::Cgroup { what, path: path.as_ref().display().to_string(), source: source.into() }
    }
}
