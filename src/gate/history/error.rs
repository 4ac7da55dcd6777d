//! Why a history cannot be read or written.

use std::path::PathBuf;

use crate::gate::BaselineError;
use crate::record::RecordError;

/// Why a history cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is no file.
    #[error("there is no history at {}: `plimsoll history add RECORD` makes one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// SQLite refuses.
    #[error("cannot {what} the history {}: {source}", path.display())]
    Sqlite {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file is another program's, or a later version's.
    #[error("{} is no history that this version reads ({found}); name another file with --history", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// What is kept of a record cannot be read.
    #[error("the history {} has a damaged record of {label} at {commit}: {message}; remove it with `plimsoll history remove --commit {commit}`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Whose record.
        label: String,
        /// At which commit.
        commit: String,
        /// What is wrong.
        message: String,
    },
    /// The commit cannot be found out.
    #[error(transparent)]
    Commit(#[from] BaselineError),
    /// A record is none.
    #[error(transparent)]
    Record(#[from] RecordError),
}
