//! Validation: launches and judges every entry once, one resident at a time.

use crate::record::{EntryResult, Failure, FailureKind, ReleaseReason, Rows, Validation};
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::{CaptureError, Entry, MappedEntry};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::nanoseconds;

use super::entries::Entries;
use super::honesty::Honesty;
use super::judge::{Expected, blind_spots};
use super::launcher::{Job, Launched, Launcher, Launchers};
use super::manifest::Planned;
use super::observer::Phase;
use super::options::Options;
use super::watch::{Ran, Watch};

/// Why entries after the first that failed were left out.
pub(super) const FAIL_FAST: &str = "an entry before it failed (--fail-fast)";
/// Why entries after an interruption were left out.
pub(super) const CANCELLED: &str = "the run was interrupted before it";
/// Why an entry has no result that was launched when the run was interrupted.
pub(super) const INTERRUPTED: &str = "the run was interrupted during its launch";

/// Launches and judges every entry of `planned`, writing into `results`.
pub(super) fn validate(
    entries: &mut Entries<'_>,
    planned: &[Planned],
    rule: &Comparison,
    launchers: &mut Launchers<'_, '_>,
    options: &Options,
    watch: &mut Watch<'_>,
    results: &mut Rows<EntryResult>,
) {
    let mut previous: Option<(Entry, MappedEntry)> = None;
    let mut honesty = Honesty::new(&options.mutates);
    let mut given = ByteSize::ZERO;
    let mut stopped: Option<&str> = None;
    for index in 0..results.len() {
        if watch.observer.cancelled() {
            stopped = Some(CANCELLED);
        }
        let validation = match stopped {
            Some(reason) => Validation::not_run(reason),
            None => {
                let size = planned[index].bytes;
                given = end_worker_when_due(launchers.kernel, options, given, size) + size;
                validate_entry(entries, index, (rule, options), launchers, &mut honesty, &mut previous)
            }
        };
        if validation.not_run.as_deref() == Some(INTERRUPTED) {
            stopped = Some(CANCELLED);
        } else if options.fail_fast && !validation.passed() {
            stopped = stopped.or(Some(FAIL_FAST));
        }
        results[index].validation = Some(validation);
        let ran = || Ran::of(launchers.kernel, launchers.reference.as_deref());
        watch.entry(Phase::Validate, results, index, ran);
    }
}

/// Ends the worker if the next entry would exceed a limit; returns the bytes that the worker then has seen.
fn end_worker_when_due(launcher: &mut dyn Launcher, options: &Options, given: ByteSize, next: ByteSize) -> ByteSize {
    let over_bytes = given > ByteSize::ZERO && options.recycle_after.is_some_and(|after| given + next > after);
    let over_rss = || options.recycle_rss.zip(launcher.worker_rss()).is_some_and(|(mark, rss)| rss >= mark);
    let reason = if over_bytes {
        ReleaseReason::RecycleAfter
    } else if over_rss() {
        ReleaseReason::RecycleRss
    } else {
        return given;
    };
    launcher.end_worker(reason);
    ByteSize::ZERO
}

fn validate_entry(
    entries: &mut Entries<'_>,
    index: usize,
    (rule, options): (&Comparison, &Options),
    launchers: &mut Launchers<'_, '_>,
    honesty: &mut Honesty<'_>,
    previous: &mut Option<(Entry, MappedEntry)>,
) -> Validation {
    let mut attempt = || -> Result<(Validation, Entry, MappedEntry), Failure> {
        let (entry, bound) = entries.open(index)?;
        let recomputed =
            launchers.reference.as_mut().map(|reference| recompute(entries, &entry, *reference)).transpose()?;
        let launched = launchers.kernel.launch(Job { entry: &entry, bound: &bound })?;
        let mapped = entry.map()?;
        let expected = recomputed.as_ref().map_or(Expected::Captured(&entry, &mapped), Expected::Recomputed);
        let before = previous.as_ref().map(|(entry, mapped)| (entry, mapped));
        let leaves = honesty.outputs(expected, before, &launched, rule)?;
        // A wrong output says more than other effects of the launch.
        if leaves.iter().all(|leaf| leaf.passed) {
            honesty.arguments(&launched.mutated)?;
        }
        let blindness = blind_spots(expected, before, rule, options.audit.is_some())?;
        let mut validation = Validation::compared(leaves, Some(blindness));
        validation.device = launched.device;
        validation.launch_ns = Some(nanoseconds(launched.elapsed));
        Ok((validation, entry.close(), mapped))
    };
    let mut validation = match attempt() {
        Ok((validation, entry, mapped)) => {
            *previous = Some((entry, mapped));
            validation
        }
        Err(failure) => {
            *previous = None;
            match failure.kind {
                // Its user ended it: the kernel did not fail.
                FailureKind::Cancelled => Validation::not_run(INTERRUPTED),
                _ => Validation::failed(failure),
            }
        }
    };
    validation.worker = launchers.kernel.worker();
    validation
}

/// The reference's output of an entry.
pub(super) fn recompute(
    entries: &Entries<'_>,
    entry: &Entry,
    reference: &mut dyn Launcher,
) -> Result<Launched, Failure> {
    let bound = entries.bind(entry, reference.by_name())?;
    reference.launch(Job { entry, bound: &bound }).map_err(|failure| {
        let message = format!("the reference {}: {}", reference.kernel().name, failure.message);
        Failure { message, ..failure }
    })
}

impl From<CaptureError> for Failure {
    /// The failure to read an entry is the failure of that entry.
    fn from(error: CaptureError) -> Self {
        Self::new(FailureKind::Input, error.to_string())
    }
}
