//! Building the corpus, once a run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A Python with torch; `None` where the tests were started without one, which is said, and in CI is a failure.
fn torch_python() -> Option<PathBuf> {
    match std::env::var_os("PLIMSOLL_TORCH_PYTHON") {
        Some(python) => Some(python.into()),
        None if std::env::var_os("CI").is_some() => panic!("PLIMSOLL_TORCH_PYTHON is not set: run harness/test.sh"),
        None => {
            eprintln!("not run: it needs a Python with torch in PLIMSOLL_TORCH_PYTHON (harness/test.sh sets one up)");
            None
        }
    }
}

/// Runs `tests/python/SCRIPT FOLDER` into an empty folder of this name.
fn make(python: &OsStr, script: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let status = Command::new(python).arg(&script).arg(&folder).status().expect("Python starts");
    assert!(status.success(), "{} failed", script.display());
    folder
}

/// The folder of good files, where there is a Python with torch.
pub fn corpus() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| torch_python().map(|python| make(python.as_os_str(), "make_corpus.py", "corpus"))).as_deref()
}

/// The folder of hostile files: any Python 3 builds them.
pub fn hostile() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| make(OsStr::new("python3"), "make_hostile.py", "hostile"))
}

/// The files of `folder`, truths left out, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension() != Some(OsStr::new("json"))).collect();
    files.sort();
    files
}
