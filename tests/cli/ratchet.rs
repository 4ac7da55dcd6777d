//! `ratchet`: records of tests, and the source with their ceilings.

use std::fs;

use plimsoll::gate::Ratchet;

use crate::support::{plimsoll, run};

/// A folder with a source and the record of its test: a run under a ceiling of 4 GiB.
fn scene() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let source = "#[plimsoll::test(peak_rss = \"4 GiB\", swap_growth = \"0 B\")]\nfn ratcheted() {}\n";
    fs::create_dir_all(dir.path().join("src")).unwrap();
    fs::write(dir.path().join("src/lib.rs"), source).unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["ratchet::ratcheted", "--exact", "--include-ignored"]);
    let (code, out, err) = run(command.env("PLIMSOLL_RECORD_DIR", dir.path().join("records")));
    assert_eq!(code, 0, "{out}{err}");
    dir
}

/// The test whose record the others read.
#[plimsoll::test(peak_rss = "4 GiB", swap_growth = "0 B")]
#[ignore = "run by the tests below"]
fn ratcheted() {
    let block = std::hint::black_box(vec![1u8; 16 << 20]);
    assert_eq!(block.len(), 16 << 20);
}

#[test]
fn a_ceiling_is_lowered_where_it_stands_and_then_stands() {
    let dir = scene();
    let ratchet = |flags: &[&str]| run(plimsoll().current_dir(dir.path()).args(["ratchet", "records"]).args(flags));
    let source = || fs::read_to_string(dir.path().join("src/lib.rs")).unwrap();
    let before = source();

    let (code, out, err) = ratchet(&["--check"]);
    assert!(code == 1 && out.contains("1 ceiling could be lowered") && out.contains("src/lib.rs:1"), "{out}{err}");
    assert_eq!(source(), before);

    let (code, out, err) = ratchet(&["--json"]);
    assert_eq!(code, 0, "{err}");
    let found: Ratchet = serde_json::from_str(&out).unwrap();
    let lowering = &found.lowerings[0];
    assert_eq!((&*lowering.subject, lowering.runs, found.kept), ("ratchet::ratcheted", 1, 1));
    assert!(lowering.to.bytes() > 16 << 20 && lowering.to.bytes() < 256 << 20, "{}", lowering.to);
    assert_eq!(source(), before.replace("4 GiB", &lowering.to.exact()));

    // The record belongs to the earlier source.
    let (code, out, _) = ratchet(&[]);
    assert!(code == 0 && out.contains(": record the test again"), "{out}");
}

#[test]
fn what_cannot_be_read_is_2_and_no_ceiling_is_3() {
    let dir = scene();
    let ratchet = |arguments: &[&str]| run(plimsoll().current_dir(dir.path()).arg("ratchet").args(arguments));
    assert_eq!(ratchet(&["missing.json"]).0, 2);
    let (code, _, err) = ratchet(&["records", "--source", "missing"]);
    assert!(code == 2 && err.contains("cannot read missing"), "{err}");
    fs::create_dir(dir.path().join("empty")).unwrap();
    let (code, out, _) = ratchet(&["empty"]);
    assert!(code == 3 && out.contains("PLIMSOLL_RECORD_DIR"), "{out}");
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    let (code, out, _) = ratchet(&["records", "--source", "elsewhere"]);
    assert!(code == 0 && out.contains("the sources have no such test"), "{out}");
}
