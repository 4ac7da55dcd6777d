//! Kernels that attack their judgement: none passes, and each is reported by name. Honest kernels that look similar
//! pass.

use std::path::Path;
use std::process::Command;

use plimsoll::record::{EntryResult, Failure, FailureKind, ValidationStatus};

use crate::library::built;
use crate::support::{Scene, torch_python};

/// The command on the cheat `name` of the library.
fn library(scene: &Scene, part: &str, name: &str) -> Command {
    let library = built(scene, "tests/kernels/library/cheats.c");
    let mut command = scene.command(part);
    command.arg("--kernel").arg(format!("lib:{}:{name}", library.display()));
    command.args(["--launches", "20", "--warmup", "1"]);
    command
}

fn validation_failure(result: &EntryResult) -> Failure {
    let validation = result.validation.as_ref().unwrap();
    assert_eq!(validation.status, ValidationStatus::Error, "{validation:#?}");
    *validation.error.clone().unwrap()
}

#[test]
fn a_capture_that_the_kernel_rewrites_is_not_judged_by() {
    let scene = Scene::new(1);
    let modified = || std::fs::metadata(scene.entry(0)).unwrap().modified().unwrap();
    let (before, time) = (std::fs::read(scene.entry(0)).unwrap(), modified());
    let (code, record) = scene.run(&mut library(&scene, "validate", "rewrites_the_capture"));
    let failure = validation_failure(&record.results.entries[0]);
    assert_eq!((code, failure.kind), (1, FailureKind::Input));
    assert!(failure.message.contains("changed while it was being read"), "{}", failure.message);
    assert!(std::fs::read(scene.entry(0)).unwrap() != before && modified() == time, "the kernel did what it is for");

    // The next run starts with the file as it is now.
    let adversaries = built(&scene, "tests/kernels/library/adversaries.c");
    let mut zeros = scene.command("validate");
    let (code, record) = scene.run(zeros.arg("--kernel").arg(format!("lib:{}:zeros", adversaries.display())));
    let failure = validation_failure(&record.results.entries[0]);
    assert_eq!((code, failure.kind), (1, FailureKind::Input));
    assert!(failure.message.contains("CRC-32"), "{}", failure.message);
}

#[test]
fn an_entry_that_is_written_before_its_turn_is_not_judged_by() {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut library(&scene, "validate", "rewrites_the_next_entry"));
    assert_eq!(code, 1);
    assert!(record.results.entries[0].validation.as_ref().unwrap().passed());
    let failure = validation_failure(&record.results.entries[1]);
    assert_eq!(failure.kind, FailureKind::Input);
    assert!(failure.message.contains("entry_000001.pt") && failure.message.contains("changed"), "{}", failure.message);
}

#[test]
fn what_describes_the_arguments_cannot_be_written() {
    for name in ["changes_a_shape", "changes_an_argument"] {
        let scene = Scene::new(1);
        let (code, record) = scene.run(&mut library(&scene, "check", name));
        let failure = validation_failure(&record.results.entries[0]);
        assert_eq!((code, failure.kind, failure.signal), (1, FailureKind::Signal, Some(11)), "{name}");
    }
}

#[test]
fn a_kernel_that_is_built_by_its_first_launch_has_the_time_that_it_takes() {
    let scene = Scene::new(2);
    let (code, record) = scene.run(library(&scene, "check", "builds_lazily").args(["--timeout", "1s"]));
    assert_eq!(code, 0, "{:#?}", record.results.entries);
    // A launch after it has a normal time.
    let (code, record) = scene.run(library(&scene, "validate", "builds_again").args(["--timeout", "1s"]));
    assert_eq!(code, 1);
    assert!(record.results.entries[0].validation.as_ref().unwrap().passed());
    assert_eq!(validation_failure(&record.results.entries[1]).kind, FailureKind::Timeout);
}

#[test]
fn a_launch_that_never_ends_is_waited_for_no_longer_among_others() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(library(&scene, "check", "stops_among_others").args(["--timeout", "2s", "--audit"]));
    let failure = record.results.entries[0].failure().unwrap();
    assert_eq!((code, failure.kind), (1, FailureKind::Timeout), "{}", failure.message);
    assert!(failure.message.starts_with("no answer within 2s;"), "{}", failure.message);
}

/// The command on a function of `tests/kernels/cheats`; `None` without a Python that has torch.
fn python(scene: &Scene, part: &str, file: &str, function: &str) -> Option<Command> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels/cheats").join(file);
    let mut command = scene.command(part);
    command.arg("--kernel").arg(format!("py:{}:{function}", file.display())).arg("--python").arg(torch_python()?);
    if part == "check" {
        command.args(["--launches", "5", "--warmup", "1"]);
    }
    Some(command)
}

#[test]
fn what_computes_when_it_is_read_is_not_a_tensor() {
    let scene = Scene::new(1);
    for (function, said) in [
        ("function", "`__torch_function__`"),
        ("dispatch", "`__torch_dispatch__`"),
        ("method", "`detach`"),
        ("instance", "`detach` is the kernel's own"),
        ("proxy", "says that it is another"),
        ("items", "its own way to give its items"),
        ("mode", "dispatch mode"),
    ] {
        let Some(mut command) = python(&scene, "validate", "lazy.py", function) else { return };
        let (code, record) = scene.run(&mut command);
        let failure = validation_failure(&record.results.entries[0]);
        assert_eq!((code, failure.kind), (1, FailureKind::NotATensor), "{function}");
        assert!(failure.message.contains(said) && failure.message.contains("; return "), "{}", failure.message);
    }
}

#[test]
fn an_argument_whose_shape_or_memory_is_another_is_mutated() {
    let scene = Scene::new(1);
    for (function, said) in [
        ("resizes", "shape [1, 32] became [1]"),
        ("sets", "another storage"),
        ("strides", "strides [32, 1] became [0, 0]"),
        ("from_c", "shape [1, 32] became [1, 1]"),
    ] {
        let Some(mut command) = python(&scene, "validate", "describes.py", function) else { return };
        // The declaration only covers changed values.
        let (code, record) = scene.run(command.args(["--mutates", "input"]));
        let failure = validation_failure(&record.results.entries[0]);
        assert_eq!((code, failure.kind), (1, FailureKind::MutatedInput), "{function}");
        assert!(failure.message.contains("`input`") && failure.message.contains(said), "{}", failure.message);
    }
}

#[test]
fn honest_kernels_that_look_alike_pass() {
    let scene = Scene::new(2);
    for function in ["module", "parameter", "subclass", "annotated", "numpy", "strided", "default_device", "workspace"]
    {
        let Some(mut command) = python(&scene, "check", "honest.py", function) else { return };
        let (code, record) = scene.run(&mut command);
        assert_eq!(code, 0, "{function}: {:#?}", record.results.entries);
    }
}

#[test]
fn a_build_that_a_killed_worker_left_locked_is_built_again() {
    let scene = Scene::new(1);
    let builds = scene.path("builds");
    let Some(mut command) = python(&scene, "check", "honest.py", "builds_lazily") else { return };
    // A lock as a worker writes it, for a process that is gone: it has this process's number but started at another
    // time.
    let text = |path: &str| std::fs::read_to_string(path).unwrap().trim().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let lock = format!(
        r#"{{"plimsoll": {}, "started": "1", "boot": "{}", "namespace": "{}"}}"#,
        std::process::id(),
        text("/proc/sys/kernel/random/boot_id"),
        namespace.display()
    );
    std::fs::create_dir_all(builds.join("plimsoll_rows")).unwrap();
    std::fs::write(builds.join("plimsoll_rows/lock"), lock).unwrap();
    let (code, record) = scene.run(command.env("TORCH_EXTENSIONS_DIR", &builds));
    assert_eq!(code, 0, "{:#?}", record.results.entries);
    assert!(!builds.join("plimsoll_rows/lock").exists());
}

#[test]
fn the_worker_that_times_a_kernel_is_the_one_that_was_shipped() {
    let scene = Scene::new(1);
    let Some(mut command) = python(&scene, "check", "saboteur.py", "launch") else { return };
    let folder = scene.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    // The kernel writes modules named like the worker's and Python's, wherever it sees one being looked for.
    let (code, record) = scene.run(command.current_dir(&folder).env("TMPDIR", &folder));
    assert_eq!(code, 0, "{:#?}", record.results.entries);
    let written = std::fs::read_to_string(folder.join("json.py")).unwrap();
    assert!(written.contains("os._exit"), "the kernel did what it is for");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("plimsoll-worker")), "{left:?}");
}

#[test]
fn a_kernel_that_rewrites_its_own_file_is_not_timed() {
    let scene = Scene::new(1);
    let Some(python) = torch_python() else { return };
    let file = scene.path("rewrites.py");
    let source = "import torch\ndef launch(*args):\n    open(__file__, 'a').write('\\n# faster now\\n')\n    \
                  return torch.nn.functional.embedding(args[0], args[1])\n";
    std::fs::write(&file, source).unwrap();
    let mut command = scene.command("check");
    command.arg("--kernel").arg(format!("py:{}", file.display())).arg("--python").arg(python);
    let (code, record) = scene.run(&mut command);
    let failure = record.results.entries[0].profile.clone().unwrap().error.unwrap();
    assert_eq!((code, failure.kind), (1, FailureKind::Input));
    assert!(failure.message.contains("changed during the run"), "{}", failure.message);
}
