//! [`audited`]: times an entry by an audit, with the result of a launcher's own timing.

use std::time::Duration;

use crate::record::{Audit, Failure, FailureKind, Validation};
use plimsoll_capture::compare::{Blindness, Comparison};
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Bound, Entry};

use super::audit::{Audition, Outcome, audit};
use super::entries::Entries;
use super::judge::{Expected, blind_spots};
use super::launcher::{Job, Launched, Launcher, Timed};
use super::operators::Operators;
use super::options::{AuditOptions, Options};
use super::validate::recompute;

/// The source of the outputs that audited launches are compared with.
pub(super) enum Witness<'w, 'r> {
    /// The kernel that the user named.
    Reference(&'w mut dyn Launcher),
    /// The kernel itself, in a process that times nothing, unless one of the operators is found to be a reference.
    Itself(&'w mut dyn Launcher, &'w mut Operators<'r>),
}

/// The witness of audited launches: the reference, else the side's own witness.
pub(super) fn witness_of<'w, 'r>(
    reference: &'w mut Option<&mut dyn Launcher>,
    own: &'w mut Option<&mut dyn Launcher>,
    operators: &'w mut Operators<'r>,
) -> Option<Witness<'w, 'r>> {
    match (reference, own) {
        (Some(launcher), _) => Some(Witness::Reference(&mut **launcher)),
        (None, Some(launcher)) => Some(Witness::Itself(&mut **launcher, operators)),
        (None, None) => None,
    }
}

/// The failure of an entry whose comparison cannot detect wrong outputs.
fn blind(name: &str, wrong: &str) -> Failure {
    let message = format!(
        "the comparison of {name} would pass a wrong output ({wrong}): choose a stricter one, or --reference float64, which \
         has its tolerances measured, or allow it with --allow-blind {name}"
    );
    Failure::new(FailureKind::Unsupported, message)
}

/// Times an entry by an audit.
///
/// # Errors
/// The kernel failed the audit, or the comparison of the entry cannot detect wrong outputs.
pub(super) fn audited(
    kernel: &mut dyn Launcher,
    witness: Option<&mut Witness<'_, '_>>,
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
        None => {
            let recomputed = match witness {
                Witness::Reference(launcher) => Some(recompute(entries, entry, &mut **launcher)?),
                Witness::Itself(..) => None,
            };
            let mapped = entry.map()?;
            let expected = recomputed.as_ref().map_or(Expected::Captured(entry, &mapped), Expected::Recomputed);
            blind_spots(expected, None, &rule, true)?
        }
    };
    // Whether a kernel computes in half precision, its outputs show.
    let passes = Blindness { half_precision: None, ..blindness };
    if passes.any() && !audit_options.allows_blind(entry.name()) {
        return Err(blind(entry.name(), &blindness.wrong_outputs().join(", ")));
    }
    let audition = Audition {
        job: Job { entry, bound },
        witnessed: Job { entry, bound },
        reference: None,
        chosen: None,
        options: audit_options,
        mutates: &options.mutates,
        rule: &rule,
        passes_half: blindness.half_precision == Some(true),
        validated: validation.is_some(),
        warmup,
        launches: launches.get(),
    };
    let outcome = match witness {
        Witness::Reference(launcher) => {
            let (given, name) = (entries.bind(entry, launcher.by_name())?, launcher.kernel().name);
            let witnessed = Job { entry, bound: &given };
            audit(kernel, &mut **launcher, None, &Audition { witnessed, reference: Some(&name), ..audition })
        }
        Witness::Itself(launcher, operators) => by_operator(kernel, &mut **launcher, operators, entries, audition),
    }?;
    if let Some(wrong) = outcome.passes.as_ref().filter(|_| !audit_options.allows_blind(entry.name())) {
        return Err(blind(entry.name(), wrong));
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

/// Audits by an implementation of the operator that reproduces the captured output. If there is none, or it cannot decide,
/// the kernel itself is the witness.
fn by_operator(
    kernel: &mut dyn Launcher,
    itself: &mut dyn Launcher,
    operators: &mut Operators<'_>,
    entries: &Entries<'_>,
    audition: Audition<'_>,
) -> Result<Outcome, Failure> {
    // It starts while implementations are tried.
    kernel.start_early();
    let entry = audition.job.entry;
    let found = operators.choose(&kernel.kernel().name, entries, entry, audition.rule, audition.mutates);
    let unreferenced = match found {
        Err(why) => why,
        Ok((launcher, chosen)) => {
            let given = entries.bind(entry, launcher.by_name())?;
            let (witnessed, name) = (Job { entry, bound: &given }, chosen.name.clone());
            let by = Audition { witnessed, reference: Some(&name), chosen: Some(&chosen), ..audition };
            let outcome = audit(kernel, launcher, Some(&mut *itself), &by);
            match chosen.undecided() {
                None => {
                    return outcome
                        .map(|outcome| Outcome { audit: Audit { chosen: true, ..outcome.audit }, ..outcome });
                }
                Some(why) => why,
            }
        }
    };
    let outcome = audit(kernel, itself, None, &audition)?;
    Ok(Outcome { audit: Audit { unreferenced: Some(unreferenced), ..outcome.audit }, ..outcome })
}
