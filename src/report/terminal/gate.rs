//! The gate's judgement on the terminal.

use std::fmt::Write as _;

use super::judged::{columns, outcome_mark, outcome_word, verdict_mark};
use super::memory::{marks, source_sign};
use crate::gate::{FigureVerdict, GateReport, Outcome, SubjectVerdict};
use crate::report::figures::{amount, change, condition_words, methods, range, remarks};
use plimsoll_memory::text::{Cell, fitted};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, counted, cut, labelled, styled, width};

/// Writes each subject with its ceilings, its figures against the baseline and remarks, then the verdict.
pub fn gate(report: &GateReport, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = String::new();
    if let Some(baseline) = &report.baseline {
        text.push_str(&labelled("baseline", palette.heading, baseline, 12, screen));
    }
    let comparisons = report.subjects.iter().flat_map(|subject| &subject.figures);
    for method in methods(comparisons.filter_map(|figure| figure.comparison.as_ref())) {
        text.push_str(&labelled("interval", palette.heading, &method, 12, screen));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    for subject in &report.subjects {
        text.push_str(&of_subject(subject, screen));
        text.push('\n');
    }
    let (word, style) = outcome_word(report.outcome, palette);
    text.push_str(&labelled(word, style, &format!("{} (exit {})", report.message, report.exit_code()), 7, screen));
    text
}

fn of_subject(subject: &SubjectVerdict, screen: &Screen) -> String {
    let palette = &screen.palette;
    let runs = |runs: u64| counted(runs, "run", "runs");
    let against = match &subject.baseline {
        Some(baseline) => format!(" against {} of {}", runs(baseline.runs), baseline.started),
        None => String::new(),
    };
    let name = clean(&subject.subject.to_string());
    let rest = clean(&format!("  {}{against}", runs(subject.runs)));
    let mut text = format!(" {}", styled(&cut(&name, screen.width() - 1), palette.heading));
    if width(&name) + width(&rest) < screen.width() {
        text.push_str(&styled(&rest, palette.dim));
    }
    text.push('\n');
    for change in &subject.conditions {
        let (_, style) = outcome_mark(if change.allowed { Outcome::Pass } else { Outcome::NotComparable }, palette);
        text.push_str(&labelled("≠", style, &condition_words(change), 2, screen));
    }
    if !subject.figures.is_empty() {
        let rows: Vec<Vec<Cell>> = subject.figures.iter().map(|figure| row(figure, palette)).collect();
        text.push_str(&fitted(columns("figure"), &rows, screen));
        let sources: Vec<_> = subject.figures.iter().filter_map(|figure| figure.source).collect();
        text.extend(marks(&sources).map(|notes| labelled("", palette.dim, &notes, 0, screen)));
    }
    for verdict in &subject.verdicts {
        let (mark, style) = verdict_mark(verdict.status, palette);
        text.push_str(&labelled(mark, style, &verdict.message, 2, screen));
    }
    for (outcome, names, words) in remarks(subject.figures.iter().filter(|figure| figure.outcome != Outcome::Pass)) {
        let (_, style) = outcome_mark(outcome, palette);
        let names = clean(&names.join(", "));
        let _ = writeln!(text, " {}", styled(&cut(&names, screen.width() - 1), style));
        text.push_str(&labelled("  ", palette.dim, &words, 3, screen));
    }
    let notes = [(&subject.failure, Outcome::Fail), (&subject.note, Outcome::Inconclusive)];
    for (note, outcome) in notes {
        let (mark, style) = outcome_mark(outcome, palette);
        text.extend(note.iter().map(|note| labelled(mark, style, note, 2, screen)));
    }
    text
}

fn row(judged: &FigureVerdict, palette: &Palette) -> Vec<Cell> {
    let (mark, style) = outcome_mark(judged.outcome, palette);
    let verdict = Cell::new(format!("{mark} {}", judged.outcome), style);
    let say = |figure| amount(figure, judged.unit);
    let none = || Cell::new("-", palette.dim);
    let name = Cell::plain(clean(&judged.name));
    let now = judged.current.map_or_else(none, |current| Cell::plain(say(current.median) + source_sign(judged.source)));
    let Some(comparison) = &judged.comparison else {
        return vec![name, none(), now, none(), none(), none(), verdict];
    };
    let before = comparison.baseline.map(|baseline| baseline.median);
    let at = before.unwrap_or(0.0);
    vec![
        name,
        before.map_or_else(none, |before| Cell::plain(say(before))),
        now,
        Cell::new(change(comparison, at), style),
        comparison.interval.map_or_else(none, |interval| Cell::new(range(interval, at, judged.unit), palette.dim)),
        Cell::new(comparison.allowance.to_string(), palette.dim),
        verdict,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::sample_gate as sample;
    use crate::record::sample::assert_snapshot;

    #[test]
    fn subjects_of_every_outcome() {
        for (name, width) in [("terminal_gate", 120), ("terminal_gate_narrow", 72)] {
            assert_snapshot(name, &gate(&sample(), &Screen::new(width, Palette::plain())));
        }
    }
}
