//! What changed between two records: memory over time on one scale, the figures side by side, and the rest in words.

use std::fmt::Write;

use super::course::Course;
use super::path::{HEIGHT, WIDTH};
use super::{Body, axis, escaped, path, strips, table, ticks};
use crate::record::{Change, ChangeKind, Differences, Figures, Record, compare_records};
use crate::report::terminal::{counted, duration, percent, value_words};

/// Maximum number of changes shown per part; `plimsoll compare` prints them all.
const SHOWN: usize = 100;

/// Compares two records, the earlier one first.
pub(super) fn comparison(out: &mut Body, before: &Record, after: &Record) {
    let differences = compare_records(before, after);
    out.push_str("<h2>From the first to the second</h2>\n");
    beside(out, before, after);
    match &differences.figures {
        Some(figures) => {
            strips::beside(out, before, after);
            tables(out, figures);
        }
        None => out.push_str(
            "<p class=\"panel\"><b class=\"warn\">Not compared.</b> Times and peaks of different semantics mean different \
             things; the differences are below.</p>\n",
        ),
    }
    changes(out, &differences);
}

/// Draws the resident memory of both records over time on one scale.
fn beside(out: &mut Body, before: &Record, after: &Record) {
    let courses = [before, after].map(|record| Course::of(&record.phases));
    let span = courses.iter().map(|course| course.span_ns).max().unwrap_or(0);
    let top = courses.iter().map(Course::peak).max().unwrap_or(0);
    if span == 0 || top == 0 || courses.iter().all(|course| course.moments.is_empty()) {
        return;
    }
    let top = top.saturating_add(top / 11);
    let y = |bytes: u64| (1.0 - bytes.min(top) as f64 / top as f64) * HEIGHT;
    let x = |ns: u64| ns as f64 / span as f64 * WIDTH;
    out.push_str("<section class=\"panel\"><div class=\"chart\"><div class=\"scale\" aria-hidden=\"true\">");
    let ticks = axis::bytes(top);
    for &bytes in &ticks {
        let top = out.top(y(bytes) / HEIGHT);
        let _ = write!(out, "<span class=\"{top}\">{}</span>", axis::amount(bytes));
    }
    let grid = path::grid(ticks.iter().map(|&bytes| y(bytes)));
    let _ = write!(
        out,
        "</div><div class=\"plot\" role=\"img\" aria-label=\"RSS of both records over time\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"grid\" d=\"{grid}\"/>"
    );
    for (course, class) in courses.iter().zip(["before", "after"]) {
        let levels = course.moments.iter().map(|moment| (x(moment.at_ns), y(moment.rss)));
        let line = path::outline(levels, x(course.span_ns));
        let _ = write!(out, "<path class=\"{class}\" d=\"{line}\"/>");
    }
    out.push_str("</svg></div></div>\n");
    ticks::of_span(out, span);
    out.push_str(
        "<div class=\"legend\"><span><i class=\"before\"></i>first <small>RSS</small></span><span><i \
         class=\"after\"></i>second <small>RSS</small></span></div></section>\n",
    );
}

fn tables(out: &mut Body, figures: &Figures) {
    let change = |before: f64, after: f64, less_is_better: bool| {
        let words = percent(before, after);
        let class = match (after - before) * if less_is_better { 1.0 } else { -1.0 } {
            d if d > before.abs() * 0.01 => "bad",
            d if d < -before.abs() * 0.01 => "good",
            _ => "soft",
        };
        format!("<span class=\"{class}\">{}</span>", escaped(&words))
    };
    let memory = figures.memory.iter().map(|delta| {
        let (before, after) = (delta.before.bytes.bytes() as f64, delta.after.bytes.bytes() as f64);
        vec![
            escaped(&delta.phase),
            delta.metric.name().to_owned(),
            table::reading(&delta.before),
            table::reading(&delta.after),
            change(before, after, !delta.metric.is_floor()),
        ]
    });
    let columns = |first: &str, second: &str| {
        [
            table::words(first),
            table::words(second),
            table::figures("first"),
            table::figures("second"),
            table::figures("change"),
        ]
    };
    if !figures.memory.is_empty() {
        table::table(out, &columns("phase", "memory"), memory);
    }
    if !figures.timing.is_empty() {
        out.push_str("<h2>Median time a launch</h2>\n");
        let rows = figures.timing.iter().take(SHOWN + 1).map(|delta| {
            vec![
                delta.entry.as_deref().map_or("<b>all entries</b>".to_owned(), escaped),
                String::new(),
                duration(delta.before_ns),
                duration(delta.after_ns),
                change(delta.before_ns, delta.after_ns, true),
            ]
        });
        table::table(out, &columns("entry", ""), rows);
    }
}

fn changes(out: &mut Body, differences: &Differences) {
    for (name, found) in [
        ("Semantics", &differences.semantics),
        ("Policy", &differences.policy),
        ("Environment", &differences.environment),
        ("Results", &differences.results),
    ] {
        if found.is_empty() {
            let _ = writeln!(out, "<p class=\"same\">{name}: the same</p>");
            continue;
        }
        let open = if found.len() <= 8 { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details class=\"fold\"{open}><summary>{name}: {}</summary>",
            counted(found.len(), "change", "changes")
        );
        let rows = found.iter().take(SHOWN).map(|change| {
            let side = |value: &Option<serde_json::Value>| {
                value.as_ref().map_or_else(super::absent, |value| escaped(&value_words(&change.path, value)))
            };
            vec![sign(&change).to_owned(), escaped(&change.path), side(&change.before), side(&change.after)]
        });
        table::table(
            out,
            &[table::words(""), table::words("field"), table::words("first"), table::words("second")],
            rows,
        );
        table::more(out, found.len(), SHOWN, ": `plimsoll compare` prints them");
        out.push_str("</details>\n");
    }
}

fn sign(change: &Change) -> &'static str {
    match change.kind {
        ChangeKind::Added => "+",
        ChangeKind::Removed => "−",
        ChangeKind::Changed => "~",
        ChangeKind::Reordered => "↕",
    }
}
