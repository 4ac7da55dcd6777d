//! Kernels that are not what they seem: each ends with the verdict that names what it did.

use std::process::Command;

use plimsoll::record::{EntryResult, Failure, FailureKind, Record, ValidationStatus};

use crate::library::built;
use crate::support::{Scene, kernel, torch_python};

/// The command on the adversary `name` of the library.
fn command(scene: &Scene, part: &str, name: &str) -> Command {
    let library = built(scene, "tests/kernels/library/adversaries.c");
    let mut command = scene.command(part);
    command.arg("--kernel").arg(format!("lib:{}:{name}", library.display()));
    command.args(["--launches", "20", "--warmup", "1"]);
    command
}

fn validation(result: &EntryResult) -> (ValidationStatus, Option<FailureKind>) {
    let validation = result.validation.as_ref().unwrap();
    (validation.status, validation.error.as_ref().map(|error| error.kind))
}

fn profile_failure(record: &Record, index: usize) -> Failure {
    *record.results.entries[index].profile.clone().unwrap().error.unwrap()
}

const MISMATCH: (ValidationStatus, Option<FailureKind>) = (ValidationStatus::Mismatch, None);
const PASSED: (ValidationStatus, Option<FailureKind>) = (ValidationStatus::Passed, None);

const fn error(kind: FailureKind) -> (ValidationStatus, Option<FailureKind>) {
    (ValidationStatus::Error, Some(kind))
}

#[test]
fn zeros_and_inputs_given_back_do_not_match() {
    for name in ["zeros", "returns_its_input"] {
        let scene = Scene::new(2);
        let (code, record) = scene.run(&mut command(&scene, "check", name));
        assert_eq!(code, 1, "{name}");
        assert!(record.results.entries.iter().all(|result| validation(&result) == MISMATCH), "{name}");
    }
}

#[test]
fn a_result_kept_by_address_is_stale_on_the_next_entry() {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut command(&scene, "validate", "caches_by_address"));
    assert_eq!(code, 1);
    assert_eq!(validation(&record.results.entries[0]), PASSED);
    assert_eq!(validation(&record.results.entries[1]), error(FailureKind::StaleOutput));
    let message = &record.results.entries[1].validation.as_ref().unwrap().error.as_ref().unwrap().message;
    assert!(message.contains("entry_000000.pt") && message.contains("same addresses"), "{message}");
}

#[test]
fn a_kernel_that_does_nothing_on_buffers_it_has_seen_is_not_timed() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(&mut command(&scene, "check", "idles"));
    assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED));
    let failure = profile_failure(&record, 0);
    assert_eq!(failure.kind, FailureKind::StaleOutput);
    assert!(failure.message.contains("wrote nothing"), "{}", failure.message);
}

#[test]
fn a_kernel_that_stops_working_while_it_is_timed_is_not_timed() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(&mut command(&scene, "check", "tires"));
    assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED));
    let failure = profile_failure(&record, 0);
    assert_eq!(failure.kind, FailureKind::StaleOutput);
    assert!(failure.message.contains("after the timed ones"), "{}", failure.message);
}

#[test]
fn a_kernel_that_looks_at_its_output_to_tell_whether_it_is_judged_is_not_timed() {
    let scene = Scene::new(1);
    let part = "a part of its output";
    let kernels =
        [("looks_for_poison", "wrote nothing"), ("does_half_in_a_loop", part), ("leaves_a_ninth_out_in_a_loop", part)];
    for (name, said) in kernels {
        let (code, record) = scene.run(&mut command(&scene, "check", name));
        assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED), "{name}");
        let failure = profile_failure(&record, 0);
        assert_eq!(failure.kind, FailureKind::StaleOutput, "{name}");
        assert!(failure.message.contains(said), "{}", failure.message);
    }
}

#[test]
fn what_is_written_beside_an_input_is_told_with_its_place() {
    let scene = Scene::new(1);
    // No argument is declared as mutated.
    let (code, record) = scene.run(command(&scene, "validate", "writes_behind_an_input").args(["--mutates", "weight"]));
    assert_eq!((code, validation(&record.results.entries[0])), (1, error(FailureKind::MutatedInput)));
    let message = &record.results.entries[0].validation.as_ref().unwrap().error.as_ref().unwrap().message;
    assert!(message.ends_with("out of bounds: 1 B, 0 B after the storage of its input `weight`"), "{message}");
}

#[test]
fn a_child_that_comes_back_from_the_kernel_neither_answers_nor_forks_on() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(&mut command(&scene, "check", "forks"));
    assert_eq!(code, 0, "{:#?}", record.results.entries);
}

#[test]
fn no_protocol_times_what_was_not_computed() {
    let scene = Scene::new(1);
    for protocol in ["samples", "cold", "until"] {
        for name in ["idles", "tires"] {
            let mut check = command(&scene, "check", name);
            let (code, record) = scene.run(check.args(["--protocol", protocol, "--max-time", "10ms"]));
            assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED), "{protocol} {name}");
            assert_eq!(profile_failure(&record, 0).kind, FailureKind::StaleOutput, "{protocol} {name}");
        }
    }
}

#[test]
fn what_is_not_done_when_it_is_validated_is_told_all_the_same() {
    let scene = Scene::new(1);
    for (name, kind) in
        [("writes_late_once_timed", FailureKind::LateWrite), ("mutates_when_timed", FailureKind::MutatedInput)]
    {
        let (code, record) = scene.run(&mut command(&scene, "check", name));
        assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED), "{name}");
        assert_eq!(profile_failure(&record, 0).kind, kind, "{name}");
    }
}

#[test]
fn beside_another_kernel_an_adversary_fails_as_it_does_alone() {
    let scene = Scene::new(1);
    let mut check = command(&scene, "check", "tires");
    let (code, record) = scene.run(check.args(["--vs", "builtin:embedding"]));
    assert_eq!(code, 1);
    assert_eq!(profile_failure(&record, 0).kind, FailureKind::StaleOutput);
    assert_eq!(record.results.versus.unwrap().speedup, None, "the time of what was not computed is none");
}

#[test]
fn an_output_that_changes_after_the_launch_is_a_late_write() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(&mut command(&scene, "validate", "writes_late"));
    assert_eq!((code, validation(&record.results.entries[0])), (1, error(FailureKind::LateWrite)));
}

#[test]
fn a_leak_ends_at_the_ceiling() {
    let scene = Scene::new(1);
    let mut check = command(&scene, "check", "leaks");
    let (code, record) = scene.run(check.args(["--peak-anon", "100MiB"]));
    assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED));
    assert_eq!(profile_failure(&record, 0).kind, FailureKind::Ceiling);
}

#[test]
fn a_changed_input_is_told_by_name_unless_it_is_declared() {
    let scene = Scene::new(2);
    let before = std::fs::read(scene.entry(0)).unwrap();
    let (code, record) = scene.run(&mut command(&scene, "check", "mutates"));
    assert_eq!((code, validation(&record.results.entries[1])), (1, error(FailureKind::MutatedInput)));
    let failure = record.results.entries[0].validation.as_ref().unwrap().error.clone().unwrap();
    assert!(failure.message.contains("input `weight`"), "{}", failure.message);
    assert!(failure.message.ends_with("--mutates weight"), "{}", failure.message);

    let (code, declared) = scene.run(command(&scene, "check", "mutates").args(["--mutates", "weight"]));
    assert_eq!(code, 0, "{:#?}", declared.verdicts);
    assert_ne!(declared.semantics_digest, record.semantics_digest, "what a kernel may change is a part of what it is");
    let (code, _) = scene.run(command(&scene, "check", "mutates").args(["--mutates", "input"]));
    assert_eq!(code, 1);
    assert_eq!(std::fs::read(scene.entry(0)).unwrap(), before, "no kernel writes to a capture");
}

#[test]
fn what_is_printed_is_no_answer_and_a_destructor_that_sleeps_is_not_waited_for() {
    let scene = Scene::new(2);
    let (code, record) = scene.run(&mut command(&scene, "check", "prints"));
    assert_eq!(code, 0, "{:#?}", record.verdicts);
    // The destructor sleeps for an hour; a worker that does not end by itself is killed, and its release says so.
    assert!(record.releases.iter().all(|release| release.proof.gone));
}

#[test]
fn a_leak_in_python_ends_at_the_ceiling() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let mut check = scene.command("check");
    check.arg("--kernel").arg(kernel("leaks")).arg("--python").arg(python);
    // PyTorch's own usage varies between builds; 100 launches leak 1000 MiB on top of it.
    let (code, record) = scene.run(check.args(["--launches", "100", "--warmup", "1", "--peak-anon", "600MiB"]));
    assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED));
    assert_eq!(profile_failure(&record, 0).kind, FailureKind::Ceiling);
}

#[test]
fn adversaries_in_python_end_with_the_same_verdicts() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(7);
    let mut validate = scene.command("validate");
    validate.arg("--kernel").arg(kernel("adversaries")).arg("--python").arg(python);
    let (code, record) = scene.run(&mut validate);
    assert_eq!(code, 1);
    let verdicts: Vec<_> = record.results.entries.iter().map(|result| validation(&result)).collect();
    let stale = error(FailureKind::StaleOutput);
    // A Python output is copied when the launch returns: later writes are not part of it.
    assert_eq!(
        verdicts,
        [PASSED, stale, MISMATCH, MISMATCH, error(FailureKind::MutatedInput), MISMATCH, PASSED],
        "kept, stale, zeros, its input, mutated, late, printed"
    );
    assert_eq!(record.releases.len(), 1, "none of it ends the worker");
}

#[test]
fn a_python_kernel_that_keeps_its_result_is_stale_on_a_capture_of_one_entry() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let mut check = scene.command("check");
    check.arg("--kernel").arg(kernel("keeps")).arg("--python").arg(python).args(["--launches", "5", "--warmup", "1"]);
    let (code, record) = scene.run(&mut check);
    assert_eq!((code, validation(&record.results.entries[0])), (1, PASSED));
    let failure = profile_failure(&record, 0);
    assert_eq!(failure.kind, FailureKind::StaleOutput);
    assert!(failure.message.contains("keeps results by address"), "{}", failure.message);
}

#[test]
fn a_kernel_that_stops_the_clock_is_timed_by_the_true_one() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    for protocol in ["kernelforge", "samples"] {
        let mut check = scene.command("check");
        check.arg("--kernel").arg(kernel("patches_clock")).arg("--python").arg(&python);
        check.args(["--launches", "5", "--warmup", "1", "--protocol", protocol]);
        let (code, record) = scene.run(&mut check);
        assert_eq!(code, 0, "{:#?}", record.verdicts);
        let profile = record.results.entries[0].profile.as_ref().unwrap();
        assert!(profile.samples_ns.iter().all(|&ns| ns > 0.0), "{protocol}: {:?}", profile.samples_ns);
    }
}
