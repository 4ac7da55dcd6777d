//! Why a history cannot be read or written.

use std::path::PathBuf;

use rusqlite::ErrorCode;

use crate::gate::BaselineError;
use crate::record::RecordError;

/// Why a history cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file does not exist.
    #[error("there is no history at {}: `plimsoll history add RECORD` makes one", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// SQLite reported an error.
    #[error("cannot {what} the history {}: {}", path.display(), said(error))]
    Sqlite {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The error from SQLite, whose words the message replaces.
        error: rusqlite::Error,
    },
    /// The file belongs to another program or to a later version.
    #[error("{} is not a history that this version reads ({found}); name another file with --history", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What the file is instead.
        found: String,
    },
    /// A stored record cannot be read.
    #[error("the history {} has a damaged record of {label} at {commit}: {message}; remove it with `plimsoll history remove --commit {commit}`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The subject of the record.
        label: String,
        /// The commit of the record.
        commit: String,
        /// What is wrong.
        message: String,
    },
    /// Another tool's file cannot be imported.
    #[error("cannot import {}: {what}", path.display())]
    Import {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The time of a commit is unknown.
    #[error(
        "the commit {commit} is not in the repository here, and the file has no date for it: run the import in its repository"
    )]
    UnknownCommit {
        /// The commit.
        commit: String,
    },
    /// The commit cannot be determined.
    #[error(transparent)]
    Commit(#[from] BaselineError),
    /// A file is not a valid record.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why SQLite failed and what to do about it. SQLite's own message is kept for errors that this program does not
/// expect.
fn said(error: &rusqlite::Error) -> String {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return format!("{error}; restore a backup, or name another file with --history");
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another program has locked it for 30 s; try again later".to_owned()
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "it or its folder is read-only; make both writable, or name another file with --history".to_owned()
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            "it is damaged; restore a backup, or name another file with --history".to_owned()
        }
        ErrorCode::DiskFull => "its disk is full; free some space there".to_owned(),
        ErrorCode::SystemIoFailure => "its disk failed; check the disk, then `plimsoll history show`".to_owned(),
        ErrorCode::FileLockingProtocolFailed => {
            "its file system has no locks; keep it on a local disk, or name another file with --history".to_owned()
        }
        ErrorCode::OperationInterrupted | ErrorCode::TooBig | ErrorCode::OutOfMemory => {
            "reading it takes more work than any history needs; restore a backup, or name another file with \
             --history"
                .to_owned()
        }
        _ => {
            let message = message.clone().unwrap_or_else(|| code.to_string());
            format!("SQLite said {message:?}; restore a backup, or name another file with --history")
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn what_sqlite_refuses_is_said_in_words_that_say_what_to_do() {
        for code in [
            ffi::SQLITE_BUSY,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR,
            ffi::SQLITE_INTERRUPT,
            ffi::SQLITE_TOOBIG,
        ] {
            let words = said(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert!(
                !words.contains("SQLite") && !words.contains("Error code") && words.contains("; "),
                "{code}: {words}"
            );
        }
        let other = said(&rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISMATCH), None));
        assert!(other.contains("restore a backup"), "{other}");
    }
}
