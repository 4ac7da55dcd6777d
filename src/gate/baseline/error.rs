//! Why a baseline cannot be read or written.

use std::io;
use std::path::PathBuf;

use crate::record::RecordError;

/// Why a baseline cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// No baseline was named.
    #[error("a baseline is a record, a folder of them, or git:REVISION: name one of them")]
    Empty,
    /// The revision is a word that git would interpret differently.
    #[error("`{revision}` is not a revision of git: write a branch, a tag or a commit, such as git:main")]
    Revision {
        /// The word.
        revision: String,
    },
    /// A path in a revision is absolute.
    #[error("{}: a path of a revision is relative to the folder that plimsoll runs in, such as git:main:baselines", path.display())]
    AbsolutePath {
        /// The path.
        path: PathBuf,
    },
    /// A record of the baseline cannot be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder cannot be read or created.
    #[error("cannot {what} the baseline {}: {source}", path.display())]
    Folder {
        /// `read`, `make` or `clean`.
        what: &'static str,
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder contains more files than a baseline can have.
    #[error("{} has more than {limit} records: is it a folder of baselines?", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The maximum that is read.
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
    /// Git reported an error.
    #[error("git cannot {what}: {message}")]
    Git {
        /// What git was asked to do.
        what: String,
        /// Git's message.
        message: String,
    },
    /// The working directory is not in a repository.
    #[error(
        "this folder is not in a git repository, so {revision} cannot be found: run this in one, or name a file or a folder for the baseline"
    )]
    NoRepository {
        /// The revision.
        revision: String,
    },
    /// The revision is not in the repository.
    #[error(
        "{revision} is not a commit of this repository ({message}); check its name, or fetch it: a shallow clone of CI has \
         one commit ({})",
        fetch(revision)
    )]
    UnknownRevision {
        /// The revision.
        revision: String,
        /// Git's message.
        message: String,
    },
    /// The baseline is in a history, and this build cannot read histories.
    #[error("a history is read from its file: this build of plimsoll has no feature `history`")]
    History,
    /// Several records would have to be written to one file.
    #[error(
        "{} is one file, but there are several records, of {first} and {second}: name a folder (it is created if it does not exist)",
        path.display()
    )]
    OneFile {
        /// The file.
        path: PathBuf,
        /// The subject of the first.
        first: String,
        /// The subject of the second.
        second: String,
    },
}

/// The command that fetches a revision into a clone: a remote branch by its own name, or everything if the revision is
/// relative to another commit.
fn fetch(revision: &str) -> String {
    let name = revision.strip_prefix("origin/").unwrap_or(revision);
    let alone =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'));
    // A revision fetched by name gets no local branch unless the command says where to store it.
    match (alone && name != "HEAD", name == revision) {
        (true, true) => format!("`git fetch origin {name}:{name}`, or fetch-depth: 0"),
        (true, false) => format!("`git fetch origin {name}:refs/remotes/origin/{name}`, or fetch-depth: 0"),
        (false, _) => "`git fetch --unshallow`, or fetch-depth: 0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_revision_says_how_to_fetch_it() {
        for (revision, how) in [
            ("main", "`git fetch origin main:main`"),
            ("origin/release/1.2", "`git fetch origin release/1.2:refs/remotes/origin/release/1.2`"),
            ("HEAD~2", "`git fetch --unshallow`"),
            ("HEAD", "`git fetch --unshallow`"),
            ("v1.2^{commit}", "`git fetch --unshallow`"),
        ] {
            assert_eq!(fetch(revision), format!("{how}, or fetch-depth: 0"));
        }
    }
}
