//! Profiling: batches capped by bytes, each entry timed separately.

use crate::record::{EntryResult, Failure, FailureKind, Profile, Rows};
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::{DeviceUse, GpuState};
use plimsoll_capture::timing::Samples;
use plimsoll_capture::{Bound, Entry};

use super::audited::{Witness, audited};
use super::entries::Entries;
use super::honesty::Honesty;
use super::judge::Expected;
use super::launcher::{Job, Launcher, Timed};
use super::observer::Phase;
use super::options::Options;
use super::plan::Plan;
use super::validate::{CANCELLED, FAIL_FAST, INTERRUPTED};
use super::watch::{Ran, Watch};

/// Times every entry of every batch, writing into `results`. An entry that failed validation is not timed, as the time
/// of a wrong answer means nothing. If there is a rule, the kernel's result after timing is judged again.
pub(super) fn profile(
    entries: &mut Entries<'_>,
    plan: &mut Plan<'_>,
    rule: Option<&Comparison>,
    (launcher, mut witness): (&mut dyn Launcher, Option<&mut Witness<'_, '_>>),
    options: &Options,
    watch: &mut Watch<'_>,
    results: &mut Rows<EntryResult>,
) {
    let mut stopped: Option<&str> = None;
    let mut honesty = Honesty::new(&options.mutates);
    while let Some((number, batch)) = plan.next() {
        let mut loaded: Vec<(usize, Entry, Bound)> = Vec::new();
        let refused = plan.refused(&batch);
        for index in batch.entries.clone() {
            if watch.observer.cancelled() {
                stopped = Some(CANCELLED);
            }
            let refused = || refused.clone();
            let result = &mut results[index];
            match stopped.map(str::to_owned).or_else(|| not_validated(result)).or_else(refused) {
                Some(reason) => result.profile = Some(Profile::not_run(reason)),
                None => match entries.open(index) {
                    // As many files as entries of a batch would be open at once.
                    Ok((entry, bound)) => loaded.push((index, entry.close(), bound)),
                    Err(error) => result.profile = Some(Profile::failed(error.into())),
                },
            }
            if let Some(profile) = &result.profile {
                let failed = profile.error.is_some();
                watch.entry(Phase::Profile, results, index, || Ran::of(launcher, None));
                if failed && options.fail_fast {
                    stopped = stopped.or(Some(FAIL_FAST));
                }
            }
        }
        let jobs: Vec<Job<'_>> = loaded.iter().map(|(_, entry, bound)| Job { entry, bound }).collect();
        if jobs.is_empty() {
            continue;
        }
        let ran = Ran::of(launcher, None);
        let of_audit = loaded.iter().filter(|_| options.audit.is_some());
        let validations: Vec<_> = of_audit.map(|(index, ..)| results.get_mut(*index)?.validation.clone()).collect();
        let mut each = |at: usize, timed: Result<Timed, Failure>| {
            let index = loaded[at].0;
            let timed = timed.and_then(|timed| rechecked(timed, &loaded[at].1, rule, &mut honesty));
            results[index].profile = Some(timed.map_or_else(untimed, |timed| {
                let audit = timed.audit;
                Profile { audit, ..profiled(timed.samples, timed.again.device, timed.state, number) }
            }));
            watch.entry(Phase::Profile, results, index, || ran.clone());
        };
        match &options.audit {
            None => launcher.profile(&jobs, options.protocol, &mut each),
            Some(audit) => {
                for (at, (_, entry, bound)) in loaded.iter().enumerate() {
                    let validation = validations[at].as_ref();
                    let witness = witness.as_deref_mut();
                    each(at, audited(launcher, witness, entries, (entry, bound), validation, options, audit));
                }
            }
        }
        launcher.drop_caches();
        for (index, ..) in &loaded {
            // A launcher that was interrupted says nothing of the entries after that one.
            if results[*index].profile.is_none() {
                results[*index].profile = Some(Profile::not_run(stopped.unwrap_or(CANCELLED)));
                watch.entry(Phase::Profile, results, *index, || ran.clone());
            }
            let profile = results.get_mut(*index).and_then(|result| result.profile.as_ref());
            if profile.is_some_and(|profile| profile.not_run.as_deref() == Some(INTERRUPTED)) {
                stopped = Some(CANCELLED);
            } else if options.fail_fast && profile.is_some_and(|profile| profile.error.is_some()) {
                stopped = stopped.or(Some(FAIL_FAST));
            }
        }
        plan.learn(results.range(batch.entries));
    }
}

pub(super) fn not_validated(result: &EntryResult) -> Option<String> {
    let validation = result.validation.as_ref()?;
    (!validation.passed()).then(|| "it did not pass its validation".to_owned())
}

/// The timing, if the kernel still returns the captured output.
pub(super) fn rechecked(
    timed: Timed,
    entry: &Entry,
    rule: Option<&Comparison>,
    honesty: &mut Honesty<'_>,
) -> Result<Timed, Failure> {
    honesty.arguments(&timed.again.mutated)?;
    if let Some(rule) = rule.filter(|_| timed.audit.is_none()) {
        let leaves = honesty.outputs(Expected::Captured(entry, &entry.map()?), None, &timed.again, rule)?;
        if let Some(wrong) = leaves.iter().find(|leaf| !leaf.passed) {
            let leaf = if wrong.path.is_empty() { "the output".to_owned() } else { format!("output {}", wrong.path) };
            let message = format!(
                "{leaf} of a launch after the timed ones does not match, and did before: the kernel did not compute what \
                 was timed"
            );
            return Err(Failure::new(FailureKind::StaleOutput, message));
        }
    }
    Ok(timed)
}

/// The profile of an entry that was resident in the batch of this number.
pub(super) fn profiled(samples: Samples, device: Option<DeviceUse>, state: Option<GpuState>, batch: usize) -> Profile {
    match samples.statistics() {
        Some(statistics) => {
            Profile { device, state: state.map(Box::new), ..Profile::timed(statistics, samples, batch) }
        }
        None => Profile::failed(no_samples()),
    }
}

/// The profile of an entry whose launches failed, or were interrupted by the user.
pub(super) fn untimed(failure: Failure) -> Profile {
    match failure.kind {
        FailureKind::Cancelled => Profile::not_run(INTERRUPTED),
        _ => Profile::failed(failure),
    }
}

pub(super) fn no_samples() -> Failure {
    Failure::new(FailureKind::ChannelClosed, "the worker sent no samples")
}
