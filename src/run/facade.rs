//! [`Validation`]: a validation in a line or two of a test.

use plimsoll_capture::Capture;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::store::VerifyObjects;

use super::check::{Check, Launch, Report};
use super::error::RunError;

/// A validation of a capture: a [`Check`] that times nothing, with its kernel given last.
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
#[must_use = "a validation does nothing until it is run"]
pub struct Validation<'a>(Check<'a>);

impl<'a> Validation<'a> {
    /// A validation of every entry of `capture`, by the operator's own comparison rule.
    pub fn of(capture: &'a Capture) -> Self {
        Self(Check::of(capture).validate_only())
    }

    /// Compares by `rule`.
    pub fn comparison(self, rule: Comparison) -> Self {
        Self(self.0.comparison(rule))
    }

    /// Verifies the objects of a store as often as `verify` says.
    pub fn verify(self, verify: VerifyObjects) -> Self {
        Self(self.0.verify(verify))
    }

    /// Stops at the first entry that does not pass.
    pub fn fail_fast(self) -> Self {
        Self(self.0.fail_fast())
    }

    /// Launches `kernel` on every entry, one resident at a time.
    ///
    /// # Errors
    /// As [`Check::run`]. An entry that fails is a result, not an error.
    pub fn run(self, kernel: impl Launch + 'a) -> Result<Report, RunError> {
        self.0.kernel(kernel).run()
    }
}
