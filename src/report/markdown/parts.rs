//! The parts of a record.

use std::fmt::Write;

use super::escape::text;
use super::tables::{ROWS, figure, mark, more, row, titles};
use crate::record::Record;
use crate::report::parts::Parts;
use crate::report::terminal::{counted, duration};

/// Writes one row per shard or rank.
pub(super) fn parts(out: &mut String, record: &Record) {
    let Some(parts) = Parts::of(record) else { return };
    let what = parts.what;
    if let Some(words) = parts.imbalance() {
        let _ = writeln!(out, "{}\n", text(&words));
    }
    let count = counted(parts.rows.len(), what, &format!("{what}s"));
    let _ = writeln!(out, "<details><summary>{count}</summary>\n");
    titles(out, &[what, "host", "end", "verdicts", "entries", "bytes", "time", "peak_rss"], 4);
    let unknown = || "n/a".to_owned();
    for part in parts.shown(ROWS) {
        row(
            out,
            &[
                text(&part.name),
                text(&part.host),
                text(&part.end),
                mark(part.status).to_owned(),
                part.entries.map_or_else(unknown, |(entries, _)| entries.to_string()),
                part.entries.map_or_else(unknown, |(_, bytes)| bytes.to_string()),
                duration(part.wall_ns as f64),
                part.peak_rss.as_ref().map_or_else(unknown, figure),
            ],
        );
    }
    more(out, parts.rows.len(), ", in the record");
    for node in parts.nodes().iter().take(ROWS) {
        let of = counted(node.parts, what, &format!("{what}s"));
        let (name, largest, sum) = (text(&node.name), node.largest, node.sum);
        let _ = writeln!(out, "- node {name}: {of}, largest peak RSS {largest}, sum of peaks {sum}");
    }
    out.push_str("\n</details>\n\n");
}
