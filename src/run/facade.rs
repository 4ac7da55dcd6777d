//! [`Validation`]: a validation in a line or two of a test.

use plimsoll_capture::Capture;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::store::VerifyObjects;

use super::check::{Check, Launch, Report};
use super::error::RunError;
use super::options::Options;

/// A validation of a capture: a [`Check`] that times nothing, and is given its kernel last.
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
    /// As [`Check::run`]. An entry that fails is a result, not an error.
    pub fn run(self, kernel: impl Launch + 'a) -> Result<Report, RunError> {
        Check::of(self.capture).options(self.options).kernel(kernel).run()
    }
}
