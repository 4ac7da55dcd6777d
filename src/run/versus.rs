//! [`Turns`]: two kernels timed in turns, entry by entry.

use serde::{Deserialize, Serialize};

use crate::gate::{DEFAULT_CONFIDENCE, speedup};
use crate::record::{Aggregation, Audit, Failure, FailureKind, Pairs, Profile, ReleaseReason, Rows, Speedup};
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::{DeviceUse, GpuState};
use plimsoll_capture::timing::Samples;

use super::audited::{audited, witness_of};
use super::entries::Entries;
use super::honesty::Honesty;
use super::launcher::{Job, Launcher, Timed};
use super::observer::{Observer, Phase};
use super::operators::Operators;
use super::options::Options;
use super::plan::Plan;
use super::profile::{no_samples, not_validated, profiled, rechecked, untimed};
use super::side::Side;
use super::validate::{CANCELLED, FAIL_FAST};

/// The speedup over all entries that have pairs: of the sums of their times, pair by pair.
pub(super) fn all_entries(pairs: &Rows<Pairs>) -> Option<Speedup> {
    let mut sums = PairSums::default();
    pairs.iter().for_each(|pairs| sums.add(&pairs));
    sums.speedup()
}

/// The sums of the times of entries, pair by pair.
#[derive(Default)]
pub(crate) struct PairSums(Option<Vec<[f64; 2]>>);

impl PairSums {
    /// Adds the times of an entry, if it has pairs.
    pub fn add(&mut self, pairs: &Pairs) {
        if pairs.speedup.is_none() {
            return;
        }
        let sums = self.0.get_or_insert_with(|| vec![[0.0; 2]; pairs.times_ns.len()]);
        for (sum, times) in sums.iter_mut().zip(&pairs.times_ns) {
            sum[0] += times[0];
            sum[1] += times[1];
        }
    }

    /// The speedup over all.
    pub fn speedup(&self) -> Option<Speedup> {
        speedup(self.0.as_ref()?, DEFAULT_CONFIDENCE)
    }
}

/// How two kernels are timed in turns.
pub(super) struct Turns<'a> {
    rule: Option<&'a Comparison>,
    options: &'a Options,
    aggregation: Aggregation,
    /// Why an entry is not timed under the cap.
    refused: Vec<Option<String>>,
}

/// The results of one kernel on one entry.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Measured {
    samples: Option<Samples>,
    times_ns: Vec<f64>,
    /// The device memory of the last launch.
    device: Option<DeviceUse>,
    /// The GPU's state in all of its turns.
    state: Option<GpuState>,
    /// The findings of the last audit.
    audit: Option<Audit>,
}

/// The results of both kernels on one entry so far.
#[derive(Clone, Serialize, Deserialize)]
struct Taken {
    sides: [Result<Measured, Failure>; 2],
    /// Why the entry is not timed at all, or not to the end.
    reason: Option<String>,
}

impl Taken {
    /// Whether the entry is done.
    fn is_over(&self) -> bool {
        self.reason.is_some() || self.sides.iter().any(Result::is_err)
    }
}

impl<'a> Turns<'a> {
    /// Turns on the entries of `plan`, each of which is a batch of its own.
    pub fn new(rule: Option<&'a Comparison>, options: &'a Options, plan: &mut Plan<'_>) -> Self {
        let mut refused = Vec::new();
        while let Some((_, batch)) = plan.next() {
            refused.push(plan.refused(&batch));
        }
        Self { rule, options, aggregation: Aggregation::of(options.protocol), refused }
    }

    /// Times every entry, writing into the results of both sides, and returns its pairs.
    pub fn all(
        &self,
        entries: &mut Entries<'_>,
        mut sides: [&mut Side<'_>; 2],
        (reference, operators): (&mut Option<&mut dyn Launcher>, &mut Operators<'_>),
        observer: &mut dyn Observer,
    ) -> Rows<Pairs> {
        let count = sides[0].results.len();
        let fresh = |index| Taken {
            sides: [Ok(Measured::default()), Ok(Measured::default())],
            reason: not_validated_by_both(&sides, index).or_else(|| self.refused[index].clone()),
        };
        let mut taken: Rows<Taken> = (0..count).map(fresh).collect();
        let mut honesty = [Honesty::new(&self.options.mutates), Honesty::new(&self.options.mutates)];
        let mut stopped: Option<&str> = None;
        let pairs = self.options.pairs.get() as usize;
        for pair in 0..pairs {
            let mut all_over = true;
            for index in 0..count {
                let Some(taken) = taken.get_mut(index) else { continue };
                stopped = if observer.cancelled() { Some(CANCELLED) } else { stopped };
                if stopped.is_none() && !taken.is_over() {
                    let order = if (pair + index).is_multiple_of(2) { [0, 1] } else { [1, 0] };
                    self.pair(
                        entries,
                        index,
                        order,
                        (&mut sides, reference, operators),
                        &mut honesty,
                        &mut taken.sides,
                    );
                    let failed = taken.sides.iter().any(Result::is_err);
                    stopped = (failed && self.options.fail_fast).then_some(FAIL_FAST);
                }
                all_over &= taken.is_over();
                if let Some(result) = sides[0].results.get_mut(index) {
                    observer.entry(Phase::Versus, result);
                }
            }
            if stopped.is_some() || all_over {
                break;
            }
            let last = pair + 1 == pairs;
            for side in &mut sides {
                side.launcher.end_worker(if last { ReleaseReason::Finished } else { ReleaseReason::NextPair });
            }
        }
        let mut of_entries = Rows::default();
        for (index, taken) in taken.into_iter().enumerate() {
            let (pairs_of_entry, profiles) = self.ended(taken, index, stopped);
            for (side, profile) in sides.iter_mut().zip(profiles) {
                side.results[index].profile = Some(profile);
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
        (sides, reference, operators): (&mut [&mut Side<'_>; 2], &mut Option<&mut dyn Launcher>, &mut Operators<'_>),
        honesty: &mut [Honesty<'_>; 2],
        measured: &mut [Result<Measured, Failure>; 2],
    ) {
        for at in order {
            // Each kernel takes its arguments in its own way.
            let Side { launcher, witness, results } = &mut *sides[at];
            entries.by_name = launcher.by_name();
            let (entry, bound) = match entries.open(index) {
                Ok(opened) => opened,
                Err(error) => {
                    measured[at] = Err(error.into());
                    return;
                }
            };
            let mut outcome = Err(Failure::new(FailureKind::ChannelClosed, "the worker sent no answer"));
            let mut each = |_, timed: Result<Timed, Failure>| {
                outcome = timed.and_then(|timed| rechecked(timed, &entry, self.rule, &mut honesty[at]));
            };
            match &self.options.audit {
                None => launcher.profile(&[Job { entry: &entry, bound: &bound }], self.options.protocol, &mut each),
                Some(audit) => {
                    let mut witness = witness_of(reference, witness, operators);
                    let call = (&*entry, &bound);
                    let validation = results.get_mut(index).and_then(|result| result.validation.as_ref());
                    let witness = witness.as_mut();
                    each(0, audited(&mut **launcher, witness, entries, call, validation, self.options, audit));
                }
            }
            launcher.drop_caches();
            let Ok(side) = &mut measured[at] else { return };
            if let Err(failure) = outcome.and_then(|timed| side.add(timed, self.aggregation)) {
                measured[at] = Err(failure);
                return;
            }
        }
    }

    /// The pairs and profiles of an entry that is finished, or that was interrupted when the run was `stopped`.
    fn ended(&self, taken: Taken, index: usize, stopped: Option<&str>) -> (Pairs, [Profile; 2]) {
        let pairs = self.options.pairs.get() as usize;
        let short = |side: &Result<Measured, Failure>| side.as_ref().is_ok_and(|side| side.times_ns.len() < pairs);
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

impl Measured {
    /// Adds one measurement.
    fn add(&mut self, timed: Timed, aggregation: Aggregation) -> Result<(), Failure> {
        let samples = timed.samples;
        self.device = timed.again.device;
        self.audit = timed.audit;
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

/// The profiles of both kernels on an entry. If one failed, the other was not measured as often as the protocol
/// requires.
fn profiles(sides: [Result<Measured, Failure>; 2], index: usize) -> [Profile; 2] {
    let both = sides.iter().all(Result::is_ok);
    sides.map(|side| match side {
        Err(failure) => untimed(failure),
        Ok(Measured { samples: Some(samples), device, state, audit, .. }) if both => {
            Profile { audit, ..profiled(samples, device, state, index) }
        }
        Ok(_) => Profile::not_run("the other kernel failed on it"),
    })
}

/// Why an entry is not timed: one of the kernels did not pass its validation.
fn not_validated_by_both(sides: &[&mut Side<'_>; 2], index: usize) -> Option<String> {
    sides.iter().find_map(|side| not_validated(&*side.results.get(index)?))
}
