//! [`Verdict`]: what was judged, and the exit code that follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The judgement of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What was judged: `validation`, `profile`, `release`, `ceiling peak_rss` ...
    pub subject: String,
    /// The judgement.
    pub status: VerdictStatus,
    /// The judgement as a sentence: for a ceiling the limit, the reading, the phase and process, and by how much.
    pub message: String,
}

/// A judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// The figure it needs could not be read.
    NotMeasurable,
    /// There is too little to judge it by, as after an interruption.
    Inconclusive,
}

/// The exit code of a command with these verdicts: 1 where one failed, else 3 where one could not be reached, else 0.
///
/// A failure outweighs what could not be measured: it stays a failure whatever the missing figure is. Code 2 (bad usage
/// or unreadable input) belongs to errors, which leave no verdict.
pub fn exit_code(verdicts: &[Verdict]) -> u8 {
    let any = |wanted: &[VerdictStatus]| verdicts.iter().any(|verdict| wanted.contains(&verdict.status));
    if any(&[VerdictStatus::Fail]) {
        1
    } else if any(&[VerdictStatus::NotMeasurable, VerdictStatus::Inconclusive]) {
        3
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_outweighs_not_measurable_outweighs_pass() {
        use VerdictStatus::{Fail, Inconclusive, NotMeasurable, Pass};
        for (statuses, code) in [
            (&[][..], 0),
            (&[Pass, Pass], 0),
            (&[Pass, NotMeasurable], 3),
            (&[Inconclusive, Pass], 3),
            (&[NotMeasurable, Fail], 1),
            (&[Fail, Inconclusive, Pass], 1),
        ] {
            let verdict = |&status| Verdict { subject: "validation".into(), status, message: String::new() };
            assert_eq!(exit_code(&statuses.iter().map(verdict).collect::<Vec<_>>()), code, "{statuses:?}");
        }
    }
}
