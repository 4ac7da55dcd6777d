//! Every run of a repeated command: one strip per figure with one dot per run, the first at the top and the last at the
//! bottom, so that drift shows. Two records share a scale, with the interval of the shift between them.

use std::fmt::Write;

use super::dots::{self, Details, Dot};
use super::scale::Scale;
use super::{Body, axis, escaped, lines, ticks};
use crate::gate::Comparison;
use crate::record::{Direction, Figure, Record, figures};
use crate::report::figures::{amount, change, methods, range};
use crate::report::runs::{SHOWN, Shift, end_words, shifts};
use crate::report::summary::{Summary, source_mark};
use crate::report::terminal::{counted, duration};
use plimsoll_memory::ceiling::CeilingVerdict;

/// Maximum number of runs with a dot; more would overlap.
const DOTS: usize = 1000;

/// A ceiling farther from the runs than this many times their spread is not drawn: it would squeeze them together.
const FARTHEST: f64 = 3.0;

/// The runs of one record on a strip.
struct Row<'a> {
    /// The record's name if there are two.
    name: &'a str,
    class: &'a str,
    record: &'a Record,
    figure: Figure,
}

/// Draws the runs of `record`, if there are several.
pub(super) fn runs(out: &mut Body, record: &Record) {
    if record.runs.is_empty() {
        return;
    }
    let note = "each a dot, the first at the top; the line is their median";
    let _ = writeln!(out, "<h2>{} <small>{note}</small></h2>", counted(record.runs.len(), "run", "runs"));
    out.push_str("<section class=\"panel strips\">\n");
    let wanted = |figure: &Figure| SHOWN.contains(&&*figure.name) || ceiling(record, &figure.name).is_some();
    for figure in figures(record).into_iter().filter(wanted) {
        let ceiling = ceiling(record, &figure.name);
        strip(out, &[Row { name: "", class: "one", record, figure }], ceiling, None);
    }
    out.push_str("</section>\n");
}

/// Draws the runs of two records of equal semantics, if one of them has several.
pub(super) fn beside(out: &mut Body, before: &Record, after: &Record) {
    let shifts = shifts(before, after);
    if shifts.is_empty() {
        return;
    }
    let methods = methods(shifts.iter().map(|shift| &shift.comparison));
    out.push_str("<section class=\"panel strips two\">\n");
    for Shift { before: old, after: new, comparison } in shifts {
        let rows = [
            Row { name: "first", class: "before", record: before, figure: old },
            Row { name: "second", class: "after", record: after, figure: new },
        ];
        strip(out, &rows, None, Some(&comparison));
    }
    let how = match methods.join("; ") {
        how if how.is_empty() => "too few runs for an interval: five of each at least".to_owned(),
        how => format!("shaded: where the second lies by the interval of the shift ({})", escaped(&how)),
    };
    let _ =
        writeln!(out, "<p class=\"hint\">Each dot a run, the first at the top; the line is their median; {how}.</p>");
    out.push_str("</section>\n");
}

fn ceiling<'a>(record: &'a Record, figure: &str) -> Option<&'a CeilingVerdict> {
    lines::ceilings(record).find(|verdict| verdict.metric.name() == figure)
}

fn strip(out: &mut Body, rows: &[Row<'_>], ceiling: Option<&CeilingVerdict>, comparison: Option<&Comparison>) {
    let Some(Row { figure, .. }) = rows.first() else { return };
    let summaries: Vec<Summary> = rows.iter().filter_map(|row| Summary::of(&row.figure)).collect();
    if summaries.len() != rows.len() {
        return;
    }
    let scale = scale(rows, &summaries, ceiling, comparison);
    out.push_str("<div class=\"strip\"><div class=\"strip-head\">");
    let _ = write!(out, "<b>{}</b>", escaped(&figure.name));
    for (row, summary) in rows.iter().zip(&summaries) {
        let mark = row.figure.source.map_or("", source_mark);
        let name = if row.name.is_empty() { String::new() } else { format!("<i class=\"{}\"></i>", row.class) };
        let _ = write!(out, "<strong>{name}{}<small>{mark}</small></strong>", amount(summary.value, row.figure.unit));
        if let (Some((least, most)), true) = (summary.range, rows.len() == 1) {
            let unit = row.figure.unit;
            let _ = write!(out, "<span>{} to {}</span>", amount(least, unit), amount(most, unit));
        }
    }
    if let Some(verdict) = ceiling {
        let _ = write!(out, "<span class=\"{}\">{}</span>", lines::class(verdict.status), limit(verdict));
    }
    if let Some(comparison) = comparison {
        moved(out, comparison, summaries[0].value, figure.direction);
    }
    let label = format!("{} of {}", figure.name, counted(figure.values.len(), "run", "runs"));
    let _ = write!(
        out,
        "</div><div class=\"dots rows-{}\" tabindex=\"0\" role=\"img\" aria-label=\"{}; the arrow keys go from run to \
         run\"><svg aria-hidden=\"true\">",
        rows.len(),
        escaped(&label)
    );
    let ticks = scale.ticks();
    for &tick in &ticks {
        let x = scale.share(tick) * 100.0;
        let _ = write!(out, "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"100%\"/>");
    }
    if let Some(interval) = comparison.and_then(|comparison| comparison.interval) {
        let [low, high] = [interval.low, interval.high].map(|end| scale.share(summaries[0].value + end) * 100.0);
        let _ = write!(
            out,
            "<rect class=\"likely\" x=\"{low:.2}%\" width=\"{:.2}%\" y=\"50%\" height=\"50%\"/>",
            (high - low).max(0.2)
        );
    }
    let mut drawn = Vec::new();
    for (at, (row, summary)) in rows.iter().zip(&summaries).enumerate() {
        let (top, height) = (at as f64 / rows.len() as f64, 1.0 / rows.len() as f64);
        let x = scale.share(summary.value) * 100.0;
        let [y1, y2] = [0.06, 0.94].map(|share| (top + share * height) * 100.0);
        let _ = write!(out, "<line class=\"median\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{y1:.1}%\" y2=\"{y2:.1}%\"/>");
        drawn.extend(dots_of(row, &scale, ceiling, top, height));
    }
    dots::draw(out, &drawn);
    out.push_str("</svg>");
    if let Some(verdict) = ceiling.filter(|verdict| scale.share(bytes(verdict)) < 1.0) {
        let share = scale.share(bytes(verdict));
        let (left, side) = (out.left(share), if share > 0.5 { " flip" } else { "" });
        let words = axis::amount(verdict.limit.bytes());
        let _ = write!(
            out,
            "<div class=\"limit {}{side} {left}\"><span>{words}</span></div>",
            lines::class(verdict.status)
        );
    }
    dots::details(out, &drawn);
    out.push_str("</div><div class=\"ticks\" aria-hidden=\"true\">");
    ticks::labels(out, ticks.iter().map(|&tick| (scale.share(tick), scale.words(tick))));
    out.push_str("</div></div>\n");
}

/// The scale that holds every run, the interval, and any ceiling that is not far away.
fn scale(
    rows: &[Row<'_>],
    summaries: &[Summary],
    ceiling: Option<&CeilingVerdict>,
    comparison: Option<&Comparison>,
) -> Scale {
    let unit = rows[0].figure.unit;
    let mut amounts: Vec<f64> = rows.iter().flat_map(|row| &row.figure.values).copied().collect();
    let most = amounts.iter().copied().fold(0.0, f64::max);
    let spread = most - amounts.iter().copied().fold(f64::INFINITY, f64::min);
    let near = |limit: &f64| (limit - most).abs() <= FARTHEST * spread.max(most * 0.02);
    amounts.extend(ceiling.map(bytes).filter(near));
    if let Some(interval) = comparison.and_then(|comparison| comparison.interval) {
        amounts.extend([interval.low, interval.high].map(|end| (summaries[0].value + end).max(0.0)));
    }
    Scale::around(amounts, unit)
}

fn bytes(verdict: &CeilingVerdict) -> f64 {
    verdict.limit.bytes() as f64
}

/// `≤ 80 MiB, 18.8 MiB to spare`.
fn limit(verdict: &CeilingVerdict) -> String {
    let (sign, past) = (verdict.metric.sign(), verdict.metric.past());
    let limit = axis::amount(verdict.limit.bytes());
    match (verdict.by, &verdict.reading) {
        (Some(by), _) => format!("{sign} {limit}: {by} {past}"),
        (None, Some(reading)) => {
            let spare = reading.bytes.bytes().abs_diff(verdict.limit.bytes());
            format!("{sign} {limit}: {} to spare", axis::amount(spare))
        }
        (None, None) => format!("{sign} {limit}: not measured"),
    }
}

/// Writes how far the second record moved, with the interval.
fn moved(out: &mut Body, comparison: &Comparison, before: f64, direction: Direction) {
    let Some(interval) = comparison.interval else {
        let _ = write!(out, "<span class=\"soft\">{}</span>", escaped(&change(comparison, before)));
        return;
    };
    let ends = [interval.low, interval.high];
    let class = if ends.iter().all(|&end| direction.is_worse(0.0, end)) {
        "bad"
    } else if ends.iter().all(|&end| direction.is_worse(end, 0.0)) {
        "good"
    } else {
        "soft"
    };
    let _ = write!(
        out,
        "<span class=\"{class}\"><b>{}</b> ({})</span>",
        escaped(&change(comparison, before)),
        escaped(&range(interval, before, comparison.unit))
    );
}

/// The dots of a row at `top`.
fn dots_of<'a>(row: &Row<'a>, scale: &Scale, ceiling: Option<&CeilingVerdict>, top: f64, height: f64) -> Vec<Dot<'a>> {
    let values = &row.figure.values[..row.figure.values.len().min(DOTS)];
    // If a run lacks the figure, values can no longer be matched with runs.
    let runs = if values.len() == row.record.runs.len() { &row.record.runs[..] } else { &[] };
    let past = |value: f64| {
        ceiling.is_some_and(|verdict| {
            let limit = bytes(verdict);
            if verdict.metric.is_floor() { value < limit } else { value > limit }
        })
    };
    let dot = |(at, &value): (usize, &f64)| {
        let down = if values.len() > 1 { at as f64 / (values.len() - 1) as f64 } else { 0.5 };
        let number = format!("run {}", at + 1);
        let head = if row.name.is_empty() { number } else { format!("{}, {number}", row.name) };
        let mut rows = vec![(&*row.figure.name, amount(value, row.figure.unit))];
        if let Some(run) = runs.get(at) {
            if row.figure.name != "wall" {
                rows.push(("took", duration(run.wall_ns as f64)));
            }
            rows.push(("end", end_words(&run.end)));
        }
        Dot {
            x: scale.share(value),
            y: top + (0.14 + 0.72 * down) * height,
            class: if past(value) { "over" } else { row.class },
            details: Details::new(&head, rows),
        }
    };
    values.iter().enumerate().map(dot).collect()
}
