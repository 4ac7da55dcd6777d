//! [`GateReport`]: the gate's judgement of records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::ConditionChange;
use super::judge::Comparison;
use super::outcome::Outcome;
use super::subject::Subject;
use super::summary::Summary;
use crate::record::{Direction, Unit, Verdict, VerdictStatus};
use plimsoll_memory::meter::Source;
use plimsoll_memory::schema::Document;
use plimsoll_memory::text::counted;

/// The format of [`GateReport`].
pub(super) const SCHEMA: &str = "plimsoll.gate/1";

/// Records judged by ceilings and against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// `plimsoll.gate/1`.
    #[schemars(extend("const" = "plimsoll.gate/1"))]
    pub schema: String,
    /// Where the baseline came from, such as `baselines`, `git:main:baselines` or `A` of an interleaved comparison;
    /// absent if only ceilings were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The judged subjects, in the order given.
    pub subjects: Vec<SubjectVerdict>,
    /// `fail` if a subject failed, else `inconclusive` or `not_comparable` if one is, else `pass`.
    pub outcome: Outcome,
    /// The verdict in one line.
    pub message: String,
}

/// The judgement of one test, command or capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectVerdict {
    /// What was measured.
    #[serde(flatten)]
    pub subject: Subject,
    /// How many of its runs were judged.
    pub runs: u64,
    /// The runs of the baseline; absent without a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRuns>,
    /// The conditions that differ from the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionChange>,
    /// The ceilings, each for the run that comes closest to its limit or exceeds it most, and other verdicts on the
    /// runs alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// The figures compared with the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureVerdict>,
    /// The worst outcome of all.
    pub outcome: Outcome,
    /// How a run failed by itself, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why the subject is undecided, if verdicts and figures do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The runs that figures were compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRuns {
    /// The files or entries that the runs were read from.
    pub origins: Vec<String>,
    /// How many runs there are.
    pub runs: u64,
    /// When the latest run began: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// The version of Plimsoll that measured it.
    pub plimsoll: String,
}

/// The judgement of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureVerdict {
    /// Its name, such as `peak_rss` or `validate.peak_rss`.
    pub name: String,
    /// The phase that the figure belongs to; absent for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The unit.
    pub unit: Unit,
    /// Whether more or less is better.
    pub direction: Direction,
    /// How exact the current values are; absent for times and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The outcome.
    pub outcome: Outcome,
    /// The current values; absent if the figure was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Summary>,
    /// The comparison; absent if nothing could be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Why nothing could be compared, or why the comparison is inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl GateReport {
    /// The exit code of the command: 0 if everything passed, 1 if something failed, 3 if undecided.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }

    /// Creates the report of `subjects` against `baseline`.
    pub(super) fn new(baseline: Option<String>, subjects: Vec<SubjectVerdict>) -> Self {
        let outcome = Outcome::of_all(subjects.iter().map(|subject| subject.outcome));
        let message = message(baseline.as_deref(), &subjects, outcome);
        Self { schema: SCHEMA.to_owned(), baseline, subjects, outcome, message }
    }
}

impl SubjectVerdict {
    /// Marks the subject as undecided because of `why`, so that it does not pass.
    pub(super) fn leave_undecided(&mut self, why: String) {
        self.outcome = Outcome::of_all([self.outcome, Outcome::Inconclusive]);
        self.note = Some(why);
    }
}

/// The verdict on one line: the outcome, and the subjects responsible for it.
fn message(baseline: Option<&str>, subjects: &[SubjectVerdict], outcome: Outcome) -> String {
    const NAMED: usize = 3;
    let so: Vec<&SubjectVerdict> = subjects.iter().filter(|subject| subject.outcome == outcome).collect();
    let mut names = so.iter().take(NAMED).map(|subject| subject.subject.to_string()).collect::<Vec<_>>().join(", ");
    if so.len() > NAMED {
        names += &format!(" and {} more", so.len() - NAMED);
    }
    match outcome {
        Outcome::Fail => {
            let figures = so.iter().flat_map(|subject| &subject.figures);
            let worse = figures.filter(|figure| figure.outcome == Outcome::Fail).count();
            let verdicts = so.iter().flat_map(|subject| &subject.verdicts);
            let broken = verdicts.filter(|verdict| verdict.status == VerdictStatus::Fail).count();
            let failed = so.iter().filter(|subject| subject.failure.is_some()).count();
            let parts = [
                (worse, format!("{} got worse", counted(worse, "figure", "figures"))),
                (broken, format!("{} broken", counted(broken, "ceiling", "ceilings"))),
                (failed, counted(failed, "failed run", "failed runs")),
            ];
            let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
            format!("{}: {names}", parts.join(", "))
        }
        Outcome::Inconclusive => format!("not decided: {names}"),
        Outcome::NotComparable => format!("measured something else, or under other conditions: {names}"),
        Outcome::Pass | Outcome::Improved => {
            let against = baseline.map_or_else(String::new, |baseline| format!(" against {baseline}"));
            let figures: usize = subjects.iter().map(|subject| subject.figures.len()).sum();
            let verdicts = subjects.iter().flat_map(|subject| &subject.verdicts);
            let ceilings = verdicts.filter(|verdict| verdict.ceiling.is_some()).count();
            let figures = counted(figures, "figure", "figures");
            format!("{figures}{against} and {} hold", counted(ceilings, "ceiling", "ceilings"))
        }
    }
}

impl Document for GateReport {
    const NAME: &'static str = "plimsoll.gate/1";
    const TITLE: &'static str = "Records, judged by plimsoll";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll gate --json` prints.
pub fn schema() -> serde_json::Value {
    GateReport::document_schema()
}
