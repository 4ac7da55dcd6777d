//! [`Verdict`]: a judgement, and the exit code that follows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::ceiling::{CeilingStatus, CeilingVerdict};

/// The subject of the verdict on the diagnosis of a command.
pub(crate) const DIAGNOSIS: &str = "diagnosis";

/// The judgement of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The subject: `validation`, `profile`, `release`, `ceiling peak_rss` ...
    pub subject: String,
    /// The judgement.
    pub status: VerdictStatus,
    /// The judgement in one sentence: for a ceiling the limit, the reading, the phase and process, and the excess.
    pub message: String,
    /// The figures behind the verdict on a ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingVerdict>,
}

impl Verdict {
    /// A verdict without ceiling figures.
    pub fn new(subject: impl Into<String>, status: VerdictStatus, message: impl Into<String>) -> Self {
        Self { subject: subject.into(), status, message: message.into(), ceiling: None }
    }
}

impl From<CeilingVerdict> for Verdict {
    fn from(ceiling: CeilingVerdict) -> Self {
        let status = match ceiling.status {
            CeilingStatus::Holds => VerdictStatus::Pass,
            CeilingStatus::Broken => VerdictStatus::Fail,
            CeilingStatus::NotMeasurable => VerdictStatus::NotMeasurable,
        };
        let (subject, message) = (format!("ceiling {}", ceiling.metric), ceiling.message.clone());
        Self { subject, status, message, ceiling: Some(ceiling) }
    }
}

/// A judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// The condition holds.
    Pass,
    /// The condition is broken.
    Fail,
    /// The required figure could not be read.
    NotMeasurable,
    /// There is too little data for a judgement, for example after an interruption.
    Inconclusive,
}

/// The exit code for these verdicts: 1 if one failed, otherwise 3 if one could not be reached, otherwise 0.
///
/// A failure outweighs a figure that could not be measured, because the missing figure cannot undo it. Code 2 (bad
/// usage or unreadable input) belongs to errors, which leave no verdict.
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
    use crate::record::sample;
    use plimsoll_memory::ceiling::judge;

    #[test]
    fn a_ceiling_keeps_its_figures() {
        let phases = sample::record().phases;
        for (ceiling, status) in [
            ("peak_rss = 1 GiB", VerdictStatus::Pass),
            ("peak_rss = 768 MiB", VerdictStatus::Fail),
            ("peak_swap = 1 GiB", VerdictStatus::NotMeasurable),
        ] {
            let judged = judge(&phases, &ceiling.parse().unwrap()).remove(0);
            let verdict = Verdict::from(judged.clone());
            assert_eq!((verdict.status, &verdict.message), (status, &judged.message));
            assert_eq!(verdict.ceiling, Some(judged));
        }
    }

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
            let verdict = |&status| Verdict::new("validation", status, "");
            assert_eq!(exit_code(&statuses.iter().map(verdict).collect::<Vec<_>>()), code, "{statuses:?}");
        }
    }
}
