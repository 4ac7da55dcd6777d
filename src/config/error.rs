//! Why a configuration cannot be used.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::trust::Stranger;
use crate::bytes::ByteSize;

/// A place in a file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Position {
    /// That of the byte `at` in `text`.
    pub(super) fn of(text: &str, at: usize) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}; name another with --config, or use none with --no-config", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is larger than any configuration.
    #[error("{} is larger than {limit}: is it a configuration of plimsoll?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: ByteSize,
    },
    /// The file is no TOML.
    #[error("{}:{at}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// What the parser said.
        message: String,
    },
    /// The file was found, belongs to another user, and starts a program or says where something is written.
    #[error(
        "{}:{at}: `{key}` is not taken from another user's configuration: {stranger}; take the file over (chown), name it with --config if you trust it, or use none with --no-config",
        path.display()
    )]
    NotTrusted {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The setting.
        key: String,
        /// Whose it is.
        stranger: Stranger,
    },
    /// A key is not known where it stands.
    #[error("{}:{at}: there is no setting `{key}` {place}{hint}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The key.
        key: String,
        /// The table that it stands in, in words.
        place: String,
        /// What was meant, or what there is.
        hint: String,
    },
    /// A value is not what its setting takes.
    #[error("{}:{at}: `{key}` is {expects}, and not {found}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The key.
        key: String,
        /// What it takes.
        expects: String,
        /// What is there, and what is wrong with it.
        found: String,
    },
    /// A setting stands twice, once with `_` and once with `-`.
    #[error("{}:{at}: `{key}` is set twice: keep one of them", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// Where, the second time.
        at: Position,
        /// The key.
        key: String,
    },
    /// An override does not say for what it is.
    #[error("{}:{at}: an override needs `label`, a pattern of the labels that it is for, such as label = \"^train-\"", path.display())]
    NoLabel {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
    },
    /// A profile was asked for that the file does not have.
    #[error("{} has no profile `{name}`{hint}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// The profile.
        name: String,
        /// What was meant, or what there is.
        hint: String,
    },
    /// A profile was asked for, and there is no configuration.
    #[error("there is no profile `{name}`, as there is no plimsoll.toml here or above: `plimsoll init` makes one")]
    NoFile {
        /// The profile.
        name: String,
    },
}
