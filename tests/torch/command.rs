//! `torch:` kernels behind the command.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::record::{Failure, FailureKind, Record, Semantics};
use tempfile::TempDir;

use crate::support::{plimsoll, python, run};

/// A small capture of embeddings.
pub fn embeddings(entries: u32) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("capture");
    let mut generate = plimsoll();
    generate.arg("generate").arg(&capture).args(["--preset", "embedding", "--vocab", "512", "--dim", "64"]);
    let (code, _, err) = run(generate.args(["--seq", "32", "--entries", &entries.to_string()]));
    assert_eq!(code, 0, "{err}");
    (dir, capture)
}

/// Why entries failed.
pub fn failures(record: &Record) -> Vec<Failure> {
    record.results.entries.iter().filter_map(|entry| entry.failure().cloned()).collect()
}

/// The exit code of a command on a capture, and the record that it leaves beside it.
pub fn recorded(command: &mut Command, capture: &Path) -> (i32, Record) {
    let file = capture.with_extension("record.json");
    let (code, out, err) = run(command.arg("--record").arg(&file));
    (code, Record::read(&file).unwrap_or_else(|error| panic!("{error}\n{out}\n{err}")))
}

fn record(part: &str, capture: &Path, kernel: &str, more: &[&str]) -> (i32, Record) {
    recorded(plimsoll().arg(part).arg(capture).args(["--kernel", kernel]).args(more), capture)
}

#[test]
fn a_capture_is_checked_by_the_operator_itself() {
    let (_dir, capture) = embeddings(3);
    let (code, record) = record("check", &capture, "torch:embedding", &["--launches", "5", "--warmup", "1"]);
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    assert!(record.results.entries.iter().all(|result| result.validation.as_ref().unwrap().passed()));
    assert!(record.results.entries.iter().all(|result| result.profile.as_ref().unwrap().samples_ns.len() == 1));
    assert_eq!(record.environment.versions["libtorch"], "2.11.0");
}

#[test]
fn two_kernels_of_which_any_is_an_operator_are_timed_in_turns() {
    let (dir, capture) = embeddings(1);
    let linear = dir.path().join("linear");
    let made = run(plimsoll().arg("generate").arg(&linear).args(["--op", "linear", "--entries", "1"]));
    assert_eq!(made.0, 0, "{}", made.2);
    let turns = |capture: &Path, kernel: &str, other: &str| {
        let flags = ["--vs", other, "--pairs", "2", "--launches", "2", "--warmup", "1"];
        let (code, record) = record("check", capture, kernel, &flags);
        (code, record.results.versus.clone().unwrap_or_else(|| panic!("{:#?}", record.verdicts)))
    };
    for (capture, kernel, other) in
        [(&capture, "builtin:embedding", "torch:embedding"), (&linear, "torch:linear", "torch:aten::linear")]
    {
        let (code, versus) = turns(capture, kernel, other);
        assert_eq!((code, versus.pairs[0].times_ns.len()), (0, 2), "{versus:#?}");
        assert!(versus.entries.iter().all(|entry| entry.validation.as_ref().unwrap().passed()));
    }
}

/// A capture written by torch, whose outputs differ from the function's.
const WRONG: &str = "
import sys, torch
torch.manual_seed(0)
x, w = torch.randn(3, 4), torch.randn(5, 4)
torch.save({'function_name': 'torch.nn.functional.linear', 'args': [x, w], 'kwargs': {}, 'output': torch.zeros(3, 5),
            'signature': {'params': ['input', 'weight', 'bias'], 'defaults': {'bias': None}}}, sys.argv[1])
";

#[test]
fn a_reference_recomputes_what_is_expected() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("capture");
    std::fs::create_dir(&capture).unwrap();
    let made = Command::new(python()).args(["-c", WRONG]).arg(capture.join("entry_000000.pt")).status().unwrap();
    assert!(made.success());
    let (code, captured) = record("validate", &capture, "torch:linear", &[]);
    assert_eq!(code, 1, "what was captured is wrong");
    let (code, recomputed) = record("validate", &capture, "torch:aten::linear", &["--reference", "torch"]);
    assert_eq!(code, 0, "{:#?}", recomputed.verdicts);
    let Semantics::Capture(semantics) = &recomputed.semantics else { panic!("{:?}", recomputed.semantics) };
    assert_eq!(semantics.reference.as_ref().unwrap().name, "torch:linear");
    assert_ne!(captured.semantics_digest, recomputed.semantics_digest);
    assert_eq!(recomputed.environment.versions["libtorch"], "2.11.0");
    // A failing reference is named, with its message.
    let (code, failed) = record("validate", &capture, "torch:linear", &["--reference", "torch:embedding"]);
    let failure = failed.results.entries[0].validation.as_ref().unwrap().error.clone().unwrap();
    assert_eq!((code, failure.kind), (1, FailureKind::Unsupported), "{}", failure.message);
    assert!(failure.message.starts_with("the reference torch:embedding: "), "{}", failure.message);
}

fn shown(name: &str, kernel: &str) {
    let (kind, message) = failure(kernel);
    insta::with_settings!({snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, format!("{}: {message}", kind.name()));
    });
}

fn failure(kernel: &str) -> (FailureKind, String) {
    let (_dir, capture) = embeddings(1);
    let (code, record) = record("validate", &capture, kernel, &[]);
    assert_eq!(code, 1);
    let failure = record.results.entries[0].validation.as_ref().unwrap().error.clone().unwrap();
    (failure.kind, failure.message)
}

#[test]
fn an_operator_that_does_not_exist_is_unsupported() {
    shown("torch_no_such_operator", "torch:softermax");
}

#[test]
fn an_operator_that_does_not_take_the_call_says_what_it_takes() {
    shown("torch_another_call", "torch:linear");
}

#[test]
fn a_worker_whose_libtorch_is_gone_says_so() {
    let (dir, capture) = embeddings(1);
    // The worker itself, with one letter changed in the path where it looks for libtorch.
    let worker = dir.path().join("worker");
    let mut program = std::fs::read(env!("CARGO_BIN_EXE_plimsoll-torch-worker")).unwrap();
    let (path, gone) = (b"torch/lib\0", b"torch/lob\0");
    let found: Vec<usize> = (0..program.len() - path.len()).filter(|&at| program[at..].starts_with(path)).collect();
    assert!(!found.is_empty(), "the worker has the path of libtorch in it");
    found.into_iter().for_each(|at| program[at..at + gone.len()].copy_from_slice(gone));
    std::fs::write(&worker, program).unwrap();
    std::fs::set_permissions(&worker, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let record = dir.path().join("record.json");
    let mut check = plimsoll();
    check.arg("check").arg(&capture).args(["--kernel", "torch:embedding", "--record"]).arg(&record);
    let mut reference = plimsoll();
    reference.arg("validate").arg(&capture).args([
        "--kernel",
        "builtin:embedding",
        "--reference",
        "torch",
        "--no-record",
    ]);
    let mut generate = plimsoll();
    generate.arg("generate").arg(dir.path().join("made")).args(["--op", "relu"]);
    for mut command in [check, reference, generate] {
        command.env("PLIMSOLL_TORCH_WORKER", &worker).env_remove("LD_LIBRARY_PATH");
        let (code, out, err) = run(&mut command);
        assert_eq!((code, out.as_str()), (3, ""), "{err}");
        assert!(
            err.contains("cannot be started without it: error while loading shared libraries: libtorch_cpu.so"),
            "{err}"
        );
        assert!(err.contains("build the worker again"), "{err}");
    }
    assert!(!record.exists() && !dir.path().join("made").exists(), "nothing is left of what was not done");
}

#[test]
fn captures_of_operators_are_made_and_hold_what_they_compute() {
    let dir = tempfile::tempdir().unwrap();
    let generate = |name: &str, flags: &[&str]| {
        let capture = dir.path().join(name);
        let mut command = plimsoll();
        let made = run(command.arg("generate").arg(&capture).args(flags));
        (capture, made)
    };
    let pool = ["--op", "adaptive_max_pool2d", "--entries", "2", "--arg", "return_indices=true", "--seed", "7"];
    let (capture, (code, out, err)) = generate("pool", &pool);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("2 entries of torch.nn.functional.adaptive_max_pool2d"), "{out}");
    let (code, record) = record("validate", &capture, "torch:adaptive_max_pool2d", &["--compare", "exact"]);
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    assert_eq!(record.results.entries[0].validation.as_ref().unwrap().leaves.len(), 2, "values and indices");
    let (again, _) = generate("again", &pool);
    let bytes = |capture: &Path| std::fs::read(capture.join("entry_000001.pt")).unwrap();
    assert_eq!(bytes(&capture), bytes(&again));

    let mm = ["--op", "aten::mm", "--entries", "1", "--arg", "self=float64[2,3]", "--arg", "mat2=float64[3,4]"];
    assert_eq!(generate("mm", &mm).1.0, 0);
    for (flags, message) in [
        (&["--op", "mm"][..], "give its arguments, each with --arg"),
        (&["--op", "linear", "--arg", "weight=float32[3,3]"], "its output could not be computed: "),
        (&["--op", "linear", "--arg", "weight=many things"], "is not an argument"),
        (&["--op", "linear", "--preset", "embedding"], "cannot be used with"),
    ] {
        let (capture, (code, out, err)) = generate("wrong", flags);
        assert_eq!((code, out.as_str(), capture.exists()), (2, "", false), "{err}");
        assert!(err.contains(message), "{err}");
    }
}
