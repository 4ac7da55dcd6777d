//! Kernels in a process of PyTorch.

use std::process::Command;

use plimsoll::record::{Record, ValidationStatus};

use crate::support::{Scene, kernel, plimsoll, run, torch_python};

fn check(scene: &Scene, part: &str, name: &str) -> Option<Command> {
    let python = torch_python()?;
    let mut command = scene.command(part);
    command.arg("--kernel").arg(kernel(name)).arg("--python").arg(python);
    Some(command)
}

fn passes(name: &str) {
    let scene = Scene::new(3);
    let Some(mut command) = check(&scene, "check", name) else { return };
    let (code, record) = scene.run(command.args(["--launches", "5", "--warmup", "1"]));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    assert!(record.results.entries.iter().all(|r| r.validation.as_ref().unwrap().passed()));
    assert_eq!(record.environment.versions["torch"].split('+').next(), Some("2.11.0"));
}

#[test]
fn torchs_own_embedding_passes() {
    passes("torch_embedding");
}

#[test]
fn a_cpp_kernel_as_kernelforge_writes_it_passes() {
    passes("inline_embedding");
}

#[test]
fn a_kernel_in_triton_passes() {
    let scene = Scene::new(1);
    let Some(mut validate) = check(&scene, "validate", "triton_embedding") else { return };
    // On the CPU, where Triton interprets it; harness/gpu-check.sh runs it on a GPU.
    let (code, record) = scene.run(validate.env("TRITON_INTERPRET", "1"));
    assert_eq!(code, 0, "{:#?}", record.results);
}

#[test]
fn a_kernel_that_prints_the_protocol_passes() {
    passes("prints");
}

#[test]
fn a_kernel_that_forks_is_validated() {
    let scene = Scene::new(3);
    let Some(mut command) = check(&scene, "validate", "forks") else { return };
    let (code, record) = scene.run(&mut command);
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    assert_eq!(record.releases.len(), 1, "the worker lives through it");
}

#[test]
fn a_kernel_that_closes_standard_descriptors_passes() {
    passes("closes_standard");
}

#[test]
fn a_kernel_that_writes_its_inputs_leaves_the_capture_alone() {
    let scene = Scene::new(2);
    let Some(mut command) = check(&scene, "validate", "mutates_inputs") else { return };
    let before = std::fs::read(scene.entry(0)).unwrap();
    let (code, _) = scene.run(command.args(["--mutates", "input,weight"]));
    assert_eq!(code, 0);
    assert_eq!(std::fs::read(scene.entry(0)).unwrap(), before);
}

fn mismatches(name: &str) -> Option<Record> {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut check(&scene, "validate", name)?);
    assert_eq!(code, 1);
    for result in &record.results.entries {
        assert_eq!(result.validation.as_ref().unwrap().status, ValidationStatus::Mismatch);
    }
    Some(record)
}

#[test]
fn nan_where_a_number_is_expected_is_a_mismatch() {
    let Some(record) = mismatches("writes_nan") else { return };
    let elements = record.results.entries[0].validation.as_ref().unwrap().leaves[0].elements.clone().unwrap();
    assert_eq!((elements.mismatches, elements.actual.nan, elements.expected.nan), (1, 1, 0));
    assert_eq!(elements.first_mismatch.unwrap().actual, "nan");
}

#[test]
fn a_wrong_shape_or_dtype_is_a_mismatch_that_says_so() {
    let problem =
        |record: Record| record.results.entries[0].validation.as_ref().unwrap().leaves[0].problem.clone().unwrap();
    let (Some(shape), Some(dtype)) = (mismatches("wrong_shape"), mismatches("wrong_dtype")) else { return };
    assert!(problem(shape).contains("[32, 64]"));
    assert!(problem(dtype).contains("float32"));
}

#[test]
fn a_kernel_that_cannot_be_loaded_is_told_once_for_all_entries() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(3);
    let broken = scene.path("broken.py");
    std::fs::write(&broken, "import torch\nlaunch = no_such_name\n").unwrap();
    let (code, record) = scene.run(
        scene.command("validate").arg("--kernel").arg(format!("py:{}", broken.display())).arg("--python").arg(python),
    );
    assert_eq!(code, 1);
    assert_eq!(record.releases.len(), 1, "no worker is started for a kernel that cannot be loaded");
    for result in &record.results.entries {
        let error = result.validation.as_ref().unwrap().error.as_ref().unwrap();
        assert!(error.message.contains("no_such_name"), "{}", error.message);
    }
}

/// The message if `python` should launch a kernel, and whether there is a record of it.
fn with_python(python: &str) -> (i32, String, bool) {
    let scene = Scene::new(1);
    let mut command = scene.command("validate");
    command.arg("--kernel").arg(kernel("torch_embedding")).args(["--python", python]);
    let (code, out, err) = run(&mut command);
    (code, out + &err, scene.path("record.json").exists())
}

#[test]
fn where_there_is_no_python_nothing_is_measured_and_it_says_what_to_do() {
    let (code, said, measured) = with_python("/nowhere/python3");
    assert_eq!((code, measured), (3, false), "{said}");
    assert!(said.contains("/nowhere/python3 could not be started: No such file or directory"), "{said}");
    assert!(said.contains("name a Python that has torch with --python or PLIMSOLL_PYTHON"), "{said}");
}

#[test]
fn a_python_without_torch_measures_nothing_and_says_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let Some(python) = torch_python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("python3");
    std::fs::write(&bare, format!("#!/bin/sh\nexec '{}' -S \"$@\"\n", python.display())).unwrap();
    std::fs::set_permissions(&bare, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (code, said, measured) = with_python(bare.to_str().unwrap());
    assert_eq!((code, measured), (3, false), "{said}");
    assert!(said.contains("torch is not installed in") && said.contains("set --python or PLIMSOLL_PYTHON"), "{said}");
}

#[test]
fn a_python_that_ends_at_once_is_a_failure_of_the_kernel() {
    let (code, said, measured) = with_python("/bin/false");
    assert_eq!((code, measured), (1, true), "{said}");
    assert!(said.contains("exited with code 1"), "{said}");
}

#[test]
fn captures_of_other_operators_that_torch_wrote_pass_with_torchs_own_kernels() {
    let Some(python) = torch_python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/python/make_captures.py");
    let (code, _, err) = run(Command::new(&python).arg(script).arg(dir.path()));
    assert_eq!(code, 0, "{err}");
    for (name, entries) in [("linear", 4), ("max_pool2d", 1), ("softmax", 2), ("nested", 1)] {
        let record = dir.path().join("record.json");
        let mut command = plimsoll();
        command.arg("check").arg(dir.path().join(name)).arg("--python").arg(&python).arg("--record").arg(&record);
        command.arg("--kernel").arg(format!("py:{}.py", dir.path().join(name).display())).args(["--launches", "2"]);
        let (code, out, err) = run(&mut command);
        assert_eq!(code, 0, "{name}: {out}{err}");
        assert_eq!(Record::read(&record).unwrap().results.entries.len(), entries);
    }
}
