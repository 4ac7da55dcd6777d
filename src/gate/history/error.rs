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
    #[error("{} is not a history that this version reads ({found}); name another file with --history", path.display())]
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
    /// Another tool's file cannot be imported.
    #[error("cannot import {}: {what}", path.display())]
    Import {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Nothing says when a commit was made.
    #[error(
        "the commit {commit} is not in the repository here, and its file has no date of it: import in its repository"
    )]
    UnknownCommit {
        /// The commit.
        commit: String,
    },
    /// The commit cannot be found out.
    #[error(transparent)]
    Commit(#[from] BaselineError),
    /// A record is none.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why SQLite refuses and what to do about it. Its own words are kept for what this program does not expect.
fn said(error: &rusqlite::Error) -> String {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return format!("{error}; restore an earlier copy, or name another file with --history");
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            "another program has held it for 30 s; try again when it is done".to_owned()
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            "it or its folder cannot be written; make both writable, or name another file with --history".to_owned()
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            "it is damaged; restore an earlier copy, or name another file with --history".to_owned()
        }
        ErrorCode::DiskFull => "its disk is full; free some space there".to_owned(),
        ErrorCode::SystemIoFailure => "its disk failed; check the disk, then `plimsoll history show`".to_owned(),
        ErrorCode::FileLockingProtocolFailed => {
            "its file system has no locks; keep it on a local disk, or name another file with --history".to_owned()
        }
        ErrorCode::OperationInterrupted | ErrorCode::TooBig | ErrorCode::OutOfMemory => {
            "reading it takes more than any history does; restore an earlier copy, or name another file with \
             --history"
                .to_owned()
        }
        _ => {
            let message = message.clone().unwrap_or_else(|| code.to_string());
            format!("SQLite said {message:?}; restore an earlier copy, or name another file with --history")
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
            let told = said(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert!(!told.contains("SQLite") && !told.contains("Error code") && told.contains("; "), "{code}: {told}");
        }
        let other = said(&rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISMATCH), None));
        assert!(other.contains("restore an earlier copy"), "{other}");
    }
}
