//! The gate's judgement in Markdown for a pull-request comment: failures first, the rest folded.

use std::fmt::Write;

use super::escape::{code, text};
use super::tables::{MARKS, ROWS, mark, more, row, titles};
use super::{RECORDS, sign};
use crate::gate::{FigureVerdict, GateReport, Outcome, SubjectVerdict};
use crate::record::VerdictStatus;
use crate::report::figures::{self, amount, change, condition_words, methods, range};
use crate::report::outcome::gate_word;
use crate::report::summary::source_mark;
use crate::report::terminal::counted;
use plimsoll_memory::text::Tone;

/// Subjects that passed are folded if there are more than this, or if another subject did not pass.
const OPEN: usize = 3;

/// Writes the judgement in Markdown.
pub fn gate(gate: &GateReport) -> String {
    let mut out = String::new();
    let (word, tone) = gate_word(gate.outcome);
    let _ = writeln!(out, "### {} Memory gate: {word}\n", sign(tone));
    let against = gate.baseline.as_ref().map_or(String::new(), |baseline| format!("; against {}", code(baseline)));
    let _ = writeln!(out, "{}{against} (exit {})\n", text(&gate.message), gate.exit_code());
    let holds = |subject: &&SubjectVerdict| gate_word(subject.outcome).1 == Tone::Good;
    let (good, others): (Vec<_>, Vec<_>) = gate.subjects.iter().partition(holds);
    let fold = !good.is_empty() && (!others.is_empty() || good.len() > OPEN);
    subjects(&mut out, &others);
    if fold {
        let _ =
            writeln!(out, "<details><summary>{}</summary>\n", counted(good.len(), "subject holds", "subjects hold"));
    }
    subjects(&mut out, &good);
    if fold {
        out.push_str("</details>\n\n");
    }
    let figures = || gate.subjects.iter().flat_map(|subject| &subject.figures);
    if figures().any(|figure| figure.source.is_some_and(|source| !source_mark(source).is_empty())) {
        out.push_str(MARKS);
    }
    for method in methods(figures().filter_map(|figure| figure.comparison.as_ref())) {
        let _ = writeln!(out, "<sub>interval: {}</sub>\n", text(&method));
    }
    out
}

fn subjects(out: &mut String, subjects: &[&SubjectVerdict]) {
    for judged in subjects.iter().take(RECORDS) {
        subject(out, judged);
    }
    if let Some(left) = subjects.len().checked_sub(RECORDS).filter(|left| *left > 0) {
        let _ = writeln!(out, "and {left} more\n");
    }
}

fn subject(out: &mut String, judged: &SubjectVerdict) {
    let runs = |count: u64| counted(count, "run", "runs");
    let against = match &judged.baseline {
        Some(baseline) => format!(" against {} of {}", runs(baseline.runs), text(&baseline.started)),
        None => String::new(),
    };
    let (_, tone) = gate_word(judged.outcome);
    let _ = writeln!(out, "{} **{}** {}{against}\n", sign(tone), code(&judged.subject.to_string()), runs(judged.runs));
    if !judged.figures.is_empty() {
        titles(out, &["", "figure", "baseline", "now", "change", "interval", "limit", "verdict"], 2);
        for figure in judged.figures.iter().take(ROWS) {
            of_figure(out, figure);
        }
        more(out, judged.figures.len(), "");
    }
    let mut remarks = Vec::new();
    remarks.extend(judged.conditions.iter().map(|change| {
        let tone = if change.allowed { Tone::Good } else { Tone::Warn };
        format!("{} {}", sign(tone), text(&condition_words(change)))
    }));
    // The table shows everything about the others.
    let undecided = |figure: &&FigureVerdict| figure.outcome.status() == VerdictStatus::Inconclusive;
    remarks.extend(figures::remarks(judged.figures.iter().filter(undecided)).into_iter().map(
        |(outcome, names, words)| {
            let names: Vec<String> = names.into_iter().map(code).collect();
            format!("{} {}: {}", mark(outcome.status()), names.join(", "), text(&words))
        },
    ));
    remarks
        .extend(judged.verdicts.iter().map(|verdict| format!("{} {}", mark(verdict.status), text(&verdict.message))));
    remarks.extend(judged.failure.iter().map(|why| format!("{} {}", mark(VerdictStatus::Fail), text(why))));
    remarks.extend(judged.note.iter().map(|why| format!("{} {}", mark(VerdictStatus::Inconclusive), text(why))));
    for remark in remarks.iter().take(ROWS) {
        let _ = writeln!(out, "- {remark}");
    }
    more(out, remarks.len(), "");
}

fn of_figure(out: &mut String, judged: &FigureVerdict) {
    let say = |value| text(&amount(value, judged.unit));
    let none = || "–".to_owned();
    let comparison = judged.comparison.as_ref();
    let before = comparison.and_then(|comparison| comparison.baseline).map(|baseline| baseline.median);
    let at = before.unwrap_or(0.0);
    let shift = comparison.map_or_else(none, |comparison| text(&change(comparison, at)));
    let interval = comparison.and_then(|comparison| comparison.interval);
    row(
        out,
        &[
            mark(judged.outcome.status()).to_owned(),
            code(&judged.name),
            before.map_or_else(none, say),
            judged
                .current
                .map_or_else(none, |current| say(current.median) + &text(judged.source.map_or("", source_mark))),
            if judged.outcome == Outcome::Fail { format!("**{shift}**") } else { shift },
            interval.map_or_else(none, |interval| text(&range(interval, at, judged.unit))),
            comparison.map_or_else(none, |comparison| text(&comparison.allowance.to_string())),
            judged.outcome.to_string(),
        ],
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::sample_gate as sample;
    use crate::record::sample::assert_snapshot;

    #[test]
    fn subjects_of_every_outcome() {
        assert_snapshot("markdown_gate", &gate(&sample()));
    }

    #[test]
    fn a_comment_has_room_for_any_number_of_subjects() {
        let mut report = sample();
        let mut one = report.subjects[1].clone();
        one.figures = vec![one.figures[0].clone(); 2000];
        report.subjects = vec![one; 300];
        let text = gate(&report);
        assert!(text.len() < 400_000, "{}", text.len());
        assert!(text.contains("and 280 more"));
    }
}
