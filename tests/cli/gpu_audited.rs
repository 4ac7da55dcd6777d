//! Audits of kernels on an emulated GPU.

use std::process::Command;

use plimsoll::gpu::PlaceKind;
use plimsoll::record::{FailureKind, Record, Values};

use crate::emulation::{device_kernels, log, on_emulation};
use crate::support::{Scene, run};

fn audit(scene: &Scene, kernel: &str) -> Command {
    let library = device_kernels(scene);
    let mut command = scene.command("check");
    command.args(["--kernel", &format!("lib:{}:{kernel}", library.display()), "--device", "cuda", "--audit"]);
    // A region has at most half as many launches, and a false clock needs many regions.
    command.args(["--launches", "6", "--warmup", "1"]);
    on_emulation(scene, &mut command);
    command
}

fn end(record: &Record) -> Option<FailureKind> {
    record.results.entries[0].failure().map(|failure| failure.kind)
}

#[test]
fn honest_kernels_are_timed_on_values_that_nobody_has_seen() {
    for kernel in ["embedding", "default_stream", "waits", "workspace"] {
        let scene = Scene::new(1);
        let (code, record) = scene.run(&mut audit(&scene, kernel));
        assert_eq!((code, end(&record)), (0, None), "{kernel}: {:#?}", record.results);
        assert_eq!(record.semantics.capture().unwrap().device, PlaceKind::Cuda);
        let profile = record.results.entries[0].profile.as_ref().unwrap();
        let audit = profile.audit.as_ref().unwrap();
        assert!(audit.values == Values::All && audit.follows && audit.judged >= 24, "{audit:?}");
        assert!(profile.statistics.unwrap().mean_ns > 0.0);
        // Launches are given to a stream that is held, unless the kernel waits for it.
        let held = log(&scene, "held_launch").len();
        assert_eq!(held >= audit.launches as usize, kernel != "waits", "{kernel}: {held} of {}", audit.launches);
    }
}

#[test]
fn a_device_whose_turns_others_take_accuses_no_kernel() {
    let scene = Scene::new(1);
    for turns in ["1", "3", "20"] {
        let (code, record) = scene.run(audit(&scene, "embedding").env("EMULATED_CUDA_SHARED", turns));
        assert_eq!((code, end(&record)), (0, None), "{turns}: {:#?}", record.results);
    }
}

#[test]
fn a_reference_on_the_cpu_judges_the_outputs() {
    let scene = Scene::new(1);
    let (code, record) = scene.run(audit(&scene, "embedding").args(["--reference", "builtin:embedding"]));
    assert_eq!((code, end(&record)), (0, None), "{:#?}", record.results);
    let (_, record) = scene.run(audit(&scene, "keeps_its_table").args(["--reference", "builtin:embedding"]));
    assert_eq!(end(&record), Some(FailureKind::StaleOutput), "{:#?}", record.results);
}

#[test]
fn kernels_that_cheat_do_not_pass() {
    for (kernel, kind) in [
        ("keeps_its_table", FailureKind::StaleOutput),
        ("hurries", FailureKind::TimeMismatch),
        ("stops_writing", FailureKind::UnwrittenOutput),
        ("writes_its_table", FailureKind::MutatedInput),
        ("side_stream", FailureKind::LateWrite),
        ("faults", FailureKind::DeviceFault),
    ] {
        let scene = Scene::new(1);
        let (code, record) = scene.run(&mut audit(&scene, kernel));
        // Beside enough other programs a launch may take that much longer, and the record says so.
        let audited = record.results.entries[0].profile.as_ref().and_then(|profile| profile.audit.as_ref());
        let hidden = kernel == "hurries" && audited.is_some_and(|audit| audit.overhead_ns > 5e6);
        assert!((code, end(&record)) == (1, Some(kind)) || hidden, "{kernel}: {:#?}", record.results);
    }
}

#[test]
fn flags_that_an_audit_on_a_gpu_does_not_have_are_refused() {
    let scene = Scene::new(1);
    for (flag, said) in [("--graph", "leave out --graph"), ("--untrusted", "--untrusted is for kernels on the CPU")] {
        let (code, _, err) = run(audit(&scene, "embedding").arg(flag));
        assert!(code == 2 && err.contains(said), "{err}");
    }
}
