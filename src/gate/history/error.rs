//! Why a history cannot be read or written.

use std::path::PathBuf;

use rusqlite::ErrorCode;

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
    #[error("cannot {what} the history {}: {}", path.display(), said(source))]
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

/// What SQLite said, once, and what to do where that is known.
fn said(error: &rusqlite::Error) -> String {
    let rusqlite::Error::SqliteFailure(code, message) = error else { return error.to_string() };
    // Its words and those of its code are mostly the same.
    let message = message.clone().unwrap_or_else(|| code.to_string());
    let remedy = match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another program has held it for 30 s: try again when it is done"
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "make it and its folder writable, or name another file with --history"
        }
        ErrorCode::DatabaseCorrupt => "take a copy of it from before, or name another file with --history",
        ErrorCode::DiskFull => "make room on its disk",
        _ => return message,
    };
    format!("{message}; {remedy}")
}
