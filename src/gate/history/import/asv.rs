//! A folder of airspeed velocity results: `benchmarks.json`, and one folder per machine with one file per commit.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::{At, Gathered, HistoryError, Measured, entries, failed, json};

/// The description of a benchmark in `benchmarks.json`.
struct Benchmark {
    figure: String,
    unit: String,
    /// The values of each of its parameters.
    parameters: Vec<Vec<String>>,
}

pub(super) fn read(folder: &Path, found: &mut Gathered) -> Result<(), HistoryError> {
    let listed = folder.join("benchmarks.json");
    let Value::Object(listed) = json(&listed)? else { return Err(failed(&listed, "it is not a list of benchmarks")) };
    let benchmarks: BTreeMap<String, Benchmark> =
        listed.iter().filter_map(|(name, value)| Some((name.clone(), benchmark(value)?))).collect();
    for machine in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        for file in entries(&machine)? {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".json") && name != "machine.json" {
                results(&file, &json(&file)?, &benchmarks, found)?;
            }
        }
    }
    Ok(())
}

fn benchmark(value: &Value) -> Option<Benchmark> {
    // Skips the format version and other entries that are not benchmarks.
    let kind = value.get("type")?.as_str()?;
    let unit = value.get("unit").and_then(Value::as_str).unwrap_or_default();
    let parameters = value.get("params").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let figure = match kind {
        "peakmemory" => "peak_memory",
        "time" | "timeraw" => "time",
        other => other,
    };
    Some(Benchmark {
        figure: figure.to_owned(),
        unit: unit.to_owned(),
        parameters: parameters.iter().map(|values| texts(values).unwrap_or_default()).collect(),
    })
}

fn results(
    path: &Path,
    file: &Value,
    benchmarks: &BTreeMap<String, Benchmark>,
    found: &mut Gathered,
) -> Result<(), HistoryError> {
    let text = |name: &str| file.get(name).and_then(Value::as_str);
    let (Some(commit), Some(Value::Object(results))) = (text("commit_hash"), file.get("results")) else {
        return Err(failed(path, "it has no `commit_hash` with `results`, as asv writes them"));
    };
    let machine = file.get("params").and_then(|params| params.get("machine")).and_then(Value::as_str);
    // Each environment has a series of its own.
    let suite = [machine, text("env_name")].into_iter().flatten().collect::<Vec<_>>().join("/");
    let committed = file.get("date").and_then(Value::as_i64).map(|milliseconds| milliseconds / 1000);
    let at = At { id: commit.to_owned(), committed, title: String::new() };
    let column = column(file);
    for (name, result) in results {
        let Some(benchmark) = benchmarks.get(name) else { continue };
        let Some((values, parameters)) = values(result, column) else { continue };
        let parameters = parameters.unwrap_or_else(|| benchmark.parameters.clone());
        let count: usize = parameters.iter().map(Vec::len).try_fold(1, usize::checked_mul).unwrap_or(0);
        for (number, value) in values.iter().enumerate() {
            let Some(value) = value.as_f64() else {
                found.left_out += 1;
                continue;
            };
            let label = if count == values.len() && !parameters.is_empty() {
                format!("{name}({})", combination(&parameters, number))
            } else if values.len() > 1 {
                format!("{name}({number})")
            } else {
                name.clone()
            };
            let measured = Measured {
                commit: Some(at.clone()),
                suite: Some(&suite),
                label: &label,
                figure: &benchmark.figure,
                unit: &benchmark.unit,
                direction: None,
            };
            found.add(path, measured, [value])?;
        }
    }
    Ok(())
}

/// The columns of results and parameters, in the second version of the format.
fn column(file: &Value) -> Option<(usize, Option<usize>)> {
    let columns = file.get("result_columns")?.as_array()?;
    let place = |name: &str| columns.iter().position(|column| column.as_str() == Some(name));
    Some((place("result")?, place("params")))
}

/// The values of a result, one per combination of parameters, and the parameters if they are stored with it.
#[allow(clippy::type_complexity)]
fn values(result: &Value, column: Option<(usize, Option<usize>)>) -> Option<(Vec<Value>, Option<Vec<Vec<String>>>)> {
    let (values, parameters) = match (result, column) {
        (Value::Array(row), Some((result, parameters))) => {
            (row.get(result)?, parameters.and_then(|parameters| row.get(parameters)))
        }
        (Value::Object(map), _) => named(map)?,
        // In the first version, a benchmark without parameters is a plain number.
        (other, _) => (other, None),
    };
    let values = match values {
        Value::Array(values) => values.clone(),
        Value::Null => return None,
        one => vec![one.clone()],
    };
    let parameters = parameters.and_then(Value::as_array).map(|lists| lists.iter().filter_map(texts).collect());
    Some((values, parameters))
}

/// The values of a list as text.
fn texts(values: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(values.as_array()?.iter().map(text).collect())
}

fn named(map: &Map<String, Value>) -> Option<(&Value, Option<&Value>)> {
    Some((map.get("result")?, map.get("params")))
}

/// The combination of parameters with this number; the last parameter varies fastest.
fn combination(parameters: &[Vec<String>], mut number: usize) -> String {
    let mut words = Vec::with_capacity(parameters.len());
    for values in parameters.iter().rev() {
        words.push(&*values[number % values.len()]);
        number /= values.len();
    }
    words.reverse();
    words.join(", ")
}
