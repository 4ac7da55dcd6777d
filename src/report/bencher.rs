//! The Bencher Metric Format: one benchmark per record and phase, one measure per figure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::outcome::names;
use super::summary::{Summary, bare};
use super::terminal::clean;
use crate::record::{Record, figures};

#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Converts the figures of `records` to the Bencher Metric Format, in bytes and nanoseconds. Repeats become their
/// median with minimum and maximum.
pub fn bencher(records: &[Record]) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, Measure>> = BTreeMap::new();
    for (record, name) in records.iter().zip(names(records)) {
        for figure in figures(record) {
            let Some(Summary { value, range }) = Summary::of(&figure) else { continue };
            let benchmark = figure.phase.as_ref().map_or_else(|| name.clone(), |phase| format!("{name}: {phase}"));
            // Bencher's own measure names use dashes.
            let measure = bare(&figure).replace(['_', '.'], "-");
            let (lower_value, upper_value) = (range.map(|range| range.0), range.map(|range| range.1));
            let measure_of = benchmarks.entry(clean(&benchmark)).or_default();
            measure_of.insert(measure, Measure { value, lower_value, upper_value });
        }
    }
    super::pretty(&benchmarks)
}
