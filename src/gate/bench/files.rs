//! The files of one of criterion's benchmarks.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::BenchError;
use super::report::CriterionChange;
use crate::gate::Unit;
use plimsoll_capture::open_regular;
use plimsoll_memory::meter::Metric;

/// Criterion writes no larger files: a sample of a million figures takes some 40 MB.
const MAX_FILE: u64 = 64 << 20;

/// The fields of `benchmark.json` that are used.
#[derive(Debug, Deserialize)]
pub(super) struct Name {
    pub(super) full_id: String,
}

/// The fields of `sample.json` that are used.
#[derive(Debug, Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// The fields of `change/estimates.json` that are used.
#[derive(Debug, Deserialize)]
struct Change {
    median: Estimate,
}

#[derive(Debug, Deserialize)]
struct Estimate {
    confidence_interval: ConfidenceInterval,
    point_estimate: f64,
}

#[derive(Debug, Deserialize)]
struct ConfidenceInterval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

pub(super) fn name(dir: &Path) -> Result<Name, BenchError> {
    json(&dir.join("benchmark.json"))
}

/// Reads the figure per iteration of every sample, in the order in which they were taken.
pub(super) fn figures(dir: &Path, unit: Unit) -> Result<Vec<f64>, BenchError> {
    let path = dir.join("sample.json");
    let Sample { iters, times } = json(&path)?;
    let wrong = |what: String| BenchError::Samples { path: path.clone(), what };
    if iters.is_empty() || iters.len() != times.len() {
        return Err(wrong(format!("{} counts of iterations and {} totals", iters.len(), times.len())));
    }
    let mut figures = Vec::with_capacity(iters.len());
    for (at, (iterations, total)) in iters.into_iter().zip(times).enumerate() {
        let figure = total / iterations;
        if iterations < 1.0 || total < 0.0 || !figure.is_finite() {
            return Err(wrong(format!("sample {}: a total of {total} over {iterations} iterations", at + 1)));
        }
        figures.push(if unit == Unit::Bytes { whole_bytes(figure) } else { figure });
    }
    Ok(figures)
}

/// Rounds to whole bytes. Criterion cannot handle equal figures or zeros, so memory measurements make equal figures
/// differ by a part in 10^12 and report zero as a billionth of a byte.
fn whole_bytes(figure: f64) -> f64 {
    let near = 1e-8_f64.max(figure * 1e-11);
    if (figure - figure.round()).abs() <= near { figure.round() } else { figure }
}

/// The unit of the benchmark `id`, and the metric in its name.
pub(in crate::gate) fn unit(dir: &Path, id: &str) -> (Unit, Option<String>) {
    let metric = |word: &&str| Metric::ALL.iter().any(|metric| metric.name() == *word);
    let word = id.split([' ', '/']).find(|word| metric(word) || *word == "cpu_time");
    let named = match word {
        Some("cpu_time") | None => Unit::Nanoseconds,
        Some(_) => Unit::Bytes,
    };
    (written_unit(dir).unwrap_or(named), word.map(str::to_owned))
}

/// The unit in `raw.csv`, if the file exists: its rows end in the unit and the number of iterations.
fn written_unit(dir: &Path) -> Option<Unit> {
    let mut head = Vec::new();
    File::open(dir.join("raw.csv")).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let text = String::from_utf8_lossy(&head);
    let mut fields = text.lines().nth(1)?.rsplit(',');
    Some(match fields.nth(1)? {
        "B" => Unit::Bytes,
        "ns" => Unit::Nanoseconds,
        _ => Unit::Count,
    })
}

/// Criterion's own comparison; `None` if it made none.
pub(super) fn change(dir: &Path) -> Result<Option<CriterionChange>, BenchError> {
    let path = dir.join("change/estimates.json");
    if !exists(&path)? {
        return Ok(None);
    }
    let Estimate { confidence_interval: interval, point_estimate } = json::<Change>(&path)?.median;
    let percent = |share: f64| share * 100.0;
    let change = CriterionChange {
        percent: percent(point_estimate),
        low: percent(interval.lower_bound),
        high: percent(interval.upper_bound),
        confidence: interval.confidence_level,
    };
    let sound = change.low <= change.high && point_estimate > -1.0 && (0.0..1.0).contains(&change.confidence);
    if !(sound && change.percent.is_finite() && change.high.is_finite() && change.low.is_finite()) {
        return Err(BenchError::Samples { path, what: "its comparison is invalid".to_owned() });
    }
    Ok(Some(change))
}

/// Whether the samples in `baseline` are a later copy of those in `new`. Equal samples alone prove nothing: code that
/// always allocates the same amount has equal samples in two runs, and then the baseline's are older.
pub(super) fn is_copy(new: &Path, baseline: &Path) -> Result<bool, BenchError> {
    let [new, baseline] = [new, baseline].map(|dir| dir.join("sample.json"));
    let later = match (written(&new), written(&baseline)) {
        (Some(new), Some(baseline)) => baseline >= new,
        _ => true,
    };
    Ok(later && bytes(&new)? == bytes(&baseline)?)
}

/// When the file was last written, if the system knows.
pub(super) fn written(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Whether something is at `path`.
pub(super) fn exists(path: &Path) -> Result<bool, BenchError> {
    path.try_exists().map_err(|source| BenchError::Read { path: path.to_owned(), source })
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, BenchError> {
    serde_json::from_slice(&bytes(path)?).map_err(|source| BenchError::Json { path: path.to_owned(), source })
}

/// Reads a whole file of limited size.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, BenchError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open_regular(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| BenchError::Read { path: path.to_owned(), source })?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(BenchError::TooLarge { path: path.to_owned(), limit: MAX_FILE });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(name: &str, text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(name), text).unwrap();
        dir
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = with("other", "");
        let pipe = dir.path().join("sample.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert!(matches!(bytes(&pipe), Err(BenchError::Read { .. })));
    }

    #[test]
    fn a_figure_is_a_total_by_its_iterations() {
        let dir = with("sample.json", r#"{"sampling_mode":"Linear","iters":[1.0,2.0,4.0],"times":[10.0,21.0,4e-9]}"#);
        assert_eq!(figures(dir.path(), Unit::Nanoseconds).unwrap(), [10.0, 10.5, 1e-9]);
        assert_eq!(figures(dir.path(), Unit::Bytes).unwrap(), [10.0, 10.5, 0.0]);
    }

    #[test]
    fn figures_that_were_made_distinct_are_equal_again() {
        for bytes in [1.0, 1234.0, 1e9, 1e12] {
            for step in [0.0, 1.0, 2.0, 3.0] {
                assert_eq!(whole_bytes(bytes * (1.0 + step * f64::EPSILON * 512.0)), bytes);
            }
        }
        assert_eq!(whole_bytes(1234.25), 1234.25, "the mean of several iterations is no whole number");
    }

    #[test]
    fn samples_that_make_no_sense_are_refused() {
        for (text, says) in [
            (r#"{"iters":[],"times":[]}"#, "0 counts of iterations and 0 totals"),
            (r#"{"iters":[1.0],"times":[1.0,2.0]}"#, "1 counts of iterations and 2 totals"),
            (r#"{"iters":[0.0],"times":[1.0]}"#, "sample 1: a total of 1 over 0 iterations"),
            (r#"{"iters":[1.0,1.0],"times":[1.0,-2.0]}"#, "sample 2: a total of -2 over 1 iterations"),
            (r#"{"iters":[1.0],"#, "is not in the format of criterion 0.5 or later: EOF while parsing"),
        ] {
            let dir = with("sample.json", text);
            let error = figures(dir.path(), Unit::Bytes).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("sample.json"), "{error}");
        }
        let missing = figures(Path::new("/nowhere"), Unit::Bytes).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read /nowhere/sample.json: "), "{missing}");
    }

    #[test]
    fn the_unit_stands_in_the_name_or_in_the_csv() {
        let none = tempfile::tempdir().unwrap();
        for (id, expected) in [
            ("open an entry/1 MiB", Unit::Nanoseconds),
            ("open an entry cpu_time/1 MiB", Unit::Nanoseconds),
            ("open an entry peak_rss_growth/1 MiB", Unit::Bytes),
            ("peak_heap/open", Unit::Bytes),
            ("peak_heaps/open", Unit::Nanoseconds),
        ] {
            assert_eq!(unit(none.path(), id).0, expected, "{id}");
        }
        let head = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n";
        for (row, expected) in [("\"a,b\",f,,,,880000.0,B,8", Unit::Bytes), ("g,f,,,,1.0,cycles,8", Unit::Count)] {
            let dir = with("raw.csv", &format!("{head}{row}\n"));
            assert_eq!(unit(dir.path(), "name").0, expected, "{row}");
        }
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "(\\{|\\}|\\[|\\]|\"iters\"|\"times\"|\"median\"|:|,|1e308|-1|0|null){0,20}") {
            for name in ["sample.json", "raw.csv", "benchmark.json"] {
                let dir = with(name, &text);
                let _ = (figures(dir.path(), Unit::Bytes).is_ok(), unit(dir.path(), ""), super::name(dir.path()).is_ok());
            }
        }
    }
}
