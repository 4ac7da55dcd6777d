//! Judges the summaries of gungraun (formerly iai-callgrind).
//!
//! `cargo bench -- --save-summary` writes `target/gungraun/PACKAGE/BENCH/GROUP/FUNCTION.ID/summary.json`, and
//! `--output-format=json` prints the same documents, one a line. Each has what a tool of Valgrind counted, beside what
//! it counted before. One run a side decides, as the counts are exact.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::compare::counted;
use super::error::BenchError;
use super::files;
use super::folder::{DEFAULT_BASELINE, MAX_DEPTH, MAX_FOLDERS};
use super::report::BenchmarkVerdict;
use crate::gate::{Direction, Limits, Summary, Unit};

/// What gungraun calls the run before, which it keeps in files of this extension.
const RUN_BEFORE: &str = "old";

/// The figures that are costs by themselves. Others, such as the hits of one cache level, are judged if a limit names
/// them: fewer hits of one level are more of another.
const COSTS: [&str; 9] = [
    "Ir",
    "EstimatedCycles",
    "TotalBytes",
    "TotalBlocks",
    "AtTGmaxBytes",
    "AtTEndBytes",
    "TotalUnits",
    "TotalEvents",
    "Errors",
];
/// Times, which are no counts.
const TIMES: [&str; 2] = ["SysTime", "SysCpuTime"];

/// The counts of one benchmark.
#[derive(Debug)]
pub(super) struct Counts {
    id: String,
    /// What gungraun compared with: a baseline by name, or the run before.
    baseline: Option<String>,
    figures: Vec<Figure>,
}

#[derive(Debug, PartialEq)]
struct Figure {
    name: String,
    new: f64,
    old: Option<f64>,
}

#[derive(Deserialize)]
struct Head {
    version: String,
}

/// The fields of versions 6 and 7 that are used.
#[derive(Deserialize)]
struct Document {
    baselines: (Option<String>, Option<String>),
    module_path: String,
    id: Option<String>,
    profiles: Vec<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    tool: String,
    #[serde(alias = "summaries")]
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    #[serde(alias = "summary")]
    metrics: Value,
}

/// Whether `text` may be a summary.
pub(super) fn is_summary(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{")
}

/// Every `summary.json` below `dir`, in order.
pub(super) fn summaries(dir: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let (mut found, mut folders, mut open) = (Vec::new(), 0, vec![(dir.to_owned(), 0)]);
    while let Some((dir, depth)) = open.pop() {
        let too_many = |limit, what| BenchError::TooMany { path: dir.clone(), limit, what };
        let failed = |source| BenchError::Read { path: dir.clone(), source };
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A link could form a cycle.
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders += 1;
                if depth >= MAX_DEPTH {
                    return Err(too_many(MAX_DEPTH, "levels of folders"));
                }
                if folders > MAX_FOLDERS {
                    return Err(too_many(MAX_FOLDERS, "folders"));
                }
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() && entry.file_name() == "summary.json" {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads the documents in the file `path`, whose contents are `text`.
pub(super) fn read(path: &Path, text: &[u8]) -> Result<Vec<Counts>, BenchError> {
    let wrong = |source| BenchError::Summary { path: path.to_owned(), source };
    let documents = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    documents.map(|document| counts(path, document.map_err(wrong)?)).collect()
}

/// Reads every file of `paths`.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<Counts>, BenchError> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(read(path, &files::bytes(path)?)?);
    }
    Ok(all)
}

fn counts(path: &Path, document: Value) -> Result<Counts, BenchError> {
    let wrong = |source| BenchError::Summary { path: path.to_owned(), source };
    let Head { version } = Head::deserialize(&document).map_err(wrong)?;
    if version != "6" && version != "7" {
        return Err(BenchError::Version { path: path.to_owned(), version });
    }
    let Document { baselines, module_path, id, profiles } = serde_json::from_value(document).map_err(wrong)?;
    let id = id.map_or_else(|| module_path.clone(), |id| format!("{module_path} {id}"));
    let mut figures = Vec::new();
    for Profile { tool, data } in profiles {
        // Version 6 wraps the figures in an object with the kind of the tool as its key.
        let metrics = match &data.total.metrics {
            Value::Object(kinds) if version == "6" => kinds.values().next(),
            metrics => Some(metrics),
        };
        let Some(Value::Object(metrics)) = metrics else { continue };
        for (name, result) in metrics {
            let [new, old] = values(result);
            // A figure that only the baseline has is not one of this run. Perf's are samples, and have no plain values.
            let Some(new) = new else { continue };
            let figure = if matches!(&*tool, "Callgrind" | "DHAT") {
                name.clone()
            } else {
                format!("{}.{name}", tool.to_lowercase())
            };
            for value in [Some(new), old].into_iter().flatten() {
                if Summary::of(&[value]).is_none() {
                    let what = format!("{figure} of {id} is {value}");
                    return Err(BenchError::Samples { path: path.to_owned(), what });
                }
            }
            figures.push(Figure { name: figure, new, old });
        }
    }
    Ok(Counts { id, baseline: baselines.1, figures })
}

/// The values of now and before. Version 7 has `{"new": 1, "old": 2}`, version 6 `{"Both": [1, 2]}`, `{"Left": 1}` or
/// `{"Right": 2}`.
fn values(result: &Value) -> [Option<f64>; 2] {
    let all = result.get("values").or_else(|| result.get("metrics"));
    let at = |pointers: [&str; 3]| {
        pointers.iter().find_map(|pointer| all.and_then(|all| all.pointer(pointer))).and_then(number)
    };
    [at(["/new", "/Left", "/Both/0"]), at(["/old", "/Right", "/Both/1"])]
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.get("Int").or_else(|| value.get("Float")).and_then(Value::as_f64))
}

/// The baseline that all benchmarks were compared with by gungraun; `wanted` if they differ.
pub(super) fn baseline_of(all: &[Counts], wanted: &str) -> String {
    let mut names = all.iter().map(|counts| counts.baseline.as_deref().unwrap_or(RUN_BEFORE));
    match names.next() {
        Some(first) if wanted == DEFAULT_BASELINE && names.all(|name| name == first) => first.to_owned(),
        _ => wanted.to_owned(),
    }
}

/// Whether gungraun compared a benchmark with this baseline.
pub(super) fn is_named(all: &[Counts], baseline: &str) -> bool {
    all.iter().any(|counts| counts.baseline.as_deref().unwrap_or(RUN_BEFORE) == baseline)
}

/// Judges every benchmark of `now`: against `before` if these are given, else against what gungraun compared with, if
/// that is the `baseline`.
pub(super) fn verdicts(
    now: &[Counts],
    before: Option<&[Counts]>,
    baseline: &str,
    limits: &Limits,
    confidence: f64,
) -> Vec<BenchmarkVerdict> {
    let mut verdicts = Vec::new();
    for counts in now {
        for figure in &counts.figures {
            let id = format!("{} {}", counts.id, figure.name);
            let plain = figure.name.rsplit('.').next().unwrap_or_default();
            if !TIMES.contains(&plain) && (COSTS.contains(&plain) || limits.name(&id)) {
                let old = match before {
                    Some(before) => figure_of(before, &counts.id, &figure.name)
                        .ok_or_else(|| "no such figure in the baseline".to_owned()),
                    None => compared(counts, figure, baseline),
                };
                verdicts.push(verdict(id, figure, old, limits, confidence));
            }
        }
    }
    verdicts
}

fn figure_of(all: &[Counts], id: &str, name: &str) -> Option<f64> {
    let of = all.iter().find(|counts| counts.id == id)?;
    of.figures.iter().find(|figure| figure.name == name).map(|figure| figure.new)
}

/// The earlier value in a summary, or why there is none.
fn compared(counts: &Counts, figure: &Figure, baseline: &str) -> Result<f64, String> {
    let with = counts.baseline.as_deref();
    if baseline != DEFAULT_BASELINE && baseline != with.unwrap_or(RUN_BEFORE) {
        let with = with.map_or_else(|| "the run before".to_owned(), |name| format!("`{name}`"));
        return Err(format!(
            "gungraun compared with {with}: run `cargo bench -- --save-summary --baseline={baseline}`"
        ));
    }
    figure.old.ok_or_else(|| "gungraun had nothing to compare with".to_owned())
}

fn verdict(
    id: String,
    figure: &Figure,
    old: Result<f64, String>,
    limits: &Limits,
    confidence: f64,
) -> BenchmarkVerdict {
    let unit = if figure.name.ends_with("Bytes") { Unit::Bytes } else { Unit::Count };
    let direction = if figure.name.ends_with("HitRate") { Direction::Higher } else { Direction::Lower };
    let allowance = limits.of(&id);
    let (comparison, note) = match old {
        Ok(old) => (Some(counted([old, figure.new], unit, direction, allowance, confidence)), None),
        Err(why) => (None, Some(why)),
    };
    let current = Summary::of(&[figure.new]).expect("counts that were read are amounts");
    BenchmarkVerdict { id, metric: Some(figure.name.clone()), unit, current, comparison, criterion: None, note }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::{Allowance, DEFAULT_CONFIDENCE, Outcome};
    use plimsoll_memory::bytes::ByteSize;

    const AFTER: &str = include_str!("../../../tests/data/benches/gungraun-after.json");

    fn data(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/benches").join(path)
    }

    fn all(folder: &str) -> Vec<Counts> {
        read_all(&summaries(&data(folder)).unwrap()).unwrap()
    }

    fn judged(now: &[Counts], before: Option<&[Counts]>, baseline: &str, limits: &[&str]) -> Vec<BenchmarkVerdict> {
        let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let default = Allowance::new(5.0, ByteSize::new(64 << 10)).unwrap();
        verdicts(now, before, baseline, &Limits::new(limits, default), DEFAULT_CONFIDENCE)
    }

    fn words(verdicts: &[BenchmarkVerdict]) -> Vec<String> {
        let of = |one: &BenchmarkVerdict| match &one.comparison {
            Some(comparison) => format!("{}: {:?}, {}", one.id, comparison.outcome, comparison.message),
            None => format!("{}: {}", one.id, one.note.as_deref().unwrap_or_default()),
        };
        verdicts.iter().map(of).collect()
    }

    #[test]
    fn both_versions_are_judged_by_what_they_compare_with() {
        let heap = [
            "heap::tables::table large EstimatedCycles: Fail, grew by",
            "heap::tables::table large Ir: Fail, grew by 175.9 %, more than 5% | 64 KiB",
            "heap::tables::table large AtTEndBytes: Pass, unchanged: the figures do not differ",
            "heap::tables::table large AtTGmaxBytes: Fail, grew by 100.0 %, more than 5% | 64 KiB",
            "heap::tables::table large TotalBlocks: Fail, grew by 7.7 %, more than 5% | 64 KiB",
            "heap::tables::table large TotalBytes: Fail, grew by 100.0 %, more than 5% | 64 KiB",
        ];
        for folder in ["gungraun/fixture/heap", "iai"] {
            let found = words(&judged(&all(folder), None, DEFAULT_BASELINE, &[]));
            assert_eq!(found.len(), heap.len(), "{found:#?}");
            for part in heap {
                assert!(found.iter().any(|word| word.starts_with(part)), "{folder}: {part}: {found:#?}");
            }
        }
        assert_eq!(baseline_of(&all("gungraun"), DEFAULT_BASELINE), "old");
    }

    #[test]
    fn other_figures_are_judged_if_a_limit_names_them() {
        let now = all("gungraun/fixture/instructions");
        assert_eq!(judged(&now, None, DEFAULT_BASELINE, &["1%"]).len(), 2);
        let found = judged(&now, None, DEFAULT_BASELINE, &["*L1HitRate=0%", "*RamHits=0%"]);
        let of = |name: &str| {
            let id = format!("instructions::tables::table small {name}");
            found.iter().find(|one| one.id == id).unwrap().comparison.as_ref().unwrap()
        };
        assert_eq!((found.len(), of("RamHits").outcome), (4, Outcome::Fail));
        // More hits are better.
        assert_eq!(of("L1HitRate").outcome == Outcome::Fail, of("L1HitRate").shift.unwrap() < 0.0);
    }

    #[test]
    fn a_file_of_an_earlier_run_is_a_baseline() {
        let read = |name: &str| read(&data(name), &fs::read(data(name)).unwrap()).unwrap();
        let (before, after) = (read("gungraun-before.json"), read("gungraun-after.json"));
        assert!(
            judged(&before, Some(&before), "x", &["0%"])
                .iter()
                .all(|one| { one.comparison.as_ref().is_some_and(|comparison| comparison.outcome == Outcome::Pass) })
        );
        let found = words(&judged(&after, Some(&before), "x", &[]));
        assert!(
            found.iter().any(|word| word.starts_with("instructions::tables::table small Ir: Fail, grew by 40.4 %"))
        );
        let missing = words(&judged(&after, Some(&before[..1]), "x", &[]));
        assert!(missing.contains(&"instructions::tables::table small Ir: no such figure in the baseline".to_owned()));
    }

    #[test]
    fn another_baseline_than_the_one_that_was_compared_with_is_none() {
        let found = words(&judged(&all("iai"), None, "main", &[]));
        assert!(
            found[0].ends_with("compared with the run before: run `cargo bench -- --save-summary --baseline=main`"),
            "{found:#?}"
        );
        let first = AFTER.lines().next().unwrap();
        let read = |text: String| read(Path::new("x"), text.as_bytes()).unwrap();
        let named = read(first.replace(r#""baselines":[null,null]"#, r#""baselines":[null,"main"]"#));
        assert_eq!(baseline_of(&named, DEFAULT_BASELINE), "main");
        assert!(judged(&named, None, "main", &[]).iter().all(|one| one.comparison.is_some()));
        let alone = read(
            r#"{"version":"7","baselines":[null,null],"module_path":"a","profiles":[{"tool":"Memcheck",
            "data":{"total":{"metrics":{"Errors":{"values":{"new":0}}}}}}]}"#
                .to_owned(),
        );
        assert_eq!(
            words(&judged(&alone, None, DEFAULT_BASELINE, &[])),
            ["a memcheck.Errors: gungraun had nothing to compare with"]
        );
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        for (text, says) in [
            ("{}", "x is not a summary of gungraun: missing field `version`"),
            (r#"{"version":"7"}"#, "missing field `baselines`"),
            (r#"{"version":"5"}"#, "x is a summary of version `5`; version 6 (iai-callgrind 0.16) or 7"),
            ("{", "EOF while parsing"),
            (
                r#"{"version":"7","baselines":[null,null],"module_path":"a","profiles":[{"tool":"DHAT",
                "data":{"total":{"metrics":{"TotalBytes":{"values":{"new":-1}}}}}}]}"#,
                "TotalBytes of a is -1",
            ),
        ] {
            let error = read(Path::new("x"), text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_changed_summary_panics(at in 0usize..20_000, with in "[\\[\\]{}\",:0-9a-z-]{0,3}") {
            let at = at.min(AFTER.len());
            let text = [&AFTER.as_bytes()[..at], with.as_bytes(), &AFTER.as_bytes()[(at + 2).min(AFTER.len())..]];
            if let Ok(now) = read(Path::new("x"), &text.concat()) {
                let _ = judged(&now, None, DEFAULT_BASELINE, &["*=0%"]);
            }
        }
    }
}
