//! The emulated driver of `tests/emulation`, placed before the loader's own, and its log.

#[path = "../emulation/mod.rs"]
mod build;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Scene;
use build::libraries;

/// Makes `command` find the emulated driver and log its requests.
pub fn on_emulation<'a>(scene: &Scene, command: &'a mut Command) -> &'a mut Command {
    // Memory held by an earlier command is free once it has ended.
    for left in [log_path(scene), scene.path("nvml.txt")] {
        let _ = std::fs::remove_file(left);
    }
    command.env("LD_LIBRARY_PATH", libraries()).env("EMULATED_CUDA_LOG", log_path(scene));
    command.env("EMULATED_NVML_STATE", scene.path("nvml.txt"))
}

fn log_path(scene: &Scene) -> PathBuf {
    scene.path("cuda.log")
}

/// The numbers of bytes of the calls of one kind, in order.
pub fn log(scene: &Scene, kind: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(log_path(scene)).unwrap_or_default();
    let of_kind = text.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    of_kind.map(|bytes| bytes.parse().unwrap()).collect()
}

/// Builds `tests/kernels/library/device.c` against the emulation.
pub fn device_kernels(scene: &Scene) -> PathBuf {
    let library = scene.path("device.so");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]).arg(root.join("harness/examples"));
    compiler.arg("-o").arg(&library).arg(root.join("tests/kernels/library/device.c"));
    compiler.arg("-L").arg(libraries()).arg("-lcuda");
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
