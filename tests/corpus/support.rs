//! Building the corpus once for all processes of a run.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A Python with torch; `None` where the tests were started without one, which is said, and in CI is a failure.
fn torch_python() -> Option<PathBuf> {
    match std::env::var_os("PLIMSOLL_TORCH_PYTHON") {
        Some(python) => Some(python.into()),
        None if std::env::var_os("PLIMSOLL_TESTS_OF_TORCH").is_some_and(|which| which == "elsewhere") => {
            panic!("this test needs torch: name it in `of_torch` of harness/test.sh, so that it runs in that part")
        }
        None if std::env::var_os("CI").is_some() => panic!("PLIMSOLL_TORCH_PYTHON is not set: run harness/test.sh"),
        None => {
            eprintln!("not run: it needs a Python with torch in PLIMSOLL_TORCH_PYTHON (harness/test.sh sets one up)");
            None
        }
    }
}

/// Runs `tests/python/SCRIPT FOLDER` into an empty folder of this name, unless the same script and Python have already
/// filled it. A runner may give each test its own process: the first one runs the script, and the others wait.
fn make(python: &OsStr, script: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let lock = File::create(folder.with_extension("lock")).expect("cargo has made its folder");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let made = folder.with_extension("made");
    let mark = [python.as_encoded_bytes(), &std::fs::read(&script).expect("the script is there")].join(&b'\n');
    if std::fs::read(&made).is_ok_and(|found| found == mark) && folder.is_dir() {
        return folder;
    }
    let _ = std::fs::remove_file(&made);
    let _ = std::fs::remove_dir_all(&folder);
    let status = Command::new(python).arg(&script).arg(&folder).status().expect("Python starts");
    assert!(status.success(), "{} failed", script.display());
    std::fs::write(&made, mark).expect("the mark is written");
    folder
}

/// The folder of good files, if there is a Python with torch.
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
