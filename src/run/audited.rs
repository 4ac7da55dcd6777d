//! [`audited`]: times an entry by an audit, with the result of a launcher's own timing.

use std::time::Duration;

use crate::record::{Failure, FailureKind, Validation};
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Bound, Entry};

use super::audit::{Audition, audit};
use super::entries::Entries;
use super::judge::{Expected, blind_spots};
use super::launcher::{Job, Launched, Launcher, Timed};
use super::options::{AuditOptions, Options};

/// The source of the outputs that audited launches are compared with.
pub(super) struct Witness<'w> {
    pub launcher: &'w mut dyn Launcher,
    /// Whether the witness is another kernel than the timed one.
    pub is_reference: bool,
}

/// The witness of audited launches: the reference, else the side's own witness.
pub(super) fn witness_of<'w>(
    reference: &'w mut Option<&mut dyn Launcher>,
    own: &'w mut Option<&mut dyn Launcher>,
) -> Option<Witness<'w>> {
    match (reference, own) {
        (Some(launcher), _) => Some(Witness { launcher: &mut **launcher, is_reference: true }),
        (None, Some(launcher)) => Some(Witness { launcher: &mut **launcher, is_reference: false }),
        (None, None) => None,
    }
}

/// The failure of an entry whose comparison cannot detect wrong outputs.
fn blind(name: &str, wrong: &str) -> Failure {
    let message = format!(
        "the comparison of {name} would pass a wrong output ({wrong}): choose a stricter one, or allow it with --allow-blind \
         {name}"
    );
    Failure::new(FailureKind::Unsupported, message)
}

/// Times an entry by an audit.
///
/// # Errors
/// The kernel failed the audit, or the comparison of the entry cannot detect wrong outputs.
pub(super) fn audited(
    kernel: &mut dyn Launcher,
    witness: Option<&mut Witness<'_>>,
    entries: &Entries<'_>,
    (entry, bound): (&Entry, &Bound),
    validation: Option<&Validation>,
    options: &Options,
    audit_options: &AuditOptions,
) -> Result<Timed, Failure> {
    let unsupported = |message: &str| Failure::new(FailureKind::Unsupported, message);
    let witness = witness.ok_or_else(|| unsupported("an audit needs a witness, and was given none"))?;
    let (each, warmup, launches) = match options.protocol {
        Protocol::KernelForge { warmup, launches } => (false, warmup, launches),
        Protocol::Samples { warmup, launches } => (true, warmup, launches),
        Protocol::Cold { .. } | Protocol::Until { .. } => {
            return Err(unsupported("an audit times by the protocols `kernelforge` and `samples`"));
        }
    };
    let rule = options.comparison.unwrap_or_else(|| Comparison::for_operator(entries.capture.function_name()));
    let blindness = match validation.and_then(|validation| validation.blindness) {
        Some(blindness) => blindness,
        // No entry was validated.
        None => blind_spots(Expected::Captured(entry, &entry.map()?), None, &rule, true)?,
    };
    if blindness.any() && !audit_options.allows_blind(entry.name()) {
        return Err(blind(entry.name(), &blindness.wrong_outputs().join(", ")));
    }
    let given = entries.bind(entry, witness.launcher.by_name())?;
    let name = witness.launcher.kernel().name;
    let outcome = audit(
        kernel,
        witness.launcher,
        &Audition {
            job: Job { entry, bound },
            witnessed: Job { entry, bound: &given },
            reference: witness.is_reference.then_some(name.as_str()),
            options: audit_options,
            mutates: &options.mutates,
            rule: &rule,
            validated: validation.is_some(),
            warmup,
            launches: launches.get(),
        },
    )?;
    if let Some(path) = outcome.undistinguished.as_ref().filter(|_| !audit_options.allows_blind(entry.name())) {
        let leaf = if path.is_empty() { String::new() } else { format!(", in {path}") };
        return Err(blind(entry.name(), &format!("what was computed from other values{leaf}")));
    }
    let again = Launched {
        outputs: Vec::new(),
        memory: Box::new(Vec::new()),
        elapsed: Duration::ZERO,
        mutated: outcome.mutated.clone(),
        device: None,
    };
    Ok(Timed { samples: outcome.samples(each), again, state: None, audit: Some(outcome.audit) })
}
