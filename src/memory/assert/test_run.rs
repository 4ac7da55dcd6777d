//! [`TestRun`]: the results of a test run, for those who record them.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::counted::HeapVerdict;
use crate::ceiling::{CeilingVerdict, Ceilings};
use crate::command::ProcessEnd;
use crate::meter::PhaseReadings;

/// The results of a test that ran in a process of its own.
#[derive(Clone, Debug)]
pub struct TestRun {
    /// The package that the test belongs to.
    pub package: String,
    /// The test binary's crate.
    pub suite: String,
    /// The test's name within it.
    pub name: String,
    /// The limits of the test.
    pub ceilings: Ceilings,
    /// Whether its processes were to be killed at a ceiling.
    pub enforce: bool,
    /// The time limit.
    pub timeout: Option<Duration>,
    /// The time between two samples.
    pub sample_interval: Duration,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub wall: Duration,
    /// How its process ended.
    pub end: ProcessEnd,
    /// The memory of each phase.
    pub phases: Vec<PhaseReadings>,
    /// Whether the test's body behaved as expected.
    pub passed: bool,
    /// What its body did, as a sentence.
    pub outcome: String,
    /// The verdict on each ceiling.
    pub verdicts: Vec<CeilingVerdict>,
    /// The verdict on each other limit of the heap.
    pub heap_verdicts: Vec<HeapVerdict>,
}

/// The environment variable that names the folder for records of tests.
pub const RECORD_DIR: &str = "PLIMSOLL_RECORD_DIR";

/// Records a test if a record is requested: returns the file that it wrote, or why it could not.
pub type Keeper = fn(TestRun) -> Result<PathBuf, String>;

/// Passes the run to `keeper` if [`RECORD_DIR`] names a folder.
///
/// # Errors
/// The keeper's error, or that there is no keeper although a record is requested.
pub(super) fn keep(keeper: Option<Keeper>, run: impl FnOnce() -> TestRun) -> Result<Option<PathBuf>, String> {
    if std::env::var_os(RECORD_DIR).is_none_or(|folder| folder.is_empty()) {
        return Ok(None);
    }
    let keeper = keeper.ok_or_else(|| {
        format!(
            "{RECORD_DIR} asks for records of tests, which the feature `record` of the crate `plimsoll` writes: add it"
        )
    })?;
    keeper(run()).map(Some)
}
