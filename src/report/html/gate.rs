//! The gate's judgement: for each subject its figures against the baseline, its ceilings, and remarks.

use std::fmt::Write;

use super::ceilings::word;
use super::record::class;
use super::{Body, absent, escaped, prose, table};
use crate::gate::{Comparison, Direction, FigureVerdict, GateReport, Outcome, SubjectVerdict};
use crate::report::figures::{self, amount, change, condition_words, methods, range};
use crate::report::outcome::gate_word;
use crate::report::summary::{source_mark, source_words};
use crate::report::terminal::counted;
use plimsoll_memory::meter::Source;

/// Writes the judgement above the judged records.
pub(super) fn gate(out: &mut Body, gate: &GateReport) {
    let (word, tone) = gate_word(gate.outcome);
    let against = gate.baseline.as_ref().map_or(String::new(), |name| format!("against {}", escaped(name)));
    let _ = writeln!(out, "<div class=\"head\"><div><h1>Memory gate</h1><p class=\"soft\">{against}</p></div>");
    let _ = writeln!(
        out,
        "<p class=\"outcome {}\"><b>{word}</b><span>{} (exit {})</span></p></div>",
        class(tone),
        escaped(&gate.message),
        gate.exit_code()
    );
    for judged in &gate.subjects {
        subject(out, judged);
    }
    let comparisons = gate.subjects.iter().flat_map(|subject| &subject.figures);
    for method in methods(comparisons.filter_map(|figure| figure.comparison.as_ref())) {
        let _ = writeln!(
            out,
            "<p class=\"hint\">Drawn are the change and its interval ({}); the line is the limit, and everything right of it \
             exceeds it. Distant values are drawn closer.</p>",
            escaped(&method)
        );
    }
}

fn subject(out: &mut Body, judged: &SubjectVerdict) {
    let runs = |count: u64| counted(count, "run", "runs");
    let against = match &judged.baseline {
        Some(baseline) => format!(" against {} of {}", runs(baseline.runs), escaped(&baseline.started)),
        None => String::new(),
    };
    let name = escaped(&judged.subject.to_string());
    let _ = writeln!(out, "<h2>{name} <small>{}{against}</small></h2>", runs(judged.runs));
    if !judged.figures.is_empty() {
        let columns: Vec<_> = [table::words("verdict"), table::words("figure")]
            .into_iter()
            .chain([table::words("better ← → worse")])
            .chain(["baseline", "now", "change", "interval", "limit"].map(table::figures))
            .collect();
        table::table(out, &columns, judged.figures.iter().map(row));
    }
    let mut remarks: Vec<Vec<String>> = Vec::new();
    let mut remark = |outcome: Outcome, subject: &str, words: &str| {
        let (_, tone) = gate_word(outcome);
        remarks.push(vec![table::badge(class(tone), outcome), escaped(subject), escaped(words)]);
    };
    for change in &judged.conditions {
        let outcome = if change.allowed { Outcome::Pass } else { Outcome::NotComparable };
        remark(outcome, "conditions", &condition_words(change));
    }
    for (outcome, names, words) in
        figures::remarks(judged.figures.iter().filter(|figure| figure.outcome != Outcome::Pass))
    {
        remark(outcome, &names.join(", "), &words);
    }
    judged.failure.iter().for_each(|why| remark(Outcome::Fail, "runs", why));
    judged.note.iter().for_each(|why| remark(Outcome::Inconclusive, "gate", why));
    remarks.extend(judged.verdicts.iter().map(|verdict| {
        let (class, word) = word(verdict.status);
        vec![table::badge(class, word), escaped(&verdict.subject), prose(&verdict.message)]
    }));
    if !remarks.is_empty() {
        table::stack(out, &["Verdict", "Subject", "Why"].map(table::words), remarks);
    }
}

/// Draws the change and its interval in units of the limit, which is at the same place in every row; further right is
/// worse. Distant values are drawn closer, so that everything stays visible.
fn drawn(comparison: &Comparison, direction: Direction, class: &str) -> String {
    let Some(shift) = comparison.shift else { return absent() };
    let (low, high) = comparison.interval.map_or((shift, shift), |interval| (interval.low, interval.high));
    let limit = comparison.margin.filter(|margin| *margin > 0.0);
    let unit = limit.unwrap_or_else(|| low.abs().max(high.abs()).max(f64::MIN_POSITIVE));
    let worse = match direction {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
    };
    let x = |limits: f64| 50.0 + 48.0 * limits / (1.0 + limits.abs());
    let [low, shift, high] = [low, shift, high].map(|amount| x((worse * amount / unit).clamp(-1e9, 1e9)));
    let mut out = "<svg class=\"shift\" aria-hidden=\"true\">".to_owned();
    let mut line = |class: &str, x: f64| {
        let _ = write!(out, "<line class=\"{class}\" x1=\"{x:.1}%\" x2=\"{x:.1}%\" y1=\"0\" y2=\"100%\"/>");
    };
    line("none", x(0.0));
    if limit.is_some() {
        line("limit-line", x(1.0));
    }
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{:.1}%\" width=\"{:.1}%\" y=\"14\" height=\"8\" rx=\"4\"/><circle class=\"{class}\" \
         cx=\"{shift:.1}%\" cy=\"18\" r=\"4.5\"/></svg>",
        low.min(high),
        (high - low).abs().max(0.5),
    );
    out
}

/// The mark of a figure's source; its meaning appears under the pointer.
fn mark(source: Option<Source>) -> String {
    match source.map(|source| (source_mark(source), source_words(source))) {
        Some((mark, words)) if !mark.is_empty() => format!("<small title=\"{}\">{mark}</small>", escaped(&words)),
        _ => String::new(),
    }
}

fn row(judged: &FigureVerdict) -> Vec<String> {
    let say = |value| escaped(&amount(value, judged.unit));
    let comparison = judged.comparison.as_ref();
    let before = comparison.and_then(|comparison| comparison.baseline).map(|baseline| baseline.median);
    let at = before.unwrap_or(0.0);
    let (_, tone) = gate_word(judged.outcome);
    let shift = comparison.map_or_else(absent, |comparison| {
        format!("<b class=\"{}\">{}</b>", class(tone), escaped(&change(comparison, at)))
    });
    let interval = comparison.and_then(|comparison| comparison.interval);
    vec![
        table::badge(class(tone), judged.outcome),
        escaped(&judged.name),
        comparison.map_or_else(absent, |comparison| drawn(comparison, judged.direction, class(tone))),
        before.map_or_else(absent, say),
        judged.current.map_or_else(absent, |current| say(current.median) + &mark(judged.source)),
        shift,
        interval.map_or_else(absent, |interval| escaped(&range(interval, at, judged.unit))),
        comparison.map_or_else(absent, |comparison| escaped(&comparison.allowance.to_string())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Allowance, Unit, judge};
    use plimsoll_memory::bytes::ByteSize;

    /// Position of an element in the drawing, in percent of its width.
    fn place(drawing: &str, element: &str, attribute: &str) -> f64 {
        let (_, rest) = drawing.split_once(element).unwrap();
        let (_, value) = rest.split_once(&format!("{attribute}=\"")).unwrap();
        value.split_once('%').unwrap().0.parse().unwrap()
    }

    #[test]
    fn what_a_limit_does_not_let_pass_lies_right_of_its_line() {
        let before = [100.0, 101.0, 102.0, 100.0, 101.0, 102.0].map(|mib| mib * 1_048_576.0);
        let allowance = Allowance::new(5.0, ByteSize::mib(1)).unwrap();
        for (factor, direction, right_of_none, right_of_limit) in [
            (1.0, Direction::Lower, false, false),
            (1.03, Direction::Lower, true, false),
            (1.1, Direction::Lower, true, true),
            (100.0, Direction::Lower, true, true),
            (0.9, Direction::Lower, false, false),
            (0.9, Direction::Higher, true, true),
        ] {
            let now = before.map(|bytes| bytes * factor);
            let comparison = judge(&before, &now, Unit::Bytes, direction, allowance, 0.99);
            let drawing = drawn(&comparison, direction, "good");
            let (none, limit) = (place(&drawing, "\"none\"", "x1"), place(&drawing, "limit-line", "x1"));
            let (shift, bar) = (place(&drawing, "<circle", "cx"), place(&drawing, "<rect", "x"));
            assert_eq!((shift > none, shift > limit), (right_of_none, right_of_limit), "{factor}: {drawing}");
            let end = bar + place(&drawing, "<rect", "width");
            assert!(
                bar <= shift + 0.5 && shift <= end + 0.5 && (0.0..=100.0).contains(&bar) && end <= 100.0,
                "{drawing}"
            );
        }
    }
}
