//! The Bencher Metric Format: measures by benchmark name. It names no commit.

use std::path::Path;

use serde_json::Value;

use super::{Gathered, HistoryError, Measured, failed};
use crate::record::Direction;
use plimsoll_memory::meter::Metric;

pub(super) fn read(path: &Path, value: &Value, found: &mut Gathered) -> Result<(), HistoryError> {
    let not_known = || {
        failed(
            path,
            "it is JSON, but neither Bencher's (benchmarks with measures that have a `value`) nor \
             github-action-benchmark's (`entries`, or a list of `name`, `unit` and `value`)",
        )
    };
    for (label, measures) in value.as_object().ok_or_else(not_known)? {
        for (measure, metric) in measures.as_object().ok_or_else(not_known)? {
            let value = metric.get("value").and_then(Value::as_f64).ok_or_else(not_known)?;
            let (unit, direction) = unit(measure);
            let figure = measure.replace('-', "_");
            let measured = Measured { commit: None, suite: None, label, figure: &figure, unit, direction };
            found.add(path, measured, [value])?;
        }
    }
    Ok(())
}

/// The unit of a measure and whether more is better, for Bencher's own measures and for Plimsoll's.
fn unit(measure: &str) -> (&'static str, Option<Direction>) {
    let name = measure.replace('-', "_");
    if let Some(metric) = Metric::ALL.iter().find(|metric| metric.name() == name) {
        return ("B", metric.is_floor().then_some(Direction::Higher));
    }
    match measure {
        "latency" | "wall" | "cpu-time" | "memory-stall" => ("ns", None),
        "build-time" => ("s", None),
        "file-size" => ("B", None),
        "throughput" => ("", Some(Direction::Higher)),
        _ => ("", None),
    }
}
