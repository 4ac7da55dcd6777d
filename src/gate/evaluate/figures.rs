//! Judges each figure of a subject by its limit against the baseline.

use crate::gate::conditions::ConditionChange;
use crate::gate::judge::Comparison;
use crate::gate::limits::Limits;
use crate::gate::outcome::Outcome;
use crate::gate::report::{FigureVerdict, SubjectVerdict};
use crate::gate::summary::Summary;
use crate::record::{Direction, Figure, Unit, Verdict, VerdictStatus};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Allowance;
use plimsoll_memory::meter::Metric;
use plimsoll_memory::text::nearest;

use super::Rules;

/// Judges those figures of `now` that have a limit, each with `one`. A figure that a limit names but `now` lacks is
/// unmeasurable.
pub(super) fn judge_figures(
    judged: &mut SubjectVerdict,
    now: &[Figure],
    limits: &Limits,
    one: impl Fn(&Figure) -> FigureVerdict,
) {
    // A limit on time does not switch off the memory figures; only a limit on one of them selects among them.
    let all = limits.are_general() || !now.iter().any(|figure| is_default(figure) && limits.name(&figure.name));
    let is_judged = |figure: &&Figure| limits.name(&figure.name) || (all && is_default(figure));
    judged.figures = now.iter().filter(is_judged).map(one).collect();
    leave_out_missed(judged, limits);
    let unmeasured = unmeasured(now, limits);
    let outcomes = judged.figures.iter().map(|figure| figure.outcome);
    let missing = (!unmeasured.is_empty()).then_some(Outcome::Inconclusive);
    judged.outcome = Outcome::of_all(outcomes.chain(missing).chain([judged.outcome]));
    judged.verdicts.extend(unmeasured);
    if judged.figures.is_empty() && judged.verdicts.is_empty() {
        judged.leave_undecided("nothing was judged: no limit applies to any of its figures".to_owned());
    }
}

/// Removes unnamed figures whose samples missed too much to judge them. The peak RSS, which includes them and which the
/// kernel keeps exactly, is judged anyway.
fn leave_out_missed(judged: &mut SubjectVerdict, limits: &Limits) {
    let rss = Metric::PeakRss.name();
    if !judged.figures.iter().any(|figure| figure.name == rss && figure.comparison.is_some()) {
        return;
    }
    let is_missed = |figure: &FigureVerdict| figure.comparison.is_some() && figure.note.is_some();
    let (left_out, figures) =
        std::mem::take(&mut judged.figures).into_iter().partition(|one| is_missed(one) && !limits.name(&one.name));
    judged.figures = figures;
    let left_out: Vec<FigureVerdict> = left_out;
    judged.verdicts.extend(left_out.into_iter().filter_map(|figure| {
        let why = figure.note?;
        let message = format!("{} is not judged, {rss} is: {why}", figure.name);
        Some(Verdict::new(format!("limit {}", figure.name), VerdictStatus::Pass, message))
    }));
}

/// Compares the values of a figure with the baseline's.
pub(super) type Judge = fn(&[f64], &[f64], Unit, Direction, Allowance, f64) -> Comparison;

/// Judges a figure against `before`, unless a condition that affects it changed.
pub(super) fn judge_figure(
    figure: &Figure,
    before: Option<&Figure>,
    conditions: &[ConditionChange],
    rules: &Rules,
    judge: Judge,
) -> FigureVerdict {
    let mut judged = FigureVerdict {
        name: figure.name.clone(),
        phase: figure.phase.clone(),
        unit: figure.unit,
        direction: figure.direction,
        source: figure.source,
        outcome: Outcome::NotComparable,
        current: Summary::of(&figure.values),
        comparison: None,
        note: None,
    };
    let bear = |change: &&ConditionChange| !change.allowed && change.condition.bears_on(figure);
    let changed: Vec<String> = conditions.iter().filter(bear).map(|change| change.condition.to_string()).collect();
    if !changed.is_empty() {
        judged.note = Some(format!(
            "measured under other conditions: {}; compare anyway with --allow {}",
            changed.join(", "),
            changed.join(",")
        ));
        return judged;
    }
    let Some(before) = before else {
        judged.outcome = Outcome::Inconclusive;
        judged.note = Some("the baseline lacks it".to_owned());
        return judged;
    };
    let allowance = rules.limits.of(&figure.name);
    let held =
        |before: &[f64], now: &[f64]| judge(before, now, figure.unit, figure.direction, allowance, rules.confidence);
    let mut comparison = held(&before.values, &figure.values);
    if let Some(missed) = missed(before, figure) {
        // The share of a peak that samples catch depends on the load of the machine, so a change that this could
        // explain is not one.
        let stands = match comparison.outcome {
            Outcome::Fail => held(&before.at_most, &figure.values).outcome == Outcome::Fail,
            Outcome::Improved => held(&before.values, &figure.at_most).outcome == Outcome::Improved,
            Outcome::Inconclusive => comparison.margin.is_some_and(|margin| missed <= margin),
            Outcome::Pass | Outcome::NotComparable => true,
        };
        if !stands {
            comparison.outcome = Outcome::Inconclusive;
            let missed = ByteSize::new(missed as u64);
            judged.note = Some(format!(
                "samples missed up to {missed} of the resident peak; sample more often, as by --sample-interval 1ms"
            ));
        }
    }
    judged.outcome = comparison.outcome;
    judged.comparison = Some(comparison);
    judged
}

/// The most that samples missed in a run of either side; `None` if they missed nothing or that is unknown.
fn missed(before: &Figure, now: &Figure) -> Option<f64> {
    let of = |figure: &Figure| {
        let known = figure.at_most.len() == figure.values.len();
        let missed = figure.values.iter().zip(&figure.at_most).map(|(value, at_most)| at_most - value);
        known.then(|| missed.fold(0.0, f64::max))
    };
    Some(of(before)?.max(of(now)?)).filter(|missed| *missed > 0.0)
}

/// Whether a figure is judged and shown by default: the memory of the whole run.
pub fn is_default(figure: &Figure) -> bool {
    Metric::ALL.iter().any(|metric| metric.facts().judged && metric.name() == figure.name)
}

/// Verdicts on figures that a limit names but the runs lack: an unmeasured figure never passes.
fn unmeasured(now: &[Figure], limits: &Limits) -> Vec<Verdict> {
    let lacking = limits.singles().filter(|name| now.iter().all(|figure| figure.name != *name));
    let verdict = |name: &str| {
        let known: Vec<&str> = now.iter().map(|figure| &*figure.name).collect();
        let hint = nearest(name, &known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        let message = format!("the record has no figure `{name}`{hint}");
        Verdict::new(format!("limit {name}"), VerdictStatus::NotMeasurable, message)
    };
    lacking.map(verdict).collect()
}
