//! Why a command could not be run under the meter.

use std::io::{self, ErrorKind};

use crate::meter::MeterError;

/// Why a command could not be run under the meter. A command that ran and failed is no such error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be executed.
    #[error("cannot start `{program}`: {source}{}", hint(source))]
    Start {
        /// The program as it was named.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// What the meter needs could not be read.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The system refused something that running it takes.
    #[error(
        "cannot run `{program}` under the meter: {what}: {source}; the process may be at its limit of descriptors or threads"
    )]
    System {
        /// The program as it was named.
        program: String,
        /// What was refused.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError {
    /// The exit code by which a shell tells this: 127 where there is no such program, 126 where it cannot be executed.
    pub fn shell_exit_code(&self) -> Option<u8> {
        match self {
            Self::Start { source, .. } if source.kind() == ErrorKind::NotFound => Some(127),
            Self::Start { .. } => Some(126),
            Self::Meter(_) | Self::System { .. } => None,
        }
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::NotFound => "; is it installed, and is its directory in PATH?",
        ErrorKind::PermissionDenied => "; is it a program that may be executed (chmod +x)?",
        _ => "",
    }
}
