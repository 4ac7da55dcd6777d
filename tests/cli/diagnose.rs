//! Diagnoses from logs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

#[test]
fn a_broken_ceiling_of_a_record_is_told_and_is_no_oom() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.json");
    let (code, ..) = run(plimsoll().args(["run", "--peak-rss", "32MiB", "--record"]).arg(&record).args([
        "--",
        "python3",
        "-c",
        "block = bytearray(64 << 20)",
    ]));
    assert_eq!(code, 1);
    let (code, out, _) = run(plimsoll().args(["diagnose", "--json"]).arg(&record));
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["verdict"]), (0, &"process-cap".into()), "{out}");
    let event = &found["events"][0];
    assert_eq!(event["numbers"]["allowed"], 32 << 20);
    assert!(event["numbers"]["this_process"].as_u64().unwrap() > 64 << 20, "{event}");
    let input = &found["inputs"][0];
    assert_eq!(input["bytes"], fs::metadata(&record).unwrap().len());
    assert_eq!(input.get("lines"), None, "a record is no text");
}

#[test]
fn the_advice_says_what_is_enough_for_the_model_that_is_told() {
    let model = ["--params", "4e9", "--optimizer", "adam", "--precision", "bf16-mixed"];
    let advice = |vram: &str| {
        let (_, out, _) =
            run(plimsoll().args(["diagnose", "--json", "--vram", vram]).args(model).arg(log("cuda_backward")));
        let found: Value = serde_json::from_str(&out).unwrap();
        found["events"][0]["advice"].as_array().unwrap().clone()
    };
    // The state of 4e9 parameters takes 64e9 bytes, 40e9 with an 8-bit optimizer, and none on the device if offloaded.
    let rungs = |vram: &str| -> Vec<(u64, bool)> {
        // The trainer's own settings come first and are not rungs.
        let told = |advice: &Value| Some((advice["rung"].as_u64()?, advice["fits"].as_bool().unwrap()));
        advice(vram).iter().filter_map(told).collect()
    };
    assert_eq!(rungs("48GiB"), [(7, true)], "the first that is enough ends the ladder");
    assert_eq!(rungs("24GiB"), [(7, false), (9, true)]);
}

#[test]
fn a_log_is_followed_as_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.log");
    fs::write(&path, "step 1\n").unwrap();
    let mut command = plimsoll();
    let mut child = command.args(["diagnose", "--follow", "--json"]).arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut log_file = fs::File::options().append(true).open(&path).unwrap();
    for backend in ["cuda_backward", "cuda_eval"] {
        log_file.write_all(&fs::read(log(backend)).unwrap()).unwrap();
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(event["kind"], "vram-oom", "{event}");
    }
    // Not SIGINT: a shell's background jobs ignore it.
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(!child.wait().unwrap().success());
}
