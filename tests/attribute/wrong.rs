//! Compiler messages for wrong arguments: `ui/NAME.rs` does not compile, and `ui/NAME.stderr` is the message.
//!
//! The compiler runs on each file with the library that this test is linked to, so that nothing is rebuilt.
//! `PLIMSOLL_UI=overwrite` writes the messages instead of comparing.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the files, from that of the package, as the messages name it.
const FOLDER: &str = "tests/attribute/ui";

/// The newest `libplimsoll-HASH.rlib` in the folder of this test binary, which cargo has just built or found fresh.
fn library(deps: &Path) -> PathBuf {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libplimsoll-") && name.ends_with(".rlib")
    };
    let files = std::fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path());
    let newest = files.filter(is_library).max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("no libplimsoll-*.rlib in {}: run this test by cargo", deps.display()))
}

/// The compiler's message for a file, without the summary lines; `None` if it compiles.
fn complaint(file: &str, deps: &Path, library: &Path) -> Option<String> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(compiler);
    command.args(["--edition=2024", "--test", "--emit=obj", "--color=never", "--cap-lints=allow", file]);
    command.arg("--out-dir").arg(out.path()).arg("-L").arg(format!("dependency={}", deps.display()));
    command.arg("--extern").arg(format!("plimsoll={}", library.display()));
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("rustc starts");
    let printed = String::from_utf8(output.stderr).unwrap();
    let printed = printed.split("\nerror: aborting due to ").next().unwrap_or_default();
    (!output.status.success()).then(|| format!("{}\n", printed.trim()))
}

#[test]
fn wrong_arguments_are_told_at_their_place() {
    let binary = std::env::current_exe().unwrap();
    let deps = binary.parent().unwrap();
    let library = library(deps);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 5, "{names:?}");
    let mut wrong = String::new();
    for name in names {
        let expected = folder.join(format!("{name}.stderr"));
        match complaint(&format!("{FOLDER}/{name}.rs"), deps, &library) {
            None => wrong += &format!("{name}.rs compiles\n"),
            Some(printed) if std::env::var_os("PLIMSOLL_UI").is_some_and(|value| value == "overwrite") => {
                std::fs::write(expected, printed).unwrap();
            }
            Some(printed) if std::fs::read_to_string(&expected).unwrap_or_default() == printed => {}
            Some(printed) => wrong += &format!("of {name}.rs it says\n{printed}and {} differs\n", expected.display()),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
