//! The emulated driver of `tests/emulation`: built once, and put before the loader's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::Scene;

/// The folder with the emulated libraries, under every name that they are looked for.
fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emulation-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (source, soname) in [("cuda", "libcuda.so.1"), ("nvml", "libnvidia-ml.so.1")] {
            let mut compiler = Command::new("cc");
            compiler.args([
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-shared",
                "-fPIC",
                "-pthread",
                "-fvisibility=hidden",
            ]);
            compiler.arg(format!("-Wl,-soname,{soname}")).arg("-o").arg(folder.join(soname));
            compiler.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/emulation/{source}.c")));
            let output = compiler.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let link = folder.join("libcuda.so");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("libcuda.so.1", link).unwrap();
        folder
    })
}

/// Has `command` find the emulated driver, and keep a log of what is asked of it.
pub fn on_emulation<'a>(scene: &Scene, command: &'a mut Command) -> &'a mut Command {
    let _ = std::fs::remove_file(log_path(scene));
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
