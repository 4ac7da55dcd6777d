//! Tests of histories, including hostile files.

use super::*;
use crate::gate::history::defence::MAX_PACKED;
use crate::record::sample;

fn commit(id: &str, committed: i64) -> Commit {
    Commit { id: id.to_owned(), branch: "main".to_owned(), committed, title: format!("change {id}") }
}

fn scene() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/history.sqlite");
    (dir, path)
}

#[test]
fn records_come_back_in_the_order_of_their_commits() {
    let (_dir, path) = scene();
    let mut history = History::create(&path).unwrap();
    for (id, at) in [("b", 20), ("a", 10), ("c", 30)] {
        let mut record = sample::command();
        record.wall_ns = at as u64;
        let added = history.add(&commit(id, at), &[record, sample::test()]).unwrap();
        assert_eq!(added, [Added::New, Added::New]);
    }
    drop(history);
    let mut history = History::open(&path).unwrap();
    let subject = Subject::of(&sample::command());
    let of = |history: &History, count| {
        let entries = history.entries(&subject, "main", count).unwrap();
        entries.into_iter().map(|entry| (entry.commit.id, entry.record.wall_ns)).collect::<Vec<_>>()
    };
    let all = [("a".to_owned(), 10), ("b".to_owned(), 20), ("c".to_owned(), 30)];
    assert_eq!(of(&history, 10), all);
    assert_eq!(of(&history, 2), all[1..]);
    assert_eq!(history.entries(&subject, "other", 10).unwrap(), []);
    assert_eq!(history.subjects(None).unwrap().len(), 2);
    assert_eq!(history.baseline("main").unwrap().len(), 2);
    assert_eq!(history.remove("c").unwrap(), 2);
    assert_eq!(of(&history, 10), all[..2]);
    assert_eq!(history.branches().unwrap(), ["main"]);
}

#[test]
fn a_record_is_added_once_and_whole_but_for_its_timelines() {
    let (_dir, path) = scene();
    let mut history = History::create(&path).unwrap();
    let record = sample::command();
    history.add(&commit("a", 1), std::slice::from_ref(&record)).unwrap();
    assert_eq!(history.add(&commit("a", 1), std::slice::from_ref(&record)).unwrap(), [Added::Known]);
    let entries = history.entries(&Subject::of(&record), "main", 9).unwrap();
    assert_eq!(entries, [Entry { commit: commit("a", 1), record: distilled(&record) }]);
}

#[test]
fn what_is_no_history_is_left_as_it_is() {
    let (dir, path) = scene();
    assert!(History::open(&path).unwrap_err().to_string().contains("`plimsoll history add RECORD` makes one"));
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    for (path, found) in [(&*pipe, "it is a pipe"), (dir.path(), "it is a folder")] {
        for error in [History::open(path), History::create(path)].map(|opened| opened.unwrap_err().to_string()) {
            assert!(error.contains(found) && error.contains("name another file with --history"), "{error}");
        }
    }
    let text = dir.path().join("text");
    std::fs::write(&text, "this is no database, but a text that is long enough to be looked into by it").unwrap();
    let error = History::open(&text).unwrap_err().to_string();
    assert!(error.contains("not an SQLite file"), "{error}");
    let other = dir.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
    let error = History::create(&other).unwrap_err().to_string();
    assert!(error.contains("another program's"), "{error}");
    let later = dir.path().join("later.sqlite");
    drop(History::create(&later).unwrap());
    Connection::open(&later).unwrap().pragma_update(None, "user_version", 9).unwrap();
    let error = History::create(&later).unwrap_err().to_string();
    assert!(error.contains("version 9"), "{error}");
}

/// A history with one record, after a stranger ran `sql` on it.
fn hostile(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = scene();
    History::create(&path).unwrap().add(&commit("a", 1), &[sample::command()]).unwrap();
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (dir, path)
}

#[test]
fn a_schema_with_anything_of_its_own_is_refused() {
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT * FROM c";
    for sql in [
        format!("ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS {endless}"),
        format!("CREATE VIEW more AS {endless}"),
        "CREATE TRIGGER t BEFORE INSERT ON runs BEGIN SELECT RAISE(IGNORE); END".to_owned(),
        "CREATE TABLE more (x)".to_owned(),
        "DROP INDEX runs_in_order; CREATE INDEX runs_in_order ON runs (hex(title))".to_owned(),
        "ALTER TABLE runs ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(title)) VIRTUAL".to_owned(),
    ] {
        let (_dir, path) = hostile(&sql);
        for found in [History::open(&path), History::create(&path)] {
            let error = found.map(drop).unwrap_err();
            assert!(
                matches!(&error, HistoryError::Foreign { found, .. } if found.contains("tables")),
                "{sql}: {error}"
            );
        }
    }
    let (_dir, path) = hostile("VACUUM");
    assert_eq!(History::open(&path).unwrap().branches().unwrap(), ["main"]);
}

#[test]
fn work_that_has_no_end_is_ended() {
    let (_dir, path) = hostile("");
    let history = History::open(&path).unwrap();
    let endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";
    let error = history.connection.query_row(endless, [], |row| row.get::<_, i64>(0)).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
}

#[test]
fn records_that_unpack_to_more_than_any_are_damaged() {
    use std::io::Write as _;
    let (_dir, path) = hostile("");
    let mut zeros = zstd::Encoder::new(Vec::new(), 3).unwrap();
    for _ in 0..MAX_TEXT.bytes() >> 20 {
        zeros.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    zeros.write_all(b" ").unwrap();
    let mut wide = zstd::Encoder::new(Vec::new(), 3).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(b"{}").unwrap();
    for (packed, says) in [(zeros.finish().unwrap(), "more than"), (wide.finish().unwrap(), "memory")] {
        let history = History::open(&path).unwrap();
        history.connection.execute("UPDATE runs SET record = ?1", [packed]).unwrap();
        let error = history.baseline("main").unwrap_err().to_string();
        assert!(error.contains("damaged record") && error.contains(says), "{error}");
    }
    let large = vec![0u8; MAX_PACKED.bytes() as usize + (2 << 20)];
    Connection::open(&path).unwrap().execute("UPDATE runs SET record = ?1", [large]).unwrap();
    let error = History::open(&path).unwrap().baseline("main").unwrap_err();
    assert!(matches!(error, HistoryError::Sqlite { .. }), "{error}");
    assert!(std::error::Error::source(&error).is_none(), "SQLite's own words would follow");
}

#[test]
fn a_pipe_in_the_place_of_a_journal_is_waited_for_by_nobody() {
    let (dir, path) = scene();
    drop(History::create(&path).unwrap());
    let link = dir.path().join("link.sqlite");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for end in ["-journal", "-wal", "-shm"] {
        let mut pipe = path.clone();
        pipe.as_mut_os_string().push(end);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        for found in [History::open(&path), History::create(&path), History::open(&link)] {
            assert!(matches!(&found, Err(HistoryError::Foreign { .. })), "{end}: {found:?}");
        }
        std::fs::remove_file(&pipe).unwrap();
    }
    assert!(History::open(&link).is_ok());
}

#[test]
fn a_damaged_record_is_named() {
    let (_dir, path) = scene();
    let mut history = History::create(&path).unwrap();
    history.add(&commit("a", 1), &[sample::command()]).unwrap();
    history.connection.execute("UPDATE runs SET record = x'00'", []).unwrap();
    let error = history.baseline("main").unwrap_err().to_string();
    assert!(error.contains("damaged record of train at a") && error.contains("history remove --commit a"), "{error}");
}

#[test]
fn a_history_of_the_first_version_takes_accepted_steps() {
    let (dir, path) = scene();
    std::fs::create_dir(dir.path().join("a")).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(RUNS).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    drop(connection);
    let subject = Subject::of(&sample::command());
    let accepted = |why: &str| Accepted { commit: "a".to_owned(), figure: "peak_rss".to_owned(), why: why.to_owned() };
    let mut history = History::open(&path).unwrap();
    for why in ["it caches", "it caches more"] {
        history.accept(&subject, "main", &accepted(why)).unwrap();
    }
    let history = History::open(&path).unwrap();
    assert_eq!(history.accepted(&subject, "main").unwrap(), [accepted("it caches more")]);
    assert_eq!(history.accepted(&subject, "other").unwrap(), []);
}
