//! Why a command could not be run under the meter.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::signal::Signal;
use crate::meter::MeterError;

/// Why a command could not be run under the meter. A command that ran and failed is no such error.
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
    /// A signal of others ended the process before it had executed the program.
    #[error("`{program}` was killed by {signal} before it began; nothing of it has run")]
    Killed {
        /// The program as it was named.
        program: String,
        /// The signal.
        signal: Signal,
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
    /// The exit code by which a shell reports this: 127 if there is no such program, 126 if it cannot be executed,
    /// 128 and the number of the signal if one ended it before.
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
        // The same error is that of a script whose interpreter, or of a program whose loader is missing.
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
        let told = |program: &str| hint(program, &io::Error::from(ErrorKind::NotFound));
        assert!(told(script.path().to_str().unwrap()).starts_with("; the file exists"));
        assert!(
            told("/no/such/program").starts_with("; is it installed") && told("sh").starts_with("; is it installed")
        );
    }
}
