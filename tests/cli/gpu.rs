//! GPUs: what is said where there is none.

use crate::support::{Scene, plimsoll, run};

/// Whether a GPU can be used here; what is said is left to the tests that look at it.
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
        let mut command = scene.command(part);
        let (code, out, err) = run(command.args(["--kernel", "lib:./no.so", "--device", "cuda"]));
        assert_eq!((code, out.as_str(), err), (3, "", said.clone()));
        assert!(!scene.record().exists(), "no record is left of what was not measured");
    }
}

#[test]
fn devices_that_cannot_be_are_refused() {
    let scene = Scene::new(1);
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--device", "cuda"]));
    assert_eq!(code, 2);
    assert!(err.contains("builtin:embedding runs on the CPU: --device cuda:0 takes lib: and py: kernels"), "{err}");
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--device", "tpu"]));
    assert_eq!(code, 2);
    assert!(err.contains("`tpu` is no device: write cpu, cuda, or cuda:N with the number of a GPU"), "{err}");
    let (code, _, err) = run(plimsoll().args(["devices", "--device", "cpu"]));
    assert_eq!((code, err.as_str()), (2, "error: --device cpu names no GPU: write cuda or cuda:N\n"));
}
