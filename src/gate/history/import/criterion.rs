//! Criterion's folder: the latest run of each benchmark. It names no commit.

use std::path::Path;

use super::{Gathered, HistoryError, Measured, entries, failed, json};
use crate::gate::bench::unit_of;
use crate::record::Unit;
use serde_json::Value;

/// Group, function, value, and a few spare levels.
const MAX_DEPTH: usize = 8;

pub(super) fn read(folder: &Path, found: &mut Gathered) -> Result<(), HistoryError> {
    find(folder, 0, found)?;
    if found.figures.is_empty() {
        return Err(failed(
            folder,
            "it has neither a `benchmarks.json`, as asv's results, nor a `new/estimates.json` in a folder, as criterion's",
        ));
    }
    Ok(())
}

fn find(folder: &Path, depth: usize, found: &mut Gathered) -> Result<(), HistoryError> {
    if depth > MAX_DEPTH {
        return Err(failed(folder, format!("it has more than {MAX_DEPTH} levels of folders")));
    }
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let estimates = path.join("estimates.json");
        if path.file_name().is_some_and(|name| name == "new") && estimates.is_file() {
            benchmark(&path, &estimates, found)?;
        } else if !estimates.is_file() {
            find(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

fn benchmark(path: &Path, estimates: &Path, found: &mut Gathered) -> Result<(), HistoryError> {
    let name = json(&path.join("benchmark.json"))?;
    let label = name.get("full_id").and_then(Value::as_str).ok_or_else(|| failed(path, "it has no name"))?;
    let read = json(estimates)?;
    let median = read.get("median").and_then(|median| median.get("point_estimate")).and_then(Value::as_f64);
    let median = median.ok_or_else(|| failed(estimates, "it has no median"))?;
    let (unit, metric) = unit_of(path, label);
    let figure = metric.unwrap_or_else(|| "time".to_owned());
    let unit = match unit {
        Unit::Bytes => "B",
        Unit::Nanoseconds => "ns",
        Unit::Count => "",
    };
    let measured = Measured { commit: None, suite: None, label, figure: &figure, unit, direction: None };
    found.add(path, measured, [median])
}
