//! Records of tests, one per test, in the folder that `PLIMSOLL_RECORD_DIR` names.

use std::path::{Path, PathBuf};

use plimsoll_memory::assert::{RECORD_DIR, TestRun};
use plimsoll_memory::ceiling::CeilingStatus;
use plimsoll_memory::nanoseconds;

use super::{
    ProcessPolicy, ProcessRun, Record, RecordError, RunState, Semantics, TestSemantics, Verdict, VerdictStatus,
    exit_code, write_record,
};

/// Writes the record of a test to the folder that [`RECORD_DIR`] names, as `SUITE.MODULE.NAME.json`; does nothing if
/// the variable is not set. A missing folder is created.
///
/// # Errors
/// [`RecordError`] if it cannot be written.
pub fn keep_record(run: impl FnOnce() -> ProcessRun) -> Result<Option<PathBuf>, RecordError> {
    let Some(folder) = std::env::var_os(RECORD_DIR).filter(|folder| !folder.is_empty()) else { return Ok(None) };
    write(Path::new(&folder), run()).map(Some)
}

/// Writes the record of a test: the function that `#[plimsoll::test]` keeps records with.
///
/// # Errors
/// Why the record cannot be written, in words.
#[doc(hidden)]
pub fn keep_test_run(run: TestRun) -> Result<PathBuf, String> {
    let folder = std::env::var_os(RECORD_DIR).unwrap_or_default();
    write(Path::new(&folder), ProcessRun::from(run)).map_err(|error| error.to_string())
}

fn write(folder: &Path, run: ProcessRun) -> Result<PathBuf, RecordError> {
    let record = Record::from(run);
    // If the folder cannot be made, writing the record reports it.
    let _ = std::fs::create_dir_all(folder);
    let path = folder.join(file_name(&record.semantics));
    write_record(&path, &record)?;
    Ok(path)
}

impl From<TestRun> for ProcessRun {
    fn from(run: TestRun) -> Self {
        let status = if run.passed { VerdictStatus::Pass } else { VerdictStatus::Fail };
        let of_heap = run.heap_verdicts.into_iter().map(|heap| {
            let status = match heap.status {
                CeilingStatus::Holds => VerdictStatus::Pass,
                CeilingStatus::Broken => VerdictStatus::Fail,
                CeilingStatus::NotMeasurable => VerdictStatus::NotMeasurable,
            };
            Verdict::new(format!("ceiling {}", heap.counter), status, &heap.message)
        });
        let ceilings = run.verdicts.into_iter().map(Verdict::from);
        let verdicts: Vec<Verdict> =
            [Verdict::new("test", status, run.outcome)].into_iter().chain(ceilings).chain(of_heap).collect();
        Self {
            command: std::env::args().collect(),
            semantics: Semantics::Test(TestSemantics {
                package: Some(run.package),
                suite: Some(run.suite),
                name: run.name,
            }),
            policy: ProcessPolicy {
                ceilings: run.ceilings,
                enforce: run.enforce,
                timeout_ns: run.timeout.map(nanoseconds),
                sample_interval_ns: nanoseconds(run.sample_interval),
                own_cgroup: false,
                repetition: None,
            },
            started: run.started,
            wall: run.wall,
            state: RunState::Complete,
            end: Some(run.end),
            phases: run.phases,
            runs: Vec::new(),
            rank: None,
            exit_code: exit_code(&verdicts),
            verdicts,
        }
    }
}

/// Some file systems and stores of CI artefacts refuse names with colons.
fn file_name(semantics: &Semantics) -> String {
    let suite = match semantics {
        Semantics::Test(test) => test.suite.as_deref(),
        Semantics::Capture(_) | Semantics::Command(_) => None,
    };
    let name: Vec<&str> = suite.into_iter().chain([semantics.subject()]).collect();
    let name = name.join(".");
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = name.replace("::", ".").chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    // Parameter names may differ only in punctuation, and be longer than file names.
    let parameters = name.split_once('[').map_or("", |(_, parameters)| parameters.trim_end_matches(']'));
    let end = (0..=LONGEST_NAME.min(plain.len())).rev().find(|&end| plain.is_char_boundary(end)).unwrap_or(0);
    if end == plain.len() && parameters.chars().all(is_plain) {
        return format!("{plain}.json");
    }
    format!("{}-{}.json", &plain[..end], &blake3::hash(name.as_bytes()).to_hex()[..8])
}

/// The most bytes of a name: a file's may have 255, and a temporary file beside it needs some.
const LONGEST_NAME: usize = 200;

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
