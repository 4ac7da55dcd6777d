//! The parts of a record on the page.

use std::fmt::Write;

use super::{Body, absent, escaped, table};
use crate::record::{Record, VerdictStatus};
use crate::report::outcome::status_word;
use crate::report::parts::Parts;
use crate::report::terminal::{counted, duration};
use plimsoll_memory::meter::Reading;

/// Maximum number of parts with a row.
const ROWS: usize = 1000;

/// Writes the section for a record of several parts.
pub(super) fn parts(out: &mut Body, record: &Record) {
    let Some(parts) = Parts::of(record) else { return };
    let what = parts.what;
    let _ = writeln!(out, "<h2>{}</h2>", counted(parts.rows.len(), what, &format!("{what}s")));
    if let Some(words) = parts.imbalance() {
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", escaped(&words));
    }
    let columns = [
        table::words(what),
        table::words("host"),
        table::figures("entries"),
        table::figures("bytes"),
        table::figures("time"),
        table::figures("peak RSS"),
        table::figures("peak anon"),
        table::words("end"),
        table::words("verdicts"),
    ];
    let figure = |reading: &Option<Reading>| reading.as_ref().map_or_else(absent, table::reading);
    let rows = parts.shown(ROWS).into_iter().map(|row| {
        let class = match row.status {
            VerdictStatus::Pass => "good",
            VerdictStatus::Fail => "bad",
            VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => "warn",
        };
        vec![
            escaped(&row.name),
            escaped(&row.host),
            row.entries.map_or_else(absent, |(entries, _)| entries.to_string()),
            row.entries.map_or_else(absent, |(_, bytes)| bytes.to_string()),
            duration(row.wall_ns as f64),
            figure(&row.peak_rss),
            figure(&row.peak_anon),
            escaped(&row.end),
            table::badge(class, status_word(row.status)),
        ]
    });
    table::table(out, &columns, rows);
    table::more(out, parts.rows.len(), ROWS, ", in the record");
    let nodes = parts.nodes();
    if nodes.is_empty() {
        return;
    }
    let columns = [
        table::words("node"),
        table::figures(&format!("{what}s")),
        table::figures("largest peak RSS"),
        table::figures("sum of peaks"),
    ];
    let rows = nodes
        .into_iter()
        .take(ROWS)
        .map(|node| vec![escaped(&node.name), node.parts.to_string(), node.largest.to_string(), node.sum.to_string()]);
    table::table(out, &columns, rows);
}
