//! Synthetic captures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Scene, comes, plimsoll, run, torch_python};

fn generate(dir: &Path, flags: &[&str]) -> Command {
    let mut command = plimsoll();
    command.arg("generate").arg(dir).args(flags);
    command
}

fn bytes_of(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read(p).unwrap())).collect()
}

const SMALL: [&str; 4] = ["--preset", "gemma4-e2b-gb10", "--scale", "1/1536"];

#[test]
fn a_capture_depends_on_its_seed_alone() {
    let scene = Scene::new(1);
    let make = |name: &str, more: &[&str]| {
        let dir = scene.path(name);
        let (code, _, err) = run(generate(&dir, &SMALL).args(["--entries", "4"]).args(more));
        assert_eq!(code, 0, "{err}");
        bytes_of(&dir)
    };
    let one = make("one", &["--threads", "1"]);
    assert_eq!(one.len(), 4);
    assert_eq!(one, make("two", &["--threads", "2"]));
    assert_ne!(one, make("seeded", &["--seed", "7"]));
}

#[test]
fn the_preset_checks_and_its_plan_is_told() {
    let scene = Scene::new(1);
    let dir = scene.path("gemma");
    let (code, out, _) = run(generate(&dir, &SMALL).args(["--json"]));
    assert_eq!(code, 0);
    let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
    let entries = plan["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 20);
    for (i, entry) in entries.iter().enumerate() {
        assert_eq!(entry["table"], serde_json::json!([262_144, if i % 2 == 0 { 1 } else { 5 }]));
        assert_eq!(entry["seq"], 128 + 16 * (i / 2));
        let size = fs::metadata(dir.join(entry["name"].as_str().unwrap())).unwrap().len();
        assert_eq!(entry["bytes"], size);
    }
    let (code, _, err) = run(plimsoll().arg("check").arg(&dir).args(["--kernel", "builtin:embedding", "--no-record"]));
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_total_is_kept() {
    let scene = Scene::new(1);
    let dir = scene.path("total");
    let (code, _, err) = run(&mut generate(&dir, &["--preset", "gemma4-e2b-gb10", "--total", "60MiB"]));
    assert_eq!(code, 0, "{err}");
    let total: u64 = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert!(total <= 60 << 20 && total > 40 << 20, "{total}");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let scene = Scene::new(2);
    let before = bytes_of(&scene.capture());
    let (code, _, err) = run(&mut generate(&scene.capture(), &SMALL));
    assert_eq!(code, 2);
    assert!(err.contains("not empty"), "{err}");
    assert_eq!(bytes_of(&scene.capture()), before);
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let scene = Scene::new(1);
    let flags = ["--preset", "embedding", "--vocab", "1000000000", "--dim", "100000", "--dtype", "float64"];
    let (code, _, err) = run(&mut generate(&scene.path("huge"), &flags));
    assert_eq!(code, 2);
    assert!(err.contains("disk"), "{err}");
    assert!(!scene.path("huge").exists());
}

#[test]
fn an_interrupted_generate_leaves_nothing_behind() {
    let scene = Scene::new(1);
    let dir = scene.path("interrupted");
    // Less than a GiB, which a disk has that others fill, and more than is written before the signal.
    let mut child = generate(&dir, &["--preset", "gemma4-e2b-gb10", "--scale", "1/64", "--threads", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The folder contains the scene's capture, and soon the one being written.
    let parent = dir.parent().unwrap();
    assert!(comes(|| fs::read_dir(parent).unwrap().count() > 1 || child.try_wait().unwrap().is_some()));
    // If it has ended, its number may be another's.
    if child.try_wait().unwrap().is_none() {
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    let left: Vec<_> = fs::read_dir(dir.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["capture"]);
}

#[test]
fn torch_reads_what_was_written_and_agrees_with_its_outputs() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let script = "
import sys, glob, torch
for dtype in sys.argv[2:]:
    for file in sorted(glob.glob(f'{sys.argv[1]}/{dtype}/entry_*.pt')):
        for mmap in (False, True):
            e = torch.load(file, weights_only=True, mmap=mmap)
            out = torch.nn.functional.embedding(*[e['kwargs'][p] for p in e['signature']['params']])
            assert out.dtype == getattr(torch, dtype) and torch.equal(out, e['output']), file
";
    let dtypes = ["float64", "float32", "float16", "bfloat16"];
    for dtype in dtypes {
        let (code, _, err) =
            run(&mut generate(&scene.path(dtype), &["--preset", "embedding", "--vocab", "100", "--dtype", dtype]));
        assert_eq!(code, 0, "{err}");
    }
    let dir = scene.capture().parent().unwrap().to_owned();
    let (code, _, err) = run(Command::new(python).arg("-c").arg(script).arg(dir).args(dtypes));
    assert_eq!(code, 0, "{err}");
}
