//! Why a configuration cannot be used.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::trust::Stranger;
use plimsoll_memory::bytes::ByteSize;

/// A place in a file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Position {
    /// The position of the byte `at` in `text`.
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

/// The positions in a text, each found without reading the text from its start.
#[derive(Clone, Debug)]
pub(super) struct Places<'t> {
    text: &'t str,
    /// Where each line starts, in bytes.
    lines: Vec<usize>,
    /// How many characters start before each [`STEP`]th byte.
    characters: Vec<usize>,
}

/// The distance in bytes between two positions with a known count of characters.
const STEP: usize = 1024;

fn starts_character(byte: &u8) -> bool {
    // All other bytes continue a character, as 0b10xxxxxx.
    byte & 0xc0 != 0x80
}

impl<'t> Places<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let mut characters = vec![0];
        for step in bytes.chunks(STEP) {
            characters
                .push(characters[characters.len() - 1] + step.iter().filter(|byte| starts_character(byte)).count());
        }
        Self { text, lines: std::iter::once(0).chain(ends).collect(), characters }
    }

    /// The characters that start before the byte `at`.
    fn before(&self, at: usize) -> usize {
        let step = at / STEP;
        self.characters[step]
            + self.text.as_bytes()[step * STEP..at].iter().filter(|byte| starts_character(byte)).count()
    }

    /// As [`Position::of`].
    pub(super) fn at(&self, at: usize) -> Position {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines[line - 1];
        Position { line, column: self.before(at) - self.before(start) + 1 }
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
    /// The file is not valid TOML.
    #[error("{}:{at}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The parser's message.
        message: String,
    },
    /// The found file belongs to another user, and starts a program or names a path to write to.
    #[error(
        "{}:{at}: `{key}` is not taken from another user's configuration: {stranger}; take the file over (chown), name it with --config if you trust it, or use none with --no-config",
        path.display()
    )]
    NotTrusted {
        /// The file.
        path: PathBuf,
        /// The position.
        at: Position,
        /// The setting.
        key: String,
        /// The owner.
        stranger: Stranger,
    },
    /// A key is unknown at its place.
    #[error("{}:{at}: there is no setting `{key}` {place}{hint}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The key.
        key: String,
        /// The table of the key, in words.
        place: String,
        /// A suggestion, or the known keys.
        hint: String,
    },
    /// A value does not fit its setting.
    #[error("{}:{at}: `{key}` is {expects}, and not {found}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The key.
        key: String,
        /// The expected value.
        expects: String,
        /// The value found, and what is wrong with it.
        found: String,
    },
    /// A setting occurs twice, once with `_` and once with `-`.
    #[error("{}:{at}: `{key}` is set twice: keep one of them", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The position of the second occurrence.
        at: Position,
        /// The key.
        key: String,
    },
    /// The file has too many overrides.
    #[error("{}:{at}: a file has at most {most} overrides; write one pattern for several labels, or tables [ceilings.LABEL]", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
        /// The position of the first one beyond the limit.
        at: Position,
        /// The limit.
        most: usize,
    },
    /// An override does not name the labels that it applies to.
    #[error("{}:{at}: an override needs `label`, a pattern of the labels that it is for, such as label = \"^train-\"", path.display())]
    NoLabel {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
    },
    /// A requested profile is missing from the file.
    #[error("{} has no profile `{name}`{hint}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// The profile.
        name: String,
        /// A suggestion, or the known profiles.
        hint: String,
    },
    /// A profile was requested, but there is no configuration.
    #[error("there is no profile `{name}`, because there is no plimsoll.toml here or above: `plimsoll init` makes one")]
    NoFile {
        /// The profile.
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_place_is_that_of_a_count_from_the_start(text in "([a-z=é€\\n]{0,300}|[ab\\n]{900,2100}){0,3}", at in 0usize..4000) {
            prop_assert_eq!(Places::of(&text).at(at), Position::of(&text, at));
        }
    }
}
