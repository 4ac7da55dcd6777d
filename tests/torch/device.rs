//! `torch:` kernels on an emulated device, and the message if libtorch cannot use one.

#[path = "../emulation/mod.rs"]
mod emulation;

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::gpu::PlaceKind;
use plimsoll::record::Record;

use crate::command::{embeddings, failures, recorded};
use crate::support::{plimsoll, python, run};
use emulation::libraries;

const INPUTS: u64 = 512 * 64 * 2 + 32 * 8;
const OUTPUT: u64 = 32 * 64 * 2;

/// A command on a device of the emulated driver.
fn on_device(part: &str, capture: &Path, kernel: &str) -> Command {
    let mut command = plimsoll();
    command.arg(part).arg(capture).args(["--kernel", kernel, "--device", "cuda"]);
    command.env("LD_LIBRARY_PATH", libraries());
    command
}

/// Runs a part with the worker that computes where the emulated driver has the tensors.
fn emulated(part: &str, capture: &Path, kernel: &str, more: &[&str]) -> (i32, Record) {
    let worker = Path::new(env!("CARGO_BIN_EXE_plimsoll-torch-worker"));
    let worker = worker.with_file_name("examples/emulated-torch-worker");
    assert!(worker.is_file(), "{} is not built: `cargo test` builds it with the tests", worker.display());
    let mut command = on_device(part, capture, kernel);
    recorded(command.args(more).env("PLIMSOLL_TORCH_WORKER", worker), capture)
}

#[test]
fn an_operator_computes_on_uploaded_tensors_and_its_outputs_are_brought_back() {
    let (_dir, capture) = embeddings(3);
    let (code, record) = emulated("check", &capture, "torch:embedding", &["--launches", "3", "--warmup", "1"]);
    assert_eq!(code, 0, "{:#?} {:#?}", record.verdicts, failures(&record));
    assert_eq!(record.semantics.capture().unwrap().device, PlaceKind::Cuda);
    for entry in &record.results.entries {
        let (validation, profile) = (entry.validation.as_ref().unwrap(), entry.profile.as_ref().unwrap());
        for device in [validation.device.unwrap(), profile.device.unwrap()] {
            assert_eq!((device.inputs.bytes(), device.outputs.bytes()), (INPUTS, OUTPUT));
            let allocator = device.allocator.unwrap();
            assert_eq!((allocator.allocated.bytes(), allocator.allocated_peak.bytes()), (OUTPUT, OUTPUT + 4096));
            assert_eq!(device.workspace().unwrap().bytes(), 4096, "what is beside the outputs");
        }
        assert_eq!(profile.samples_ns.len(), 1, "a mean between two events");
    }
}

#[test]
fn operators_of_every_shape_of_output_are_judged_on_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let generated = |name: &str, flags: &[&str]| -> PathBuf {
        let capture = dir.path().join(name);
        let (code, _, err) = run(plimsoll().arg("generate").arg(&capture).args(["--entries", "1"]).args(flags));
        assert_eq!(code, 0, "{err}");
        capture
    };
    // Two tensors; a view of the input that is not contiguous; a tensor without elements.
    for (name, protocol, flags) in [
        ("adaptive_max_pool2d", "samples", &["--op", "adaptive_max_pool2d", "--arg", "return_indices=true"][..]),
        ("aten::t", "cold", &["--op", "aten::t", "--arg", "self=float32[3,5]"]),
        ("relu", "until", &["--op", "relu", "--arg", "input=float32[0,4]"]),
    ] {
        let capture = generated(name.trim_start_matches("aten::"), flags);
        let kernel = format!("torch:{name}");
        let flags = ["--protocol", protocol, "--launches", "3", "--warmup", "1", "--compare", "exact"];
        let (code, record) = emulated("check", &capture, &kernel, &flags);
        assert_eq!(code, 0, "{name}: {:#?} {:#?}", record.verdicts, failures(&record));
    }
    let capture = generated("silu", &["--op", "silu", "--arg", "input=float32[64]", "--arg", "inplace=true"]);
    let (code, record) = emulated("validate", &capture, "torch:silu", &[]);
    let failure = failures(&record).remove(0);
    assert_eq!((code, failure.kind.name()), (1, "mutated-input"), "{}", failure.message);
    let flags = ["--mutates", "input", "--launches", "2", "--warmup", "1"];
    let (code, record) = emulated("check", &capture, "torch:silu", &flags);
    assert_eq!(code, 0, "{:#?} {:#?}", record.verdicts, failures(&record));
}

#[test]
fn a_reference_that_is_built_in_computes_on_the_cpu_beside_the_device() {
    let (_dir, capture) = embeddings(1);
    let (code, record) = emulated("validate", &capture, "torch:embedding", &["--reference", "builtin:embedding"]);
    assert_eq!(code, 0, "{:#?} {:#?}", record.verdicts, failures(&record));
}

#[test]
fn a_libtorch_that_sees_no_gpu_is_told_so() {
    let (_dir, capture) = embeddings(1);
    let (code, out, err) = run(on_device("check", &capture, "torch:embedding").arg("--no-record"));
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("libtorch 2.11.0 sees no GPU, and cuda:0 was asked for"), "{err}");
}

#[test]
fn a_libtorch_that_is_built_without_cuda_is_told_so() {
    let (dir, capture) = embeddings(1);
    // The complete libtorch that the worker was built with, except its CUDA part.
    let find = "import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec('torch').origin)))";
    let found = Command::new(python()).args(["-c", find]).output().unwrap();
    let packages = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    let folder = dir.path().join("packages/torch/lib");
    std::fs::create_dir_all(&folder).unwrap();
    let link = |from: PathBuf, to: PathBuf| std::os::unix::fs::symlink(from, to).unwrap();
    link(packages.join("nvidia"), dir.path().join("packages/nvidia"));
    for file in std::fs::read_dir(packages.join("torch/lib")).unwrap() {
        let file = file.unwrap();
        if file.file_name() != "libtorch_cuda.so" {
            link(file.path(), folder.join(file.file_name()));
        }
    }
    let mut check = on_device("check", &capture, "torch:embedding");
    check.arg("--no-record").env("LD_LIBRARY_PATH", format!("{}:{}", libraries().display(), folder.display()));
    let (code, out, err) = run(&mut check);
    assert_eq!((code, out.as_str()), (3, ""));
    let without = format!("is built without CUDA (there is no {}/libtorch_cuda.so)", folder.display());
    assert!(err.contains(&without), "{err}");
}

#[test]
fn a_graph_is_not_taken_of_an_operator() {
    let (_dir, capture) = embeddings(1);
    let (code, _, err) = run(on_device("check", &capture, "torch:embedding").arg("--graph"));
    assert_eq!((code, err.as_str()), (2, "error: --graph takes lib: kernels, and not torch:embedding\n"));
}
