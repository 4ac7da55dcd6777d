//! Verdicts on the results of a run.

use crate::record::{EntryResult, ProfileStatus, Release, Speedup, ValidationStatus, Values, Verdict, VerdictStatus};

/// Whether every entry passed its validation.
pub(super) fn validation(subject: &str, results: &[EntryResult]) -> Verdict {
    let count = |wanted| results.iter().filter_map(|r| r.validation.as_ref()).filter(|v| v.status == wanted).count();
    let [passed, mismatched, failed, not_run] =
        [ValidationStatus::Passed, ValidationStatus::Mismatch, ValidationStatus::Error, ValidationStatus::NotRun]
            .map(count);
    let blind =
        results.iter().filter_map(|r| r.validation.as_ref()?.blindness).filter(|blindness| blindness.any()).count();
    let mut message = format!("{passed} of {} entries passed", results.len());
    for (count, what) in [
        (mismatched, "did not match"),
        (failed, "gave no output to compare"),
        (not_run, "were not run"),
        (blind, "cannot detect a wrong kernel"),
    ] {
        if count > 0 {
            message.push_str(&format!(", {count} {what}"));
        }
    }
    verdict(subject, mismatched + failed, not_run, message)
}

/// Whether every entry was timed.
pub(super) fn profile(subject: &str, results: &[EntryResult]) -> Verdict {
    let count = |wanted| results.iter().filter_map(|r| r.profile.as_ref()).filter(|p| p.status == wanted).count();
    let [timed, failed, not_run] = [ProfileStatus::Timed, ProfileStatus::Error, ProfileStatus::NotRun].map(count);
    let mut message = format!("{timed} of {} entries timed", results.len());
    let states = results.iter().filter_map(|r| r.profile.as_ref()?.state.as_ref());
    let throttled = states.filter(|state| !state.throttled.is_empty()).count();
    let audits = || results.iter().filter_map(|r| r.profile.as_ref()?.audit.as_ref());
    let judged = audits().map(|audit| audit.judged as usize).sum();
    let unheld = audits().filter(|audit| audit.values == Values::Captured).count();
    for (count, what) in [
        (judged, "timed launches judged"),
        (unheld, "on captured values alone"),
        (failed, "failed"),
        (not_run, "were not run"),
        (throttled, "while the GPU's clocks were held back: their times are of a slower device"),
    ] {
        if count > 0 {
            message.push_str(&format!(", {count} {what}"));
        }
    }
    verdict(subject, failed, not_run, message)
}

/// Whether every worker is gone. That MemAvailable came back is recorded with each release, but other programs move it
/// too: it decides nothing.
pub(super) fn release(proofs: &[Release]) -> Verdict {
    let left = proofs.iter().filter(|ended| !ended.proof.gone).count();
    let recovered = proofs.iter().filter(|ended| ended.proof.recovered == Some(true)).count();
    let message =
        format!("{} of {} workers gone, MemAvailable back after {recovered}", proofs.len() - left, proofs.len());
    verdict("release", left, 0, message)
}

/// Whether a kernel is at least `least` times as fast as the other: only an interval that lies on one side of it can tell.
pub(super) fn speedup(speedup: Option<&Speedup>, least: f64, other: &str) -> Verdict {
    let Some(speedup) = speedup else {
        let message =
            format!("no entry was timed with both kernels, and {least} times as fast as {other} was asked for");
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
    let message = format!("{:.3} times as fast as {other}, {between}, where {least} is asked for", speedup.ratio);
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
