//! Figures as CSV (RFC 4180), one row per value.

use std::fmt::Write;

use super::outcome::names;
use super::summary::unit;
use super::terminal::clean;
use crate::record::{Record, figures};
use plimsoll_memory::meter::Source;

/// Writes a header and one row for every value of every figure.
pub fn csv(records: &[Record]) -> String {
    let mut out = "record,started,exit_code,figure,phase,unit,source,interval_ns,repeat,value\r\n".to_owned();
    for (record, name) in records.iter().zip(names(records)) {
        let head = format!("{},{},{}", cell(&name), cell(&record.started), record.exit_code);
        for figure in figures(record) {
            let phase = figure.phase.as_deref().map_or(String::new(), cell);
            let (source, interval) = match figure.source {
                Some(Source::Exact) => ("exact", String::new()),
                Some(Source::Sampled { interval_ns }) => ("sampled", interval_ns.to_string()),
                Some(Source::LowerBound) => ("lower_bound", String::new()),
                None => ("", String::new()),
            };
            for (at, value) in figure.values.iter().enumerate() {
                let _ = write!(
                    out,
                    "{head},{},{phase},{},{source},{interval},{},{value}\r\n",
                    cell(&figure.name),
                    unit(figure.unit),
                    at + 1
                );
            }
        }
    }
    out
}

/// Formats a cell. An apostrophe keeps a spreadsheet from evaluating text that looks like a formula.
fn cell(text: &str) -> String {
    let text = clean(text);
    let formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains(['"', ',', '\r', '\n', ' ', '\'']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
