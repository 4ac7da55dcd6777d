//! [`History`]: the history file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, params};

use super::commit::Commit;
use super::defence::{self, MAX_TEXT};
use super::error::HistoryError;
use super::packing::{packed, unpacked};
use super::steps::Accepted;
use crate::gate::{Subject, distilled};
use crate::record::{Record, RecordError, not_a_file};

/// The default file.
pub use crate::defaults::HISTORY as DEFAULT_FILE;

/// `plim`, the application id in the file's header.
const APPLICATION: i64 = 0x706c_696d;

/// The version of the tables.
const VERSION: i64 = 3;

/// The tables of version 1.
const RUNS: &str = "
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        commit_id TEXT NOT NULL,
        branch TEXT NOT NULL,
        -- When the commit was made, in seconds since 1970: the order of a history.
        committed INTEGER NOT NULL,
        title TEXT NOT NULL,
        subject TEXT NOT NULL,
        digest TEXT NOT NULL,
        started TEXT NOT NULL,
        -- The record as JSON, compressed by zstd.
        record BLOB NOT NULL,
        UNIQUE (commit_id, branch, subject, digest, started)
    ) STRICT;
    CREATE INDEX runs_in_order ON runs (branch, subject, committed, id);
";

/// Version 2 adds accepted steps.
const ACCEPTED: &str = "
    CREATE TABLE accepted (
        commit_id TEXT NOT NULL,
        branch TEXT NOT NULL,
        subject TEXT NOT NULL,
        figure TEXT NOT NULL,
        why TEXT NOT NULL,
        PRIMARY KEY (commit_id, branch, subject, figure)
    ) STRICT;
";

/// Version 3 adds figures imported from other tools.
const IMPORTED: &str = "
    CREATE TABLE imported (
        id INTEGER PRIMARY KEY,
        commit_id TEXT NOT NULL,
        branch TEXT NOT NULL,
        committed INTEGER NOT NULL,
        title TEXT NOT NULL,
        subject TEXT NOT NULL,
        figure TEXT NOT NULL,
        -- The figure as JSON.
        measured TEXT NOT NULL,
        UNIQUE (commit_id, branch, subject, figure)
    ) STRICT;
    CREATE INDEX imported_in_order ON imported (branch, subject, committed, id);
";

/// What each version adds to the previous one.
const ADDED: [&str; VERSION as usize] = [RUNS, ACCEPTED, IMPORTED];

/// A record of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its commit.
    pub commit: Commit,
    /// The record.
    pub record: Record,
}

/// The result of adding a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The record was added to the history.
    New,
    /// The history already had the record.
    Known,
}

/// Records by commit, in one file.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

impl History {
    /// Opens the history at `path`.
    ///
    /// # Errors
    /// [`HistoryError`] if the file does not exist or is not a history that this version can read.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        if matches!(path.metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound) {
            return Err(HistoryError::Missing { path: path.to_owned() });
        }
        Self::with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens the history at `path`, creating the file and its folder if missing.
    ///
    /// # Errors
    /// [`HistoryError`] if the file cannot be created or is not a history that this version can read.
    pub fn create(path: &Path) -> Result<Self, HistoryError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let failed = |source| crate::gate::BaselineError::Folder { what: "make", path: folder.to_owned(), source };
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        Self::with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    fn with(path: &Path, flags: OpenFlags) -> Result<Self, HistoryError> {
        let failed = |what| move |error| HistoryError::Sqlite { what, path: path.to_owned(), error };
        // Opening a named pipe would block forever. SQLite opens its journals beside the file that a link leads to.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        for end in ["", "-journal", "-wal", "-shm"] {
            let mut file = real.clone();
            file.as_mut_os_string().push(end);
            if let Some(found) = file.metadata().ok().and_then(|found| not_a_file(found.file_type())) {
                let path = if end.is_empty() { path.to_owned() } else { file };
                return Err(HistoryError::Foreign { path, found: format!("it is {found}") });
            }
        }
        let connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed("open"))?;
        defence::guard(&connection).map_err(failed("open"))?;
        // Another job may be adding its records.
        connection.busy_timeout(Duration::from_secs(30)).map_err(failed("open"))?;
        let mut history = Self { path: path.to_owned(), connection };
        history.prepare()?;
        Ok(history)
    }

    /// Creates the tables of a new file; rejects a file of another program.
    fn prepare(&mut self) -> Result<(), HistoryError> {
        let pragma =
            |connection: &Connection, name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let path = self.path.clone();
        let failed = move |error| match error {
            rusqlite::Error::SqliteFailure(failure, _) if failure.code == rusqlite::ErrorCode::NotADatabase => {
                HistoryError::Foreign { path: path.clone(), found: "not an SQLite file".to_owned() }
            }
            error => HistoryError::Sqlite { what: "open", path: path.clone(), error },
        };
        let transaction = self.connection.transaction().map_err(&failed)?;
        let application = pragma(&transaction, "application_id").map_err(&failed)?;
        let version = pragma(&transaction, "user_version").map_err(&failed)?;
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(&failed)?;
        if application == APPLICATION && (1..=VERSION).contains(&version) {
            let (had, lacking) = ADDED.split_at(version as usize);
            if !defence::is_schema(&transaction, &had.concat()).map_err(&failed)? {
                let found = "its tables differ, or it has views or triggers".to_owned();
                return Err(HistoryError::Foreign { path: self.path.clone(), found });
            }
            if version == VERSION {
                return Ok(());
            }
            transaction.execute_batch(&lacking.concat()).map_err(&failed)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(&failed)?;
            return transaction.commit().map_err(&failed);
        }
        if application != 0 || tables != 0 {
            let found =
                if application == APPLICATION { format!("version {version}") } else { "another program's".to_owned() };
            return Err(HistoryError::Foreign { path: self.path.clone(), found });
        }
        transaction.execute_batch(&ADDED.concat()).map_err(&failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(&failed)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }

    fn failed(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> HistoryError + '_ {
        move |error| HistoryError::Sqlite { what, path: self.path.clone(), error }
    }

    /// Adds the records of a commit: all of them or none.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`], as when the disk is full.
    pub fn add(&mut self, commit: &Commit, records: &[Record]) -> Result<Vec<Added>, HistoryError> {
        let path = self.path.clone();
        let failed = |error| HistoryError::Sqlite { what: "add to", path: path.clone(), error };
        let transaction = self.connection.transaction().map_err(failed)?;
        let mut added = Vec::new();
        for record in records {
            let Some(packed) = packed(&distilled(record)) else {
                return Err(RecordError::TooLarge { path: path.clone(), limit: MAX_TEXT }.into());
            };
            let rows = transaction
                .execute(
                    "INSERT OR IGNORE INTO runs (commit_id, branch, committed, title, subject, digest, started, record)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        commit.id,
                        commit.branch,
                        commit.committed,
                        commit.title,
                        key(&Subject::of(record)),
                        record.semantics_digest,
                        record.started,
                        packed
                    ],
                )
                .map_err(failed)?;
            added.push(if rows == 0 { Added::Known } else { Added::New });
        }
        transaction.commit().map_err(failed)?;
        Ok(added)
    }

    /// Stores that a step was accepted and why, replacing an earlier reason.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`].
    pub fn accept(&mut self, subject: &Subject, branch: &str, accepted: &Accepted) -> Result<(), HistoryError> {
        let values = params![accepted.commit, branch, key(subject), accepted.figure, accepted.why];
        let words =
            "INSERT OR REPLACE INTO accepted (commit_id, branch, subject, figure, why) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.connection.execute(words, values).map_err(self.failed("add to"))?;
        Ok(())
    }

    /// The accepted steps of `subject` on `branch`.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`].
    pub fn accepted(&self, subject: &Subject, branch: &str) -> Result<Vec<Accepted>, HistoryError> {
        let failed = self.failed("read");
        let words = "SELECT commit_id, figure, why FROM accepted WHERE subject = ?1 AND branch = ?2";
        let mut statement = self.connection.prepare(words).map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok(Accepted { commit: row.get(0)?, figure: row.get(1)?, why: row.get(2)? });
        let rows = statement.query_map([&key(subject), branch], row).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Removes the records of a commit and returns how many there were.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`].
    pub fn remove(&mut self, commit: &str) -> Result<usize, HistoryError> {
        let removed = |table| {
            let words = format!("DELETE FROM {table} WHERE commit_id = ?1");
            self.connection.execute(&words, [commit]).map_err(self.failed("remove from"))
        };
        Ok(removed("runs")? + removed("imported")?)
    }

    /// The subjects by name with their number of records or imported figures, on all branches or on `branch`.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`].
    pub fn subjects(&self, branch: Option<&str>) -> Result<Vec<(Subject, u64)>, HistoryError> {
        let failed = self.failed("read");
        let mut statement = self
            .connection
            .prepare(
                "SELECT subject, count(*) FROM (
                     SELECT subject, branch FROM runs UNION ALL SELECT subject, branch FROM imported)
                 WHERE ?1 IS NULL OR branch = ?1 GROUP BY subject ORDER BY subject",
            )
            .map_err(&failed)?;
        let rows = statement
            .query_map([branch], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))
            .map_err(&failed)?;
        let mut subjects = Vec::new();
        for row in rows {
            let (subject, count) = row.map_err(&failed)?;
            if let Ok(subject) = serde_json::from_str(&subject) {
                subjects.push((subject, count.unsigned_abs()));
            }
        }
        Ok(subjects)
    }

    /// The branches, the one with the most records first.
    ///
    /// # Errors
    /// [`HistoryError::Sqlite`].
    pub fn branches(&self) -> Result<Vec<String>, HistoryError> {
        let failed = self.failed("read");
        let mut statement = self
            .connection
            .prepare(
                "SELECT branch FROM (SELECT branch FROM runs UNION ALL SELECT branch FROM imported)
                 GROUP BY branch ORDER BY count(*) DESC, branch",
            )
            .map_err(&failed)?;
        let rows = statement.query_map([], |row| row.get(0)).map_err(&failed)?;
        rows.collect::<Result<_, _>>().map_err(&failed)
    }

    /// The records of `subject` on `branch` for its latest `commits` commits, oldest first.
    ///
    /// # Errors
    /// [`HistoryError`] if a record is damaged.
    pub fn entries(&self, subject: &Subject, branch: &str, commits: usize) -> Result<Vec<Entry>, HistoryError> {
        let failed = self.failed("read");
        let key = key(subject);
        // Commits of the same second keep the order in which they were added.
        let mut statement = self
            .connection
            .prepare(
                "SELECT commit_id, committed, title, record FROM runs
                 WHERE branch = ?1 AND subject = ?2 AND commit_id IN (
                     SELECT commit_id FROM runs WHERE branch = ?1 AND subject = ?2
                     GROUP BY commit_id ORDER BY max(committed) DESC, max(id) DESC LIMIT ?3)
                 ORDER BY committed, id",
            )
            .map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(Commit, Vec<u8>)> {
            let (id, committed, title) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((Commit { id, branch: branch.to_owned(), committed, title }, row.get(3)?))
        };
        let rows = statement
            .query_map(params![branch, key, i64::try_from(commits).unwrap_or(i64::MAX)], row)
            .map_err(&failed)?;
        let mut entries = Vec::new();
        for found in rows {
            let (commit, packed) = found.map_err(&failed)?;
            let record = unpacked(&packed).map_err(|message| HistoryError::Damaged {
                path: self.path.clone(),
                label: subject.to_string(),
                commit: commit.id.clone(),
                message,
            })?;
            entries.push(Entry { commit, record });
        }
        Ok(entries)
    }

    /// The records of each subject's latest commit on `branch`, with their origins, as a baseline.
    ///
    /// # Errors
    /// [`HistoryError`] if a record is damaged.
    pub fn baseline(&self, branch: &str) -> Result<Vec<(String, Record)>, HistoryError> {
        let mut found = Vec::new();
        for (subject, _) in self.subjects(Some(branch))? {
            let entries = self.entries(&subject, branch, 1)?;
            found.extend(
                entries.into_iter().map(|entry| (format!("history:{branch} {}", entry.commit.id), entry.record)),
            );
        }
        Ok(found)
    }
}

/// The key of a subject in the file.
fn key(subject: &Subject) -> String {
    serde_json::to_string(subject).expect("a subject has a JSON form")
}

mod imported;
#[cfg(test)]
mod tests;
