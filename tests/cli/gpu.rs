//! GPUs: messages without one.

use std::path::Path;
use std::process::Command;

use crate::support::{Scene, plimsoll, run};

/// Whether a GPU can be used here; other tests check the message.
fn without_gpu() -> Option<String> {
    let (code, _, err) = run(plimsoll().arg("devices"));
    (code == 3).then_some(err)
}

#[test]
fn where_there_is_no_driver_it_is_said_and_nothing_runs() {
    let Some(said) = without_gpu() else {
        eprintln!("not run: there is a GPU");
        return;
    };
    let known =
        ["error: no NVIDIA driver found: libcuda.so.1", "error: no NVIDIA GPU found", "error: the NVIDIA driver"];
    assert!(known.iter().any(|known| said.starts_with(known)), "{said}");
    let scene = Scene::new(1);
    for part in ["check", "validate", "profile"] {
        for kernel in ["lib:./no.so", "torch:embedding"] {
            let mut command = scene.command(part);
            let (code, out, err) = run(command.args(["--kernel", kernel, "--device", "cuda"]));
            assert_eq!((code, out.as_str(), err), (3, "", said.clone()));
            assert!(!scene.record().exists(), "no record is left of what was not measured");
        }
    }
}

#[test]
fn devices_that_cannot_be_are_refused() {
    let scene = Scene::new(1);
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--device", "cuda"]));
    assert_eq!(code, 2);
    assert!(
        err.contains(
            "builtin:embedding runs on the CPU: --device cuda:0 takes torch:, lib:, py: and kernelforge: kernels"
        ),
        "{err}"
    );
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--device", "tpu"]));
    assert_eq!(code, 2);
    assert!(err.contains("`tpu` is not a device: write cpu, cuda, or cuda:N with the number of a GPU"), "{err}");
    let (code, _, err) = run(plimsoll().args(["devices", "--device", "cpu"]));
    assert_eq!((code, err.as_str()), (2, "error: --device cpu names no GPU: write cuda or cuda:N\n"));
}

#[test]
fn the_check_of_a_device_ends_where_there_is_none() {
    let Some(said) = without_gpu() else {
        eprintln!("not run: there is a GPU");
        return;
    };
    let scene = Scene::new(1);
    let report = scene.path("report");
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("gpu-check.sh"));
    script.arg(&report).env("PLIMSOLL_BIN", env!("CARGO_BIN_EXE_plimsoll")).env("NO_COLOR", "1");
    assert_eq!(run(&mut script), (3, String::new(), said));
    assert!(!report.exists(), "nothing was run");
}

#[test]
fn a_ceiling_on_what_cannot_be_measured_is_inconclusive() {
    if without_gpu().is_none() || Path::new("/dev/nvidiactl").exists() {
        eprintln!("not run: there is a GPU");
        return;
    }
    let scene = Scene::new(1);
    let (code, record) =
        scene.run(scene.command("validate").args(["--kernel", "builtin:embedding", "--gpu-peak", "1GiB"]));
    let verdict = record.verdicts.iter().find(|verdict| verdict.subject.contains("gpu_peak")).unwrap();
    assert_eq!(code, 3, "{verdict:?}");
    assert!(verdict.message.contains("no NVIDIA driver found"), "{}", verdict.message);
}
