//! [`Outcome`]: how a run ended, as a word and a sentence, and everything that was judged. All reports share it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll_memory::text::{Tone, counted};

use super::figures::{amount, figure_words};
use crate::gate::{self, FigureVerdict, GateReport, SubjectVerdict, Summary};
use crate::record::{DIAGNOSIS, Record, RunState, Verdict, VerdictStatus};
use plimsoll_memory::ceiling::CeilingVerdict;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// `HOLDS`, `FAILED`, `NOT JUDGED`, `ENDED`, `ERROR`.
    pub(crate) word: &'static str,
    /// What the word means for this run.
    pub(crate) meaning: String,
    pub(crate) tone: Tone,
}

impl Outcome {
    /// The outcome of `record`.
    pub(crate) fn of(record: &Record) -> Self {
        let judged = record.verdicts.iter().any(|verdict| verdict.status != VerdictStatus::Pass);
        let of_its_own = record.end.as_ref().filter(|end| !judged && !end.success());
        if let Some(end) = of_its_own {
            return Self { word: "ENDED", meaning: format!("the command {end}"), tone: Tone::Warn };
        }
        let failed = || record.verdicts.iter().filter(|verdict| verdict.status == VerdictStatus::Fail);
        let by_diagnosis = failed().count() > 0 && failed().all(|verdict| verdict.subject == DIAGNOSIS);
        let (word, meaning, tone) = match record.exit_code {
            1 if by_diagnosis => ("FAILED", "the output shows an event that --fail-on names".to_owned(), Tone::Bad),
            0 => ("HOLDS", "every verdict passed".to_owned(), Tone::Good),
            1 => ("FAILED", named(record, "failed", |status| status == VerdictStatus::Fail), Tone::Bad),
            3 => (
                "NOT JUDGED",
                named(record, "could not be reached", |status| status != VerdictStatus::Pass),
                Tone::Warn,
            ),
            _ => ("ERROR", "bad usage or unreadable input".to_owned(), Tone::Bad),
        };
        Self { word, meaning, tone }
    }
}

/// Maximum number of verdicts named in the summary sentence.
const NAMED: usize = 3;

/// The number of verdicts that are `what`, and the subjects of the first few.
fn named(record: &Record, what: &str, is: impl Fn(VerdictStatus) -> bool) -> String {
    let subjects: Vec<&str> =
        record.verdicts.iter().filter(|verdict| is(verdict.status)).map(|verdict| verdict.subject.as_str()).collect();
    let more = match subjects.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &subjects[..subjects.len().min(NAMED)];
    format!(
        "{} of {} {what}: {}{more}",
        subjects.len(),
        counted(record.verdicts.len(), "verdict", "verdicts"),
        shown.join(", ")
    )
}

/// The gate's judgement as a word.
pub(crate) const fn gate_word(outcome: gate::Outcome) -> (&'static str, Tone) {
    match outcome {
        gate::Outcome::Fail => ("FAILS", Tone::Bad),
        gate::Outcome::Inconclusive => ("INCONCLUSIVE", Tone::Warn),
        gate::Outcome::NotComparable => ("NOT COMPARABLE", Tone::Warn),
        gate::Outcome::Pass | gate::Outcome::Improved => ("HOLDS", Tone::Good),
    }
}

/// The result of a verdict as a word.
pub(crate) const fn status_word(status: VerdictStatus) -> &'static str {
    match status {
        VerdictStatus::Pass => "passed",
        VerdictStatus::Fail => "failed",
        VerdictStatus::NotMeasurable => "not measurable",
        VerdictStatus::Inconclusive => "inconclusive",
    }
}

/// Why a run did not finish; empty if it did.
pub(crate) fn state_words(state: RunState) -> &'static str {
    match state {
        RunState::Complete => "",
        RunState::Interrupted => ", interrupted",
        RunState::Failed => ", cut short",
    }
}

/// One judged item, as a CI system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding<'a> {
    pub(crate) subject: Cow<'a, str>,
    pub(crate) status: VerdictStatus,
    pub(crate) message: String,
    pub(crate) ceiling: Option<&'a CeilingVerdict>,
}

/// Everything that was judged in `record`. A command that failed breaks no verdict. It still becomes a failed finding:
/// a tool that shows findings but ignores the exit code must not show the run as a success.
pub(crate) fn findings(record: &Record) -> Vec<Finding<'_>> {
    let mut findings: Vec<_> = record.verdicts.iter().map(of_verdict).collect();
    if let Some(end) = record.end.as_ref().filter(|end| !end.success()) {
        let place = findings.iter().position(|finding| finding.subject == "command" && finding.ceiling.is_none());
        match place.map(|at| &mut findings[at]) {
            Some(finding) if finding.status == VerdictStatus::Pass => finding.status = VerdictStatus::Fail,
            Some(_) => {}
            None => findings.insert(
                0,
                Finding {
                    subject: "command".into(),
                    status: VerdictStatus::Fail,
                    message: format!("it {end}"),
                    ceiling: None,
                },
            ),
        }
    }
    findings.extend(of_diagnosis(record));
    findings
}

/// The first `most` of the worst of `findings`, in their order, and how many there are beside them.
pub(crate) fn worst_findings(mut findings: Vec<Finding<'_>>, most: usize) -> (Vec<Finding<'_>>, usize) {
    let more = findings.len().saturating_sub(most);
    let passed = |finding: &Finding<'_>| finding.status == VerdictStatus::Pass;
    let mut bad = findings.iter().filter(|finding| !passed(finding)).count().min(most);
    let mut good = most - bad;
    findings.retain(|finding| {
        let left = if passed(finding) { &mut good } else { &mut bad };
        let kept = *left > 0;
        *left -= usize::from(kept);
        kept
    });
    (findings, more)
}

/// The diagnosis of the command, if no verdict covers it: a failure to act on if the run failed, a note otherwise.
fn of_diagnosis(record: &Record) -> Option<Finding<'_>> {
    let event = record.diagnosis.as_ref()?.events.first()?;
    if record.verdicts.iter().any(|verdict| verdict.subject == DIAGNOSIS) {
        return None;
    }
    let failed = record.diagnosis.as_ref().is_some_and(|found| found.failed());
    let failed = failed && record.end.as_ref().is_some_and(|end| !end.success());
    Some(Finding {
        subject: DIAGNOSIS.into(),
        status: if failed { VerdictStatus::Fail } else { VerdictStatus::Pass },
        message: format!("{}: {}", event.verdict, event.explanation),
        ceiling: None,
    })
}

fn of_verdict(verdict: &Verdict) -> Finding<'_> {
    Finding {
        subject: Cow::Borrowed(&verdict.subject),
        status: verdict.status,
        message: verdict.message.clone(),
        ceiling: verdict.ceiling.as_ref(),
    }
}

/// A judged record or a judged subject of the gate, under a unique name.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) name: String,
    /// The record; absent for a subject of the gate, which may stand for several.
    pub(crate) record: Option<&'a Record>,
    pub(crate) findings: Vec<Finding<'a>>,
}

impl<'a> Judged<'a> {
    /// The judged items of `records`.
    pub(crate) fn records(records: &'a [Record]) -> Vec<Self> {
        let judged = |(record, name)| Self { name, record: Some(record), findings: findings(record) };
        records.iter().zip(names(records)).map(judged).collect()
    }

    /// The judged items of each subject of `gate`: its ceilings, one limit per figure, and reasons why nothing could be
    /// judged.
    pub(crate) fn gate(gate: &'a GateReport) -> Vec<Self> {
        let names = distinguished(gate.subjects.iter().map(|subject| subject.subject.to_string()));
        let judged = |(subject, name)| Self { name, record: None, findings: of_subject(subject) };
        gate.subjects.iter().zip(names).map(judged).collect()
    }
}

fn of_subject(subject: &SubjectVerdict) -> Vec<Finding<'_>> {
    let note = |subject: &'static str, status, note: &Option<String>| {
        let finding = |note: &String| Finding { subject: subject.into(), status, message: note.clone(), ceiling: None };
        note.as_ref().map(finding)
    };
    let figures = subject.figures.iter().map(|figure| Finding {
        subject: format!("limit {}", figure.name).into(),
        status: figure.outcome.status(),
        message: of_figure(figure),
        ceiling: None,
    });
    let failed = note("runs", VerdictStatus::Fail, &subject.failure);
    let undecided = note("gate", VerdictStatus::Inconclusive, &subject.note);
    failed.into_iter().chain(subject.verdicts.iter().map(of_verdict)).chain(figures).chain(undecided).collect()
}

/// The judgement of a figure as a full sentence.
fn of_figure(judged: &FigureVerdict) -> String {
    let say = |summary: Option<Summary>| Some(amount(summary?.median, judged.unit));
    let now = say(judged.current).map_or(String::new(), |now| format!(" is {now}"));
    let before = judged.comparison.as_ref().and_then(|comparison| say(comparison.baseline));
    let before = before.map_or(String::new(), |before| format!(", was {before}"));
    format!("{}{now}{before}: {}", judged.name, figure_words(judged))
}

/// The subjects of the records; a number distinguishes repeated ones.
pub(crate) fn names(records: &[Record]) -> Vec<String> {
    distinguished(records.iter().map(|record| record.semantics.subject()))
}

fn distinguished(subjects: impl Iterator<Item = impl AsRef<str> + Clone + Ord>) -> Vec<String> {
    let mut seen: BTreeMap<_, usize> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for subject in subjects {
        loop {
            let count = seen.entry(subject.clone()).or_default();
            *count += 1;
            let subject = subject.as_ref();
            let name = if *count == 1 { subject.to_owned() } else { format!("{subject} #{count}") };
            // A subject may already end like a numbered one.
            if !names.contains(&name) {
                names.push(name);
                break;
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Verdict, sample};
    use plimsoll_memory::command::{EndCause, ProcessEnd};

    #[test]
    fn the_worst_findings_are_those_that_did_not_pass_in_their_order() {
        let mut record = sample::command();
        record.verdicts = (0..10)
            .map(|at| {
                let status = if at % 4 == 1 { VerdictStatus::Fail } else { VerdictStatus::Pass };
                Verdict::new(at.to_string(), status, "")
            })
            .collect();
        let shown = |most| {
            let (findings, more) = worst_findings(findings(&record), most);
            (findings.into_iter().map(|finding| finding.subject.into_owned()).collect::<Vec<_>>().join(" "), more)
        };
        assert_eq!(shown(10), ("0 1 2 3 4 5 6 7 8 9".to_owned(), 0));
        assert_eq!(shown(5), ("0 1 2 5 9".to_owned(), 5));
        assert_eq!(shown(2), ("1 5".to_owned(), 8));
    }

    #[test]
    fn a_command_that_failed_by_itself_is_shown_as_failed() {
        let mut record = sample::command();
        assert!(findings(&record).iter().all(|finding| finding.status == VerdictStatus::Pass));
        record.end = Some(ProcessEnd { exit_code: Some(7), signal: None, cause: EndCause::Exited });
        record.exit_code = 7;
        let found = findings(&record);
        assert_eq!((&*found[0].subject, found[0].status), ("command", VerdictStatus::Fail));
        assert_eq!(found[0].message, "it exited with code 7");
        record.verdicts.insert(0, Verdict::new("command", VerdictStatus::Pass, "it exited with code 7"));
        assert_eq!(findings(&record).len(), record.verdicts.len());
        assert_eq!(Outcome::of(&record).word, "ENDED");
    }

    #[test]
    fn records_of_one_subject_have_names_of_their_own() {
        let (mut first, mut odd) = (sample::command(), sample::command());
        let rename = |record: &mut Record, name: &str| match &mut record.semantics {
            crate::record::Semantics::Command(command) => command.label = name.to_owned(),
            other => panic!("{other:?}"),
        };
        rename(&mut first, "a");
        rename(&mut odd, "a #2");
        assert_eq!(names(&[first.clone(), odd, first.clone(), first]), ["a", "a #2", "a #3", "a #4"]);
    }
}
