//! Why a baseline cannot be read or written.

use std::io;
use std::path::PathBuf;

use crate::record::RecordError;

/// Why a baseline cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// Nothing was named.
    #[error("a baseline is a record, a folder of them, or git:REVISION: name one of them")]
    Empty,
    /// It is a word that git would take for something else.
    #[error("`{revision}` is no revision of git: write a branch, a tag or a commit, such as git:main")]
    Revision {
        /// The word.
        revision: String,
    },
    /// A path of a revision is absolute.
    #[error("{}: a path of a revision is relative to the folder that plimsoll runs in, such as git:main:baselines", path.display())]
    AbsolutePath {
        /// The path.
        path: PathBuf,
    },
    /// A record of it cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder cannot be read or made.
    #[error("cannot {what} the baseline {}: {source}", path.display())]
    Folder {
        /// `read`, `make` or `clean`.
        what: &'static str,
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder holds more files than a baseline has.
    #[error("{} has more than {limit} records: is it a folder of baselines?", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// How many are read.
        limit: usize,
    },
    /// Git cannot be started.
    #[error("cannot start git to read the baseline of {revision}: {source}; install git, or name a file or a folder")]
    NoGit {
        /// The revision.
        revision: String,
        /// The system's error.
        source: io::Error,
    },
    /// Git refuses.
    #[error("git cannot {what}: {message}")]
    Git {
        /// What it was to do.
        what: String,
        /// What it said.
        message: String,
    },
    /// The revision is not in the repository.
    #[error(
        "{revision} is no commit of this repository ({message}); fetch it first: a shallow clone of CI has one commit \
         (`git fetch origin {revision}`, or fetch-depth: 0)"
    )]
    UnknownRevision {
        /// The revision.
        revision: String,
        /// What git said.
        message: String,
    },
    /// Several records were to be written to one file.
    #[error(
        "{} is one file, and there are several records, of {first} and {second}: name a folder (it is made where it is missing)",
        path.display()
    )]
    OneFile {
        /// The file.
        path: PathBuf,
        /// The subject of the first.
        first: String,
        /// That of the second.
        second: String,
    },
}
