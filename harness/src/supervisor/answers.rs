//! What an interpreter of Python answers about itself, asked once a process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The output of `python` with these arguments; empty if it does not start.
pub fn asked_once(python: &Path, arguments: &'static [&'static str]) -> String {
    static ANSWERS: Mutex<BTreeMap<(PathBuf, &[&str]), String>> = Mutex::new(BTreeMap::new());
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = answers.entry((python.to_owned(), arguments)).or_insert_with(|| {
        let mut command = Command::new(python);
        let output = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    });
    answer.clone()
}
