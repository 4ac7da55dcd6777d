//! [`Outcome`]: the end of a run in a word and a sentence, and what was judged, the same in every report.

use std::collections::BTreeMap;

use crate::ceiling::CeilingVerdict;
use crate::record::{Record, RunState, VerdictStatus};

/// How good the end of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    /// Neither: nothing failed here, but something deserves a look.
    Warn,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// `HOLDS`, `FAILED`, `NOT JUDGED`, `ENDED`, `ERROR`.
    pub(crate) word: &'static str,
    /// What the word means here.
    pub(crate) meaning: String,
    pub(crate) tone: Tone,
}

impl Outcome {
    /// That of `record`.
    pub(crate) fn of(record: &Record) -> Self {
        let judged = record.verdicts.iter().any(|verdict| verdict.status != VerdictStatus::Pass);
        let of_its_own = record.end.as_ref().filter(|end| !judged && !end.success());
        if let Some(end) = of_its_own {
            return Self { word: "ENDED", meaning: format!("the command {end}"), tone: Tone::Warn };
        }
        let (word, meaning, tone) = match record.exit_code {
            0 => ("HOLDS", "every verdict passed".to_owned(), Tone::Good),
            1 => ("FAILED", "a ceiling, a comparison or a gate failed".to_owned(), Tone::Bad),
            3 => ("NOT JUDGED", "a figure was not measurable or a verdict is inconclusive".to_owned(), Tone::Warn),
            _ => ("ERROR", "bad usage or unreadable input".to_owned(), Tone::Bad),
        };
        Self { word, meaning, tone }
    }
}

/// What there is to say of a run that did not come to its end; empty where it did.
pub(crate) fn state_words(state: RunState) -> &'static str {
    match state {
        RunState::Complete => "",
        RunState::Interrupted => ", interrupted",
        RunState::Failed => ", cut short",
    }
}

/// One thing that was judged, as a CI system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding<'a> {
    pub(crate) subject: &'a str,
    pub(crate) status: VerdictStatus,
    pub(crate) message: String,
    pub(crate) ceiling: Option<&'a CeilingVerdict>,
}

/// Everything that was judged of `record`. A command that failed by itself broke no verdict, but what shows the findings
/// without the exit code must not show it as good: there it fails.
pub(crate) fn findings(record: &Record) -> Vec<Finding<'_>> {
    let mut findings: Vec<_> = record
        .verdicts
        .iter()
        .map(|verdict| Finding {
            subject: &verdict.subject,
            status: verdict.status,
            message: verdict.message.clone(),
            ceiling: verdict.ceiling.as_ref(),
        })
        .collect();
    if let Some(end) = record.end.as_ref().filter(|end| !end.success()) {
        let place = findings.iter().position(|finding| finding.subject == "command" && finding.ceiling.is_none());
        match place.map(|at| &mut findings[at]) {
            Some(finding) if finding.status == VerdictStatus::Pass => finding.status = VerdictStatus::Fail,
            Some(_) => {}
            None => findings.insert(
                0,
                Finding {
                    subject: "command",
                    status: VerdictStatus::Fail,
                    message: format!("it {end}"),
                    ceiling: None,
                },
            ),
        }
    }
    findings
}

/// The records' subjects, each told apart by a number where one comes again.
pub(crate) fn names(records: &[Record]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names: Vec<String> = Vec::with_capacity(records.len());
    for record in records {
        let subject = record.semantics.subject();
        loop {
            let count = seen.entry(subject).or_default();
            *count += 1;
            let name = if *count == 1 { subject.to_owned() } else { format!("{subject} #{count}") };
            // A subject may be written like one that was numbered.
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
    use crate::command::{EndCause, ProcessEnd};
    use crate::record::{Verdict, sample};

    #[test]
    fn a_command_that_failed_by_itself_is_shown_as_failed() {
        let mut record = sample::command();
        assert!(findings(&record).iter().all(|finding| finding.status == VerdictStatus::Pass));
        record.end = Some(ProcessEnd { exit_code: Some(7), signal: None, cause: EndCause::Exited });
        record.exit_code = 7;
        let found = findings(&record);
        assert_eq!((found[0].subject, found[0].status), ("command", VerdictStatus::Fail));
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
