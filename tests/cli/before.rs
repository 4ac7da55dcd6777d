//! Files that earlier versions wrote (`tests/data/before`) read as they did: records of every kind, a store, a history.
//!
//! A change that breaks one of them needs a new version of its format. Files are added, never written anew.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::record::{Record, Semantics};

use crate::support::{plimsoll, run};

fn before(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/before").join(name)
}

/// A copy, for commands that write beside what they read.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn records_are_read_reported_and_compared() {
    for (name, kind) in
        [("check", "capture"), ("versus", "capture"), ("audit", "capture"), ("run", "command"), ("test", "test")]
    {
        let path = before(&format!("{name}.json"));
        // Reading includes the digest of the semantics, as today's code computes it.
        let record = Record::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = match &record.semantics {
            Semantics::Capture(_) => "capture",
            Semantics::Command(_) => "command",
            Semantics::Test(_) => "test",
        };
        assert_eq!(found, kind, "{name}");
        for words in [&["report"][..], &["compare", path.to_str().unwrap()]] {
            let (code, _, err) = run(plimsoll().args(words).arg(&path));
            assert_eq!(code, 0, "{words:?} {name}: {err}");
        }
    }
}

#[test]
fn a_record_is_a_baseline() {
    let run_before = before("run.json");
    let (code, out, err) = run(plimsoll().args(["gate", "--baseline"]).arg(&run_before).arg(&run_before));
    // Two runs are too few for a verdict, and are compared.
    assert!(code == 3 && out.contains("true  2 runs against 2 runs"), "{out}{err}");
}

#[test]
fn a_store_holds_and_gives_back_its_capture() {
    let dir = tempfile::tempdir().unwrap();
    let (store, out) = (dir.path().join("store"), dir.path().join("out"));
    copy(&before("store"), &store);
    let (code, said, err) = run(plimsoll().arg("verify").arg(&store));
    assert!(code == 0 && said.contains("everything holds"), "{said}{err}");
    let (code, _, err) = run(plimsoll().arg("unpack").arg(&store).arg("--out").arg(&out));
    assert_eq!(code, 0, "{err}");
    let (code, said, err) =
        run(plimsoll().args(["validate", "--kernel", "builtin:embedding", "--no-record"]).arg(&out));
    assert_eq!(code, 0, "{said}{err}");
}

#[test]
fn a_history_is_shown_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let history = dir.path().join("history.sqlite");
    copy(&before("history.sqlite"), &history);
    for (words, says) in [("show", "a3d6992ef8"), ("check", "")] {
        let (code, out, err) = run(plimsoll().args(["history", words, "--history"]).arg(&history));
        assert!(code == 0 && out.contains(says), "{words}: {out}{err}");
    }
}
