//! [`versus`]: two kernels on one capture, validated one after the other, then timed in turns entry by entry.

use crate::capture::Capture;
use crate::capture::store::ObjectVerifier;
use crate::compare::Comparison;
use crate::gate::{DEFAULT_CONFIDENCE, speedup};
use crate::gpu::{DeviceUse, GpuState};
use crate::meter::Meter;
use crate::record::{
    Aggregation, EntryResult, Failure, FailureKind, Pairs, Profile, Record, ReleaseReason, Results, Speedup, Versus,
    VersusSemantics,
};
use crate::timing::Samples;

use super::entries::Entries;
use super::honesty::Honesty;
use super::launcher::{Job, Launcher, Launchers, Timed};
use super::manifest::manifest;
use super::observer::{Observer, Phase};
use super::options::Options;
use super::plan::{Grouping, Plan};
use super::profile::{no_samples, not_validated, profiled, rechecked};
use super::session::{Ended, RunError, Session, no_results, semantics};
use super::validate::{CANCELLED, FAIL_FAST, validate};
use super::verdicts;

/// Runs `options` on `capture` with the kernels of two launchers, of which the first is the one that the record is of, and
/// the second what it is held against.
///
/// Every entry is measured in pairs: the whole protocol with the one kernel, then with the other, each first in every other
/// pair, so that what drifts moves both. Each measurement is judged as one of [`run`](super::run) is. Both workers are alive
/// meanwhile, with that one entry. Every pair has fresh workers: where a process happens to lie in memory makes it faster or
/// slower for as long as it lives, and pairs of the same two processes would take that for a difference of the kernels.
///
/// # Errors
/// As those of [`run`](super::run).
pub fn versus(
    capture: &Capture,
    launchers: &mut [&mut dyn Launcher; 2],
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let session = Session::begin(capture, options);
    let begin = if options.validate { Phase::Validate } else { Phase::Versus };
    meter.phase(begin.name());
    let planned = manifest(capture, options.digest);
    // Two workers with a batch each would hold it twice.
    let mut plan = Plan::new(&planned, options, Grouping::Alone)?;
    let mut semantics = semantics(capture, &*launchers[0], &planned, options);
    let other = launchers[1].kernel();
    let other_name = other.name.clone();
    semantics.versus = Some(VersusSemantics { kernel: other, pairs: options.pairs });
    let aggregation = Aggregation::of(options.protocol);
    let rule = semantics.comparison;
    let mut results = [no_results(&planned), no_results(&planned)];
    let mut verifier = ObjectVerifier::new(options.verify);
    let mut entries = Entries { capture, planned: &planned, verifier: &mut verifier, by_name: false };

    if let Some(rule) = rule.as_ref().filter(|_| options.validate) {
        for (at, results) in results.iter_mut().enumerate() {
            observer.phase(Phase::Validate, planned.len());
            entries.by_name = launchers[at].by_name();
            let mut alone = Launchers { kernel: &mut *launchers[at], reference: None };
            validate(&mut entries, &planned, rule, &mut alone, options, observer, results);
            launchers[at].recycle(ReleaseReason::BeforeProfiling);
        }
        meter.phase(Phase::Versus.name());
    }
    observer.phase(Phase::Versus, planned.len() * options.pairs.get() as usize);
    results.iter().for_each(|results| plan.learn(results));
    let mut refused = Vec::with_capacity(planned.len());
    while let Some((_, batch)) = plan.next() {
        refused.push(plan.refused(&batch));
    }
    let turns = Turns { rule: rule.as_ref(), options, aggregation, refused };
    let pairs = turns.all(&mut entries, launchers, observer, &mut results);
    for launcher in &mut *launchers {
        launcher.recycle(ReleaseReason::Finished);
    }
    let phases = meter.finish();
    verifier.remember();

    let mut gpus = launchers[0].gpus();
    gpus.extend(launchers[1].gpus().into_iter().filter(|gpu| !launchers[0].gpus().contains(gpu)));
    let [own, others] = results;
    let all = all_entries(&pairs);
    let mut verdicts = Vec::new();
    for (results, validation, profile) in
        [(&own, "validation", "profile"), (&others, "versus validation", "versus profile")]
    {
        if options.validate {
            verdicts.push(verdicts::validation(validation, results));
        }
        verdicts.push(verdicts::profile(profile, results));
    }
    if let Some(least) = options.min_speedup {
        verdicts.push(verdicts::speedup(all.as_ref(), least, &other_name));
    }
    let timing = aggregation.aggregate(&own);
    let versus = Versus { timing: aggregation.aggregate(&others), entries: others, pairs, speedup: all };
    let mut versions = launchers[1].versions();
    versions.extend(launchers[0].versions());
    let mut releases: Vec<_> = launchers.iter_mut().flat_map(|launcher| launcher.releases()).collect();
    releases.sort_by_key(|release| release.worker);
    session.record(Ended {
        semantics,
        batches: plan.into_batches(),
        phases,
        releases,
        gpus,
        versions,
        results: Results { entries: own, timing, versus: Some(versus) },
        verdicts,
        interrupted: observer.cancelled(),
    })
}

/// The speedup on all entries that have pairs: of the sums of their times, pair by pair.
fn all_entries(pairs: &[Pairs]) -> Option<Speedup> {
    let timed: Vec<&Pairs> = pairs.iter().filter(|pairs| pairs.speedup.is_some()).collect();
    let count = timed.first()?.times_ns.len();
    let sum = |pair: usize, of: usize| timed.iter().map(|entry| entry.times_ns[pair][of]).sum::<f64>();
    let sums: Vec<[f64; 2]> = (0..count).map(|pair| [sum(pair, 0), sum(pair, 1)]).collect();
    speedup(&sums, DEFAULT_CONFIDENCE)
}

/// How two kernels are timed in turns.
struct Turns<'a> {
    rule: Option<&'a Comparison>,
    options: &'a Options,
    aggregation: Aggregation,
    /// Why an entry is not to be timed under the cap.
    refused: Vec<Option<String>>,
}

/// What one kernel gave on one entry.
#[derive(Default)]
struct Side {
    samples: Option<Samples>,
    times_ns: Vec<f64>,
    /// What the last launch used of a device.
    device: Option<DeviceUse>,
    /// What the GPU was like in all of its turns.
    state: Option<GpuState>,
}

/// What both kernels gave on one entry so far.
struct Taken {
    sides: [Result<Side, Failure>; 2],
    /// Why it is not timed at all, or not to the end.
    reason: Option<String>,
}

impl Taken {
    /// Whether there is nothing more to be done about it.
    fn is_over(&self) -> bool {
        self.reason.is_some() || self.sides.iter().any(Result::is_err)
    }
}

impl Turns<'_> {
    /// Times every entry, writing into `results`, and gives its pairs.
    fn all(
        &self,
        entries: &mut Entries<'_>,
        launchers: &mut [&mut dyn Launcher; 2],
        observer: &mut dyn Observer,
        results: &mut [Vec<EntryResult>; 2],
    ) -> Vec<Pairs> {
        let count = results[0].len();
        let fresh = |index| Taken {
            sides: [Ok(Side::default()), Ok(Side::default())],
            reason: not_validated_by_both(results, index).or_else(|| self.refused[index].clone()),
        };
        let mut taken: Vec<Taken> = (0..count).map(fresh).collect();
        let mut honesty = [Honesty::new(&self.options.mutates), Honesty::new(&self.options.mutates)];
        let mut stopped: Option<&str> = None;
        let pairs = self.options.pairs.get() as usize;
        for pair in 0..pairs {
            for index in 0..count {
                stopped = if observer.cancelled() { Some(CANCELLED) } else { stopped };
                if stopped.is_none() && !taken[index].is_over() {
                    let order = if (pair + index).is_multiple_of(2) { [0, 1] } else { [1, 0] };
                    self.pair(entries, index, order, launchers, &mut honesty, &mut taken[index].sides);
                    let failed = taken[index].sides.iter().any(Result::is_err);
                    stopped = (failed && self.options.fail_fast).then_some(FAIL_FAST);
                }
                observer.entry(Phase::Versus, &results[0][index]);
            }
            if stopped.is_some() || taken.iter().all(Taken::is_over) {
                break;
            }
            let last = pair + 1 == pairs;
            for launcher in &mut *launchers {
                launcher.recycle(if last { ReleaseReason::Finished } else { ReleaseReason::NextPair });
            }
        }
        let mut of_entries = Vec::with_capacity(count);
        for (index, taken) in taken.into_iter().enumerate() {
            let (pairs_of_entry, profiles) = self.ended(taken, index, stopped);
            for (results, profile) in results.iter_mut().zip(profiles) {
                results[index].profile = Some(profile);
            }
            of_entries.push(pairs_of_entry);
        }
        of_entries
    }

    /// Measures one entry with both kernels, in this order, until one fails.
    fn pair(
        &self,
        entries: &mut Entries<'_>,
        index: usize,
        order: [usize; 2],
        launchers: &mut [&mut dyn Launcher; 2],
        honesty: &mut [Honesty<'_>; 2],
        sides: &mut [Result<Side, Failure>; 2],
    ) {
        for at in order {
            // Each kernel is given its arguments in its own way.
            entries.by_name = launchers[at].by_name();
            let (entry, bound) = match entries.open(index) {
                Ok(opened) => opened,
                Err(error) => {
                    sides[at] = Err(error.into());
                    return;
                }
            };
            let mut outcome = Err(Failure::new(FailureKind::ChannelClosed, "the worker gave no answer"));
            launchers[at].profile(&[Job { entry: &entry, bound: &bound }], self.options.protocol, &mut |_, timed| {
                outcome = timed.and_then(|timed| rechecked(timed, &entry, self.rule, &mut honesty[at]));
            });
            launchers[at].release();
            let Ok(side) = &mut sides[at] else { return };
            if let Err(failure) = outcome.and_then(|timed| side.add(timed, self.aggregation)) {
                sides[at] = Err(failure);
                return;
            }
        }
    }

    /// The pairs and profiles of an entry that is over, or was when the run was `stopped`.
    fn ended(&self, taken: Taken, index: usize, stopped: Option<&str>) -> (Pairs, [Profile; 2]) {
        let pairs = self.options.pairs.get() as usize;
        let short = |side: &Result<Side, Failure>| side.as_ref().is_ok_and(|side| side.times_ns.len() < pairs);
        let failed = taken.sides.iter().any(Result::is_err);
        let stopped = stopped.filter(|_| !failed && taken.sides.iter().any(short)).map(str::to_owned);
        if let Some(reason) = taken.reason.or(stopped) {
            return (Pairs::default(), [Profile::not_run(reason.clone()), Profile::not_run(reason)]);
        }
        let mut of_entry = Pairs::default();
        if let [Ok(own), Ok(other)] = &taken.sides {
            of_entry.times_ns = own.times_ns.iter().zip(&other.times_ns).map(|(own, other)| [*own, *other]).collect();
            of_entry.speedup = speedup(&of_entry.times_ns, DEFAULT_CONFIDENCE);
        }
        (of_entry, profiles(taken.sides, index))
    }
}

impl Side {
    /// Adds one measurement.
    fn add(&mut self, timed: Timed, aggregation: Aggregation) -> Result<(), Failure> {
        let samples = timed.samples;
        self.device = timed.again.device;
        if let Some(state) = &timed.state {
            self.state.get_or_insert_default().add(state);
        }
        let statistics = samples.statistics().ok_or_else(no_samples)?;
        self.times_ns.push(aggregation.time_ns(&statistics));
        match &mut self.samples {
            Some(all) => all.extend(samples),
            all => *all = Some(samples),
        }
        Ok(())
    }
}

/// The profiles of both kernels on an entry. Where one failed the other was not measured as often as the protocol says.
fn profiles(sides: [Result<Side, Failure>; 2], index: usize) -> [Profile; 2] {
    let both = sides.iter().all(Result::is_ok);
    sides.map(|side| match side {
        Err(failure) => Profile::failed(failure),
        Ok(Side { samples: Some(samples), device, state, .. }) if both => profiled(samples, device, state, index),
        Ok(_) => Profile::not_run("the other kernel failed on it"),
    })
}

/// Why an entry is not timed: one of the kernels did not pass its validation.
fn not_validated_by_both(results: &[Vec<EntryResult>; 2], index: usize) -> Option<String> {
    results.iter().find_map(|results| not_validated(&results[index]))
}
