//! Why a command could not be run under the meter.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::signal::Signal;
use crate::meter::MeterError;

/// Why a command could not run under the meter. A command that ran and failed is not such an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The program could not be executed.
    #[error("cannot start `{program}`: {source}{}", hint(program, source))]
    Start {
        /// The program as it was named.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A signal from elsewhere ended the process before it executed the program.
    #[error("`{program}` was killed by {signal} before it started; nothing of it ran")]
    Killed {
        /// The program as it was named.
        program: String,
        /// The signal.
        signal: Signal,
    },
    /// The meter could not read something that it needs.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The system refused something that the run needs.
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
    /// The code by which a shell reports this error: 127 if the program does not exist, 126 if it cannot be executed,
    /// 128 plus the signal if a signal ended it first.
    pub fn shell_exit_code(&self) -> Option<u8> {
        match self {
            Self::Start { source, .. } if source.kind() == ErrorKind::NotFound => Some(127),
            Self::Start { .. } => Some(126),
            Self::Killed { signal, .. } => u8::try_from(signal.number).ok().and_then(|number| number.checked_add(128)),
            Self::Meter(_) | Self::System { .. } => None,
        }
    }
}

fn hint(program: &str, source: &io::Error) -> &'static str {
    match source.kind() {
        // The error is the same for a script whose interpreter is missing and for a program whose loader is missing.
        ErrorKind::NotFound if program.contains('/') && Path::new(program).exists() => {
            "; the file exists, but the interpreter it names does not: see its first line (`head -n 1`) or `file`"
        }
        ErrorKind::NotFound => "; is it installed, and is its directory in PATH?",
        ErrorKind::PermissionDenied => "; is it a program that may be executed (chmod +x)?",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_without_its_interpreter_is_not_said_to_be_missing() {
        let script = tempfile::NamedTempFile::new().unwrap();
        let hint_of = |program: &str| hint(program, &io::Error::from(ErrorKind::NotFound));
        assert!(hint_of(script.path().to_str().unwrap()).starts_with("; the file exists"));
        assert!(
            hint_of("/no/such/program").starts_with("; is it installed")
                && hint_of("sh").starts_with("; is it installed")
        );
    }
}
