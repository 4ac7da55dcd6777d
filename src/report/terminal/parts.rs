//! The parts of a record: one row each, the nodes, and the imbalance between ranks.

use std::fmt::Write;

use super::judged::verdict_mark;
use super::memory::marked;
use crate::report::parts::Parts;
use plimsoll_memory::meter::Reading;
use plimsoll_memory::text::{Align, Cell, LABEL, Screen, fitted};
use plimsoll_memory::text::{clean, counted, duration, labelled, styled};

/// If there are more parts than this, only failed ones and the largest have a row.
const ROWS: usize = 64;

/// Writes the table of `parts`.
pub(super) fn parts(parts: &Parts, screen: &Screen) -> String {
    let palette = &screen.palette;
    let figure = |reading: &Option<Reading>| Cell::plain(reading.as_ref().map_or("n/a ".to_owned(), marked));
    let rows = parts.shown(ROWS).into_iter().map(|row| {
        let (mark, style) = verdict_mark(row.status, palette);
        let (entries, bytes) =
            row.entries.map_or_else(Default::default, |(count, bytes)| (count.to_string(), bytes.to_string()));
        vec![
            Cell::new(mark, style),
            Cell::plain(row.name.clone()),
            Cell::new(clean(&row.host), palette.dim),
            Cell::plain(entries),
            Cell::plain(bytes),
            Cell::new(duration(row.wall_ns as f64), palette.dim),
            figure(&row.peak_rss),
            figure(&row.peak_anon),
            Cell::new(clean(&row.end), palette.dim),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let columns = [
        ("", Align::Left, 0),
        (parts.what, Align::Left, 0),
        ("host", Align::Left, 4),
        ("entries", Align::Right, 2),
        ("bytes", Align::Right, 3),
        ("time", Align::Right, 5),
        ("peak RSS", Align::Right, 0),
        ("peak anon", Align::Right, 6),
        ("end", Align::Left, 7),
    ];
    let mut text = fitted(columns, &rows, screen);
    if let Some(more) = parts.rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, " {}", styled(&format!("… and {more} more that passed with less"), palette.dim));
    }
    for node in parts.nodes() {
        let of = counted(node.parts, parts.what, &format!("{}s", parts.what));
        let words = format!("{of}, largest peak RSS {}, sum of peaks {}", node.largest, node.sum);
        text.push_str(&labelled(&format!("node {}", clean(&node.name)), palette.dim, &words, LABEL.max(16), screen));
    }
    if let Some(words) = parts.imbalance() {
        text.push_str(&labelled("imbalance", palette.dim, &words, LABEL.max(16), screen));
    }
    text
}
