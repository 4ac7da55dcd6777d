//! [`GateReport`]: what the gate found out about records.

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

/// Records, judged by ceilings and against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// `plimsoll.gate/1`.
    #[schemars(extend("const" = "plimsoll.gate/1"))]
    pub schema: String,
    /// Where the baseline came from, such as `baselines`, `git:main:baselines` or `A` of an interleaved comparison;
    /// absent if ceilings alone were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What was judged, in the order in which it was given.
    pub subjects: Vec<SubjectVerdict>,
    /// `fail` if one failed; else `inconclusive` or `not_comparable` if that is so of one; else `pass`.
    pub outcome: Outcome,
    /// The verdict in one line.
    pub message: String,
}

/// What became of one test, command or capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubjectVerdict {
    /// What was measured.
    #[serde(flatten)]
    pub subject: Subject,
    /// How many runs of it were judged.
    pub runs: u64,
    /// The runs of the baseline; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRuns>,
    /// The conditions that the two do not share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionChange>,
    /// Ceilings, each with the run that is nearest to breaking it or beyond, and what else was judged of the runs
    /// alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// Figures held against those of the baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<FigureVerdict>,
    /// The worst of all.
    pub outcome: Outcome,
    /// How a run failed by itself, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why it cannot be decided, if that is not to be seen in verdicts and figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The runs that figures were held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRuns {
    /// The files or entries they were read from.
    pub origins: Vec<String>,
    /// How many runs.
    pub runs: u64,
    /// When the latest of them began: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// The version of Plimsoll that metered it.
    pub plimsoll: String,
}

/// What became of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureVerdict {
    /// Its name, such as `peak_rss` or `validate.peak_rss`.
    pub name: String,
    /// The phase that it is of; absent if it is of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it is an amount of.
    pub unit: Unit,
    /// Which way it is better.
    pub direction: Direction,
    /// How far the values of now can be trusted; absent of times and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The judgement.
    pub outcome: Outcome,
    /// The values of now; absent if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Summary>,
    /// The comparison; absent if nothing could be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Why nothing could be compared, or what keeps the comparison from being conclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl GateReport {
    /// The exit code of the command: 0 if everything holds, 1 if something does not, 3 if that cannot be decided.
    pub fn exit_code(&self) -> u8 {
        self.outcome.exit_code()
    }

    /// The report of `subjects` against `baseline`.
    pub(super) fn new(baseline: Option<String>, subjects: Vec<SubjectVerdict>) -> Self {
        let outcome = Outcome::of_all(subjects.iter().map(|subject| subject.outcome));
        let message = message(baseline.as_deref(), &subjects, outcome);
        Self { schema: SCHEMA.to_owned(), baseline, subjects, outcome, message }
    }
}

impl SubjectVerdict {
    /// Notes why it cannot be decided, so that it does not pass.
    pub(super) fn cannot_be_told(&mut self, why: String) {
        self.outcome = Outcome::of_all([self.outcome, Outcome::Inconclusive]);
        self.note = Some(why);
    }
}

/// The verdict in one line: what came to it, and of which subjects.
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
