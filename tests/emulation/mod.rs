//! Builds the emulated driver, for the tests of the library and of the command alike.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the emulated libraries, under every name that the loader searches.
pub fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let sources = ["", "..", "../.."].map(|up| package.join(up).join("tests/emulation"));
        let sources = sources.iter().find(|folder| folder.exists()).expect("the emulation's folder");
        // One folder for all test processes, which would otherwise leave one each; a new build replaces it atomically.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulation");
        std::fs::create_dir_all(&folder).unwrap();
        let beside = |name: &str| folder.join(format!("{name}.{}", std::process::id()));
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
            compiler.arg(format!("-Wl,-soname,{soname}")).arg("-o").arg(beside(soname)).arg(sources.join(source));
            let output = compiler.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::rename(beside(soname), folder.join(soname)).unwrap();
        }
        std::os::unix::fs::symlink("libcuda.so.1", beside("libcuda.so")).unwrap();
        std::fs::rename(beside("libcuda.so"), folder.join("libcuda.so")).unwrap();
        folder
    })
}
