//! [`Validation`]: a validation in a line or two of a test.

use crate::record::{Record, VerdictStatus};
use plimsoll_capture::Capture;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::kernel::Kernel;
use plimsoll_capture::store::VerifyObjects;
use plimsoll_memory::meter::Meter;

use super::in_process::InProcess;
use super::options::Options;
use super::session::{RunError, run};

/// A validation of a capture with a kernel in this process.
///
/// ```no_run
/// use plimsoll::capture::Capture;
/// use plimsoll::kernel::builtin;
/// use plimsoll::run::Validation;
///
/// let capture = Capture::open("captures/embedding".as_ref())?;
/// let report = Validation::of(&capture).run(builtin::embedding())?;
/// assert!(report.passed(), "{}", report.summary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Validation<'a> {
    capture: &'a Capture,
    options: Options,
}

impl<'a> Validation<'a> {
    /// A validation of every entry of `capture`, by the operator's own rule of comparison.
    pub fn of(capture: &'a Capture) -> Self {
        Self { capture, options: Options { profile: false, ..Options::default() } }
    }

    /// Compares by `rule`.
    pub fn comparison(mut self, rule: Comparison) -> Self {
        self.options.comparison = Some(rule);
        self
    }

    /// Verifies the objects of a store as often as `verify` says.
    pub fn verify(mut self, verify: VerifyObjects) -> Self {
        self.options.verify = verify;
        self
    }

    /// Stops at the first entry that does not pass.
    pub fn fail_fast(mut self) -> Self {
        self.options.fail_fast = true;
        self
    }

    /// Launches `kernel` on every entry, one resident at a time.
    ///
    /// # Errors
    /// [`RunError`] where memory cannot be metered. An entry that fails is a result, not an error.
    pub fn run(self, kernel: impl Kernel) -> Result<Report, RunError> {
        let meter = Meter::start()?;
        run(self.capture, &mut InProcess::new(kernel), &meter, &self.options, &mut ()).map(Report)
    }
}

/// What a validation found.
#[derive(Clone, Debug)]
pub struct Report(Record);

impl Report {
    /// Whether every entry passed and every verdict holds.
    pub fn passed(&self) -> bool {
        self.0.verdicts.iter().all(|verdict| verdict.status == VerdictStatus::Pass)
    }

    /// The verdicts, a line each.
    pub fn summary(&self) -> String {
        self.0.verdicts.iter().map(|v| format!("{}: {}\n", v.subject, v.message)).collect()
    }

    /// The record of the run.
    pub fn record(&self) -> &Record {
        &self.0
    }
}
