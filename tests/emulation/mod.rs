//! Builds the emulated driver, for the tests of the library and of the command alike.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the emulated libraries, under every name that they are looked for.
pub fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sources = ["", "..", "../.."].map(|up| package.join(up).join("tests/emulation"));
        let sources = sources.iter().find(|folder| folder.exists()).expect("the emulation's folder");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emulation-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (source, soname) in [("cuda.c", "libcuda.so.1"), ("nvml.c", "libnvidia-ml.so.1")] {
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
            compiler.arg(format!("-Wl,-soname,{soname}")).arg("-o").arg(folder.join(soname)).arg(sources.join(source));
            let output = compiler.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let link = folder.join("libcuda.so");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("libcuda.so.1", link).unwrap();
        folder
    })
}
