//! Records of tests: one a test, in the folder that `PLIMSOLL_RECORD_DIR` names.

use std::path::{Path, PathBuf};

use crate::record::{ProcessRun, Record, RecordError, Semantics, write_record};

/// The environment variable that names the folder.
pub const RECORD_DIR: &str = "PLIMSOLL_RECORD_DIR";

/// Writes the record of a test to the folder that [`RECORD_DIR`] names, as `SUITE.MODULE.NAME.json`; nothing where it
/// names none. The folder is made where it is missing.
///
/// # Errors
/// [`RecordError`] where it cannot be written.
pub fn keep_record(run: impl FnOnce() -> ProcessRun) -> Result<Option<PathBuf>, RecordError> {
    let Some(folder) = std::env::var_os(RECORD_DIR).filter(|folder| !folder.is_empty()) else { return Ok(None) };
    let record = Record::from(run());
    let folder = Path::new(&folder);
    // Where it cannot be made, writing the record says so.
    let _ = std::fs::create_dir_all(folder);
    let path = folder.join(file_name(&record.semantics));
    write_record(&path, &record)?;
    Ok(Some(path))
}

/// Names with colons are refused by some file systems and by stores of CI artefacts.
fn file_name(semantics: &Semantics) -> String {
    let suite = match semantics {
        Semantics::Test(test) => test.suite.as_deref(),
        Semantics::Capture(_) | Semantics::Command(_) => None,
    };
    let name: Vec<&str> = suite.into_iter().chain([semantics.subject()]).collect();
    let name = name.join(".");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = name.replace("::", ".").chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    // Names of parameters may differ in signs alone, and be longer than those of files.
    let parameters = name.split_once('[').map_or("", |(_, parameters)| parameters.trim_end_matches(']'));
    let end = (0..=LONGEST.min(plain.len())).rev().find(|&end| plain.is_char_boundary(end)).unwrap_or(0);
    if end == plain.len() && parameters.chars().all(is_plain) {
        return format!("{plain}.json");
    }
    format!("{}-{}.json", &plain[..end], &blake3::hash(name.as_bytes()).to_hex()[..8])
}

/// Names are cut to so many bytes: a file's may have 255, and writing it beside itself takes some.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TestSemantics;

    #[test]
    fn a_record_is_named_for_its_test() {
        let name = |suite: Option<&str>, name: &str| {
            let suite = suite.map(str::to_owned);
            file_name(&Semantics::Test(TestSemantics { package: None, suite, name: name.to_owned() }))
        };
        assert_eq!(name(Some("reading"), "tests::opens"), "reading.tests.opens.json");
        assert_eq!(name(None, "assert_memory! at a/b.rs:12"), "assert_memory--at-a-b.rs-12.json");
        assert_eq!(name(Some("tests/test_a.py"), "TestB::test_c[1.5]"), "tests-test_a.py.TestB.test_c-1.5-.json");
        let [slash, blank] = ["a/b", "a b"].map(|text| name(Some("t.py"), &format!("test[{text}]")));
        assert!(slash.starts_with("t.py.test-a-b--") && blank.starts_with("t.py.test-a-b--") && slash != blank);
        let [long, longer] = [300, 301].map(|length| name(None, &"\u{e9}".repeat(length)));
        assert!(long.len() < 220 && long != longer, "{long}");
    }
}
