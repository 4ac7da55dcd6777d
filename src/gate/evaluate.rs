//! [`evaluate`]: judges records by ceilings and against a baseline.

mod figures;

use std::collections::BTreeMap;

use self::figures::{Judge, judge_figure, judge_figures};
use super::conditions::{Condition, condition_changes};
use super::judge::{judge, judge_pairs};
use super::limits::Limits;
use super::outcome::Outcome;
use super::report::{BaselineRuns, GateReport, SubjectVerdict};
use super::runs::{count, failure, worst_ceilings};
use super::subject::Subject;
use crate::record::{Figure, Record, exit_code, figures_of};
use plimsoll_memory::ceiling::Ceilings;

pub use self::figures::is_default;

/// The rules by which a subject is judged.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Ceilings that replace those of the same metrics in the record.
    pub ceilings: Ceilings,
    /// How much worse figures may get.
    pub limits: Limits,
    /// The confidence level of intervals.
    pub confidence: f64,
    /// Conditions that may change while figures are still compared.
    pub allow: Vec<Condition>,
}

/// The records of a baseline.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// The origin as reports name it.
    pub name: String,
    /// The records, each with the file it was read from.
    pub records: Vec<(String, Record)>,
    /// How to create a baseline, as the end of a sentence: "make one with `plimsoll gate ..`".
    pub remedy: String,
}

/// Judges `records` of any number of subjects, each by its rules: by ceilings, and against `baseline` if given.
///
/// Records of one subject and the same semantics are its runs. If a command failed by itself, the subject fails,
/// because the memory of a failed run says nothing about a successful one.
pub fn evaluate(records: &[Record], baseline: Option<&Baseline>, rules: &dyn Fn(&Subject) -> Rules) -> GateReport {
    let mut subjects: Vec<(Subject, &str, Vec<&Record>)> = Vec::new();
    for record in records {
        let (subject, digest) = (Subject::of(record), &*record.semantics_digest);
        match subjects.iter_mut().find(|(other, of, _)| *other == subject && *of == digest) {
            Some((_, _, runs)) => runs.push(record),
            None => subjects.push((subject, digest, vec![record])),
        }
    }
    let verdicts = subjects.into_iter().map(|(subject, _, runs)| {
        let rules = rules(&subject);
        judge_subject(subject, &runs, baseline, &rules)
    });
    let name = baseline.map(|baseline| baseline.name.clone());
    GateReport::new(name, verdicts.collect())
}

/// Judges the runs of `b` against those of `a`. Both were taken in pairs in random order. `name` is the name of `a` in
/// the report.
///
/// Drift of the machine moves both runs of a pair, so the differences within pairs are judged.
pub fn evaluate_pairs(name: &str, a: &Record, b: &Record, rules: &Rules) -> GateReport {
    let mut judged = by_itself(Subject::of(b), &[b], rules);
    if judged.failure.is_none() {
        match failure(a) {
            Some(why) => judged.leave_undecided(format!("a run of {name} failed: {why}")),
            None => within_pairs(&mut judged, name, a, b, rules),
        }
    }
    GateReport::new(Some(name.to_owned()), vec![judged])
}

fn within_pairs(judged: &mut SubjectVerdict, name: &str, a: &Record, b: &Record, rules: &Rules) {
    judged.baseline = Some(BaselineRuns {
        origins: vec![name.to_owned()],
        runs: count(a),
        started: a.started.clone(),
        plimsoll: a.plimsoll.clone(),
    });
    let (before, now) = (figures_of([a]), figures_of([b]));
    let pairs = count(a) as usize;
    judge_figures(judged, &now, &rules.limits, |figure| {
        let before = before.iter().find(|before| before.name == figure.name);
        // A run without the figure leaves the other run of its pair without a partner.
        let whole = figure.values.len() == pairs && before.is_some_and(|before| before.values.len() == pairs);
        let how: Judge = if whole { judge_pairs } else { judge };
        judge_figure(figure, before, &[], rules, how)
    });
}

fn judge_subject(subject: Subject, runs: &[&Record], baseline: Option<&Baseline>, rules: &Rules) -> SubjectVerdict {
    let mut judged = by_itself(subject, runs, rules);
    if judged.failure.is_some() {
        return judged;
    }
    match baseline {
        Some(baseline) => against(&mut judged, runs, baseline, rules),
        None if judged.verdicts.iter().all(|verdict| verdict.ceiling.is_none()) => {
            judged.leave_undecided("nothing was judged: there is neither a ceiling nor a --baseline".to_owned());
        }
        None => {}
    }
    judged
}

/// Judges the runs of a subject without a baseline: whether one failed, and whether they stayed below their ceilings.
fn by_itself(subject: Subject, runs: &[&Record], rules: &Rules) -> SubjectVerdict {
    let verdicts = worst_ceilings(runs, &rules.ceilings);
    let failure = runs.iter().find_map(|run| failure(run)).map(|why| format!("a run failed: {why}"));
    let outcome = match exit_code(&verdicts) {
        _ if failure.is_some() => Outcome::Fail,
        0 => Outcome::Pass,
        1 => Outcome::Fail,
        _ => Outcome::Inconclusive,
    };
    SubjectVerdict {
        subject,
        runs: runs.iter().map(|run| count(run)).sum(),
        baseline: None,
        conditions: Vec::new(),
        verdicts,
        figures: Vec::new(),
        outcome,
        failure,
        note: None,
    }
}

/// Judges the figures of a subject against those of its baseline.
fn against(judged: &mut SubjectVerdict, runs: &[&Record], baseline: &Baseline, rules: &Rules) {
    let same: Vec<&(String, Record)> =
        baseline.records.iter().filter(|(_, record)| Subject::of(record) == judged.subject).collect();
    if same.is_empty() {
        judged.leave_undecided(format!("there is no baseline in {}: {}", baseline.name, baseline.remedy));
        return;
    }
    // If any records have the same semantics, only those count: two commands may have shared a label.
    let digest = &runs[0].semantics_digest;
    let of_digest: Vec<_> = same.iter().copied().filter(|(_, record)| record.semantics_digest == *digest).collect();
    let same = if of_digest.is_empty() { same } else { of_digest };
    let whole: Vec<_> = same.iter().copied().filter(|(_, record)| failure(record).is_none()).collect();
    let Some((_, first)) = whole.first() else {
        judged.leave_undecided(format!("every run of its baseline failed: {}", baseline.remedy));
        return;
    };
    let latest = whole.iter().map(|(_, record)| record).max_by_key(|record| &record.started).unwrap_or(first);
    let mut origins: Vec<String> = whole.iter().map(|(origin, _)| origin.clone()).collect();
    origins.dedup();
    judged.baseline = Some(BaselineRuns {
        origins,
        runs: whole.iter().map(|(_, record)| count(record)).sum(),
        started: latest.started.clone(),
        plimsoll: latest.plimsoll.clone(),
    });
    for other in whole[1..].iter().map(|(_, record)| record).chain(runs.iter().copied()) {
        for change in condition_changes(first, other, &rules.allow) {
            if judged.conditions.iter().all(|known| known.condition != change.condition) {
                judged.conditions.push(change);
            }
        }
    }
    judged.conditions.sort_by_key(|change| change.condition);
    let before: BTreeMap<String, Figure> = figures_of(whole.iter().map(|(_, record)| record))
        .into_iter()
        .map(|figure| (figure.name.clone(), figure))
        .collect();
    let now = figures_of(runs.iter().copied());
    let conditions = std::mem::take(&mut judged.conditions);
    judge_figures(judged, &now, &rules.limits, |figure| {
        judge_figure(figure, before.get(&figure.name), &conditions, rules, judge)
    });
    judged.conditions = conditions;
}

#[cfg(test)]
pub(crate) mod tests;
