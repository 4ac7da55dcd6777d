//! Captures that torch has written, and the command.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python whose torch the tests were built with.
pub fn python() -> PathBuf {
    std::env::var_os("PLIMSOLL_TORCH_PYTHON").unwrap_or_else(|| "python3".into()).into()
}

/// Makes a script of `tests/python` write below `folder`.
pub fn script(name: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python").join(name);
    let output = Command::new(python()).arg(script).arg(folder).output().expect("Python starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The command, beside the worker that these tests are built with, its environment cleared of what would change it.
pub fn plimsoll() -> Command {
    let worker = Path::new(env!("CARGO_BIN_EXE_plimsoll-torch-worker"));
    let program = worker.with_file_name("plimsoll");
    assert!(program.is_file(), "{} is not built: `cargo build --workspace` first", program.display());
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    command.env("NO_COLOR", "1").env("PLIMSOLL_TORCH_WORKER", worker);
    command
}

/// Runs `command`; gives the exit code, standard output and standard error.
pub fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (output.status.code().expect("it ends by itself"), text(output.stdout), text(output.stderr))
}
