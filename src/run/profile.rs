//! Profiling: batches capped by bytes, each entry timed by itself.

use crate::capture::batch::Batch;
use crate::capture::{Bound, Entry};
use crate::record::{EntryResult, Failure, FailureKind, Profile};
use crate::timing::Samples;

use super::entries::Entries;
use super::launcher::{Job, Launcher};
use super::observer::{Observer, Phase};
use super::options::Options;
use super::validate::{CANCELLED, FAIL_FAST};

/// Times every entry of every batch, writing into `results`. An entry that was not validated is not timed: the time of a
/// wrong answer is none.
pub(super) fn profile(
    entries: &mut Entries<'_>,
    batches: &[Batch],
    launcher: &mut dyn Launcher,
    options: &Options,
    observer: &mut dyn Observer,
    results: &mut [EntryResult],
) {
    let mut stopped: Option<&str> = None;
    for (number, batch) in batches.iter().enumerate() {
        let mut loaded: Vec<(usize, Entry, Bound)> = Vec::new();
        for index in batch.entries.clone() {
            if observer.cancelled() {
                stopped = Some(CANCELLED);
            }
            match stopped.map(str::to_owned).or_else(|| not_validated(&results[index])) {
                Some(reason) => results[index].profile = Some(Profile::not_run(reason)),
                None => match entries.open(index) {
                    Ok((entry, bound)) => loaded.push((index, entry, bound)),
                    Err(error) => results[index].profile = Some(Profile::failed(error.into())),
                },
            }
            if let Some(profile) = &results[index].profile {
                let failed = profile.error.is_some();
                observer.entry(Phase::Profile, &results[index]);
                if failed && options.fail_fast {
                    stopped = stopped.or(Some(FAIL_FAST));
                }
            }
        }
        let jobs: Vec<Job<'_>> = loaded.iter().map(|(_, entry, bound)| Job { entry, bound }).collect();
        if jobs.is_empty() {
            continue;
        }
        launcher.profile(&jobs, options.protocol, &mut |at, timed| {
            let index = loaded[at].0;
            results[index].profile = Some(profiled(timed, number));
            observer.entry(Phase::Profile, &results[index]);
        });
        launcher.release();
        for (index, ..) in &loaded {
            let failure = results[*index].profile.as_ref().and_then(|p| p.error.as_ref());
            match failure.map(|f| f.kind) {
                Some(FailureKind::Cancelled) => stopped = Some(CANCELLED),
                Some(_) if options.fail_fast => stopped = stopped.or(Some(FAIL_FAST)),
                _ => {}
            }
        }
    }
}

fn not_validated(result: &EntryResult) -> Option<String> {
    let validation = result.validation.as_ref()?;
    (!validation.passed()).then(|| "it did not pass its validation".to_owned())
}

fn profiled(timed: Result<Samples, Failure>, batch: usize) -> Profile {
    match timed {
        Ok(samples) => match samples.statistics() {
            Some(statistics) => Profile::timed(statistics, samples.durations_ns, samples.launches_per_sample, batch),
            None => Profile::failed(Failure::new(FailureKind::ChannelClosed, "the worker gave no samples")),
        },
        Err(failure) => Profile::failed(failure),
    }
}
