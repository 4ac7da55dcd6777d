//! The JSON of github-action-benchmark, tool `customSmallerIsBetter`.
//!
//! Figures of which more is better, such as available memory, are left out: the tool has no place for them.

use serde::Serialize;

use super::outcome::names;
use super::summary::{Summary, source_words};
use super::terminal::clean;
use crate::record::{Direction, Record, Unit, figures};

#[derive(Serialize)]
struct Benchmark {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Converts the figures of which less is better, in units that suit a chart. Repeats become their median with the
/// largest deviation from it.
pub fn github_benchmark(records: &[Record]) -> String {
    let mut benchmarks = Vec::new();
    for (record, name) in records.iter().zip(names(records)) {
        for figure in figures(record) {
            let Some(summary) = Summary::of(&figure).filter(|_| figure.direction == Direction::Lower) else { continue };
            // The unit must never change: the chart does not convert old values.
            let (unit, scale) = match figure.unit {
                Unit::Bytes => ("MiB", (1u64 << 20) as f64),
                Unit::Nanoseconds => ("ms", 1e6),
                Unit::Count => ("count", 1.0),
            };
            let range = summary.range.map(|(least, most)| {
                let distance = (most - summary.value).max(summary.value - least) / scale;
                format!("± {distance}")
            });
            let source = figure.source.map_or(String::new(), |source| format!("{}\n", source_words(source)));
            let repeats = figure.values.len();
            let times = if repeats > 1 { format!("median of {repeats} runs\n") } else { String::new() };
            benchmarks.push(Benchmark {
                name: clean(&format!("{name}: {}", figure.name)),
                unit,
                value: summary.value / scale,
                range,
                extra: format!("{source}{times}{}", clean(&record.semantics_digest)),
            });
        }
    }
    super::pretty(&benchmarks)
}
