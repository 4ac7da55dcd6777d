//! Kernels that attack what they are judged by: none passes, and each is told by name. Beside them honest kernels that look alike.

use std::process::Command;

use plimsoll::record::{EntryResult, Failure, FailureKind, ValidationStatus};

use crate::library::built;
use crate::support::Scene;

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
    validation.error.clone().unwrap()
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

    // The next run has the file as it is now from its beginning.
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
