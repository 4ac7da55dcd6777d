//! Verdicts on the results of a run.

use plimsoll_memory::text::duration;

use crate::record::{
    EntryResult, ProfileStatus, Release, Rows, Speedup, ValidationStatus, Values, Verdict, VerdictStatus,
};

/// The results of entries, counted one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    entries: usize,
    passed: usize,
    mismatched: usize,
    no_output: usize,
    not_validated: usize,
    blind: usize,
    timed: usize,
    not_timed: usize,
    failed: usize,
    judged: usize,
    /// The most that the times of an entry's audited launches can have hidden, in nanoseconds per launch.
    hidden_ns: f64,
    unheld: usize,
    unreferenced: usize,
    throttled: usize,
}

impl Tally {
    /// The tally of all `results`.
    pub fn of(results: &Rows<EntryResult>) -> Self {
        let mut tally = Self::default();
        results.iter().for_each(|result| tally.add(&result));
        tally
    }

    /// Counts an entry.
    pub fn add(&mut self, result: &EntryResult) {
        self.entries += 1;
        if let Some(validation) = &result.validation {
            *match validation.status {
                ValidationStatus::Passed => &mut self.passed,
                ValidationStatus::Mismatch => &mut self.mismatched,
                ValidationStatus::Error => &mut self.no_output,
                ValidationStatus::NotRun => &mut self.not_validated,
            } += 1;
            self.blind += usize::from(validation.blindness.is_some_and(|blindness| blindness.any()));
        }
        if let Some(profile) = &result.profile {
            *match profile.status {
                ProfileStatus::Timed => &mut self.timed,
                ProfileStatus::Error => &mut self.failed,
                ProfileStatus::NotRun => &mut self.not_timed,
            } += 1;
            self.throttled += usize::from(profile.state.as_ref().is_some_and(|state| !state.throttled.is_empty()));
            if let Some(audit) = &profile.audit {
                self.judged += audit.judged as usize;
                self.hidden_ns = self.hidden_ns.max(audit.overhead_ns);
                self.unheld += usize::from(audit.values == Values::Captured);
                self.unreferenced += usize::from(audit.reference.is_none());
            }
        }
    }

    /// Whether every entry passed its validation.
    pub fn validation(&self, subject: &str) -> Verdict {
        let message = counts(
            format!("{} of {} entries passed", self.passed, self.entries),
            [
                (self.mismatched, "did not match"),
                (self.no_output, "gave no output to compare"),
                (self.not_validated, "were not run"),
                (self.blind, "cannot detect a wrong kernel"),
            ],
        );
        verdict(subject, self.mismatched + self.no_output, self.not_validated, message)
    }

    /// Whether every entry was timed.
    pub fn profile(&self, subject: &str) -> Verdict {
        let judged =
            format!("timed launches judged, on average at most {} longer than reported", duration(self.hidden_ns));
        let message = counts(
            format!("{} of {} entries timed", self.timed, self.entries),
            [
                (self.judged, &judged),
                (self.unheld, "on captured values alone"),
                (self.unreferenced, "without a reference: what is wrong alike for all new values passes"),
                (self.failed, "failed"),
                (self.not_timed, "were not run"),
                (self.throttled, "while the GPU's clocks were held back: their times are of a slower device"),
            ],
        );
        verdict(subject, self.failed, self.not_timed, message)
    }
}

/// `message`, and each of `others` whose count is not zero.
fn counts<const N: usize>(mut message: String, others: [(usize, &str); N]) -> String {
    for (count, what) in others {
        if count > 0 {
            message.push_str(&format!(", {count} {what}"));
        }
    }
    message
}

/// Workers that ended, counted one by one.
#[derive(Default)]
pub(crate) struct Ended {
    workers: usize,
    gone: usize,
    recovered: usize,
}

impl Ended {
    /// The workers of all `proofs`.
    pub fn of(proofs: &[Release]) -> Self {
        let mut ended = Self::default();
        proofs.iter().for_each(|release| ended.add(release));
        ended
    }

    /// Counts a worker.
    pub fn add(&mut self, Release { proof, .. }: &Release) {
        self.workers += 1;
        self.gone += usize::from(proof.gone);
        self.recovered += usize::from(proof.recovered == Some(true));
    }

    /// Whether every worker is gone; `None` if there was none. MemAvailable is recorded with each release, but other
    /// programs change it too, so it decides nothing.
    pub fn verdict(&self) -> Option<Verdict> {
        let Self { workers, gone, recovered } = self;
        let message = format!("{gone} of {workers} workers gone, MemAvailable back after {recovered}");
        (*workers > 0).then(|| verdict("release", workers - gone, 0, message))
    }
}

/// Whether a kernel is at least `least` times as fast as the other; only an interval entirely on one side can decide.
pub(crate) fn speedup(speedup: Option<&Speedup>, least: f64, other: &str) -> Verdict {
    let Some(speedup) = speedup else {
        let message = format!("no entry was timed with both kernels, and {least} times as fast as {other} is required");
        return Verdict::new("speedup", VerdictStatus::Inconclusive, message);
    };
    let (status, between) = match speedup.interval {
        Some(interval) => {
            let status = match (interval.low >= least, interval.high < least) {
                (true, _) => VerdictStatus::Pass,
                (_, true) => VerdictStatus::Fail,
                _ => VerdictStatus::Inconclusive,
            };
            (status, format!("between {:.3} and {:.3}", interval.low, interval.high))
        }
        None => (VerdictStatus::Inconclusive, format!("of {} pairs, too few for an interval", speedup.pairs)),
    };
    let message = format!("{:.3} times as fast as {other}, {between}; required: {least}", speedup.ratio);
    Verdict::new("speedup", status, message)
}

fn verdict(subject: &str, failed: usize, missing: usize, message: String) -> Verdict {
    let status = match (failed, missing) {
        (0, 0) => VerdictStatus::Pass,
        (0, _) => VerdictStatus::Inconclusive,
        _ => VerdictStatus::Fail,
    };
    Verdict::new(subject, status, message)
}
