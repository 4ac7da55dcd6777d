//! [`Outcome`]: the end of a run in a word and a sentence, the same in every report.

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
