//! What went wrong, from logs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{plimsoll, run};

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/diagnose/logs").join(name).with_extension("log")
}

#[test]
fn the_exit_code_says_whether_there_was_an_event_and_whether_all_was_read() {
    for (files, expected) in [
        (vec![log("cuda_backward")], 1),
        (vec![log("not_denied")], 0),
        (vec![log("not_denied"), log("kernel_global")], 1),
        (vec![log("cuda_backward"), log("there_is_none")], 2),
    ] {
        let (code, out, err) = run(plimsoll().arg("diagnose").args(&files));
        assert_eq!(code, expected, "{files:?}: {out} {err}");
        assert_eq!(err.is_empty(), expected != 2, "{err}");
    }
}

#[test]
fn json_is_the_document_and_several_logs_are_one_story() {
    let (code, out, _) =
        run(plimsoll().arg("diagnose").args([log("killed_markdown"), log("kernel_global")]).arg("--json"));
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["schema"], &found["verdict"]), (1, &"plimsoll.findings/1".into(), &"host-kill".into()));
    assert_eq!(found["events"].as_array().unwrap().len(), 1, "the shell's line is the kernel's kill");
    let files: Vec<_> =
        found["events"][0]["evidence"].as_array().unwrap().iter().map(|e| e["file"].to_string()).collect();
    assert!(files.iter().any(|file| file.contains("killed_markdown")), "{files:?}");
}

#[test]
fn standard_input_and_gzip_are_read_and_a_damaged_one_is_told() {
    let mut command = plimsoll();
    command.args(["diagnose", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&fs::read(log("cuda_backward")).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &found["inputs"][0]["name"]), (Some(1), &"-".into()));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.log.gz");
    fs::write(&path, b"\x1f\x8b\x08\0\0\0\0\0\0\x03 no deflate at all").unwrap();
    let (code, _, err) = run(plimsoll().arg("diagnose").arg(&path));
    assert_eq!(code, 2);
    assert!(err.contains("damaged.log.gz"), "{err}");
}

#[test]
fn a_snapshot_is_named_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot.pickle");
    fs::write(&path, b"\x80\x04\x95\x02\0\0\0\0\0\0\0}\x94.").unwrap();
    let (code, _, err) = run(plimsoll().arg("diagnose").arg(&path));
    assert_eq!(code, 2);
    assert!(err.contains("snapshot"), "{err}");
}
