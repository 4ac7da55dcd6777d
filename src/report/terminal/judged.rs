//! Parts of documents about judged figures: words and marks in colour, columns.

use anstyle::Style;

use crate::gate::Outcome;
use crate::record::VerdictStatus;
use crate::report::outcome::gate_word;
use plimsoll_memory::text::Align;
use plimsoll_memory::text::Palette;

/// The word for a whole judgement.
pub(super) fn outcome_word(outcome: Outcome, palette: &Palette) -> (&'static str, Style) {
    let (word, tone) = gate_word(outcome);
    (word, palette.tone(tone))
}

/// The mark of a single judgement.
pub(super) fn outcome_mark(outcome: Outcome, palette: &Palette) -> (&'static str, Style) {
    match outcome {
        Outcome::Pass | Outcome::Improved => ("✓", palette.good),
        Outcome::Fail => ("✗", palette.bad),
        Outcome::Inconclusive => ("?", palette.warn),
        Outcome::NotComparable => ("≠", palette.warn),
    }
}

/// The mark of a verdict.
pub(super) fn verdict_mark(status: VerdictStatus, palette: &Palette) -> (&'static str, Style) {
    match status {
        VerdictStatus::Pass => ("✓", palette.good),
        VerdictStatus::Fail => ("✗", palette.bad),
        VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => ("?", palette.warn),
    }
}

/// The columns of a table of judgements; the first is titled `subject`.
pub(super) fn columns(subject: &'static str) -> [(&'static str, Align, u8); 7] {
    [
        (subject, Align::Left, 0),
        ("before", Align::Right, 3),
        ("now", Align::Right, 1),
        ("change", Align::Right, 0),
        ("interval", Align::Right, 2),
        ("allowed", Align::Right, 4),
        ("verdict", Align::Left, 0),
    ]
}
