//! Several records side by side.

use std::fmt::Write;

use super::record::class;
use super::{Body, absent, escaped, table};
use crate::record::Record;
use crate::report::outcome::Outcome;
use crate::report::terminal::duration;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The figures of each row.
const FIGURES: [Metric; 4] = [Metric::PeakRss, Metric::PeakAnon, Metric::SwapGrowth, Metric::AvailableFloor];

/// Writes one row per record.
pub(super) fn overview(out: &mut Body, records: &[Record], gated: bool) {
    let _ = writeln!(out, "<h1>{} records</h1>", records.len());
    let outcome = if gated { "by itself" } else { "outcome" };
    let mut columns =
        vec![table::words("record"), table::words(outcome), table::words("started"), table::figures("took")];
    columns.extend(FIGURES.iter().map(|metric| table::figures(metric.name())));
    let rows = records.iter().enumerate().map(|(at, record)| {
        let outcome = Outcome::of(record);
        let figures = FIGURES.iter().map(|&metric| {
            worst_reading(&record.phases, metric).map_or_else(absent, |(_, reading)| table::reading(reading))
        });
        [
            format!("<a href=\"#record-{}\">{} {}</a>", at + 1, at + 1, escaped(record.semantics.subject())),
            table::badge(if gated { "soft" } else { class(outcome.tone) }, outcome.word),
            escaped(&record.started),
            duration(record.wall_ns as f64),
        ]
        .into_iter()
        .chain(figures)
        .collect()
    });
    table::table(out, &columns, rows);
}
