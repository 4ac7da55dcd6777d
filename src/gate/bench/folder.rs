//! [`judge_folder`]: judges every benchmark of criterion's folder against its baseline.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::BenchError;
use super::files::{self, change, exists, figures, is_copy, unit, written};
use super::report::{BenchGate, BenchmarkVerdict, CriterionChange};
use crate::gate::judge::conclude;
use crate::gate::{Comparison, Direction, Interval, Limits, Method, Summary, Unit, judge};

/// The default baseline: criterion's name for the previous run.
pub const DEFAULT_BASELINE: &str = "base";

/// Package, benchmark, group, function, value, and a few spare levels.
pub(super) const MAX_DEPTH: usize = 8;
/// A folder with more subfolders is not that of benchmarks.
pub(super) const MAX_FOLDERS: usize = 100_000;

/// Judges every benchmark of criterion's folder `dir` against `baseline`, each by the limit for its name, with
/// intervals of this `confidence`.
///
/// # Errors
/// [`BenchError`] if a file cannot be read or is not criterion's.
pub fn judge_folder(dir: &Path, baseline: &str, limits: &Limits, confidence: f64) -> Result<BenchGate, BenchError> {
    let mut found = Found::default();
    find(dir, 0, &mut found)?;
    let mut verdicts = Vec::new();
    for benchmark in &found.benchmarks {
        verdicts.push(judge_benchmark(benchmark, baseline, limits, confidence)?);
    }
    verdicts.sort_by(|a, b| a.id.cmp(&b.id));
    let hint = hint(dir, baseline, &found);
    Ok(BenchGate::new(dir.display().to_string(), baseline, verdicts, &hint))
}

/// What to do if nothing can be compared.
fn hint(dir: &Path, baseline: &str, found: &Found) -> String {
    if found.benchmarks.is_empty() {
        return format!("there is no benchmark in {}: run `cargo bench` first", dir.display());
    }
    let others: Vec<String> = found.baselines.iter().map(|name| format!("`{name}`")).collect();
    let others = match &others[..] {
        [] => String::new(),
        names => format!("; there is {}", names.join(", ")),
    };
    format!(
        "there is no other run in the baseline `{baseline}`{others}. Save one with `cargo bench -- --save-baseline NAME`, \
         and name it with --baseline"
    )
}

#[derive(Default)]
struct Found {
    /// The folders that contain a `new`.
    benchmarks: Vec<PathBuf>,
    /// The names of the baselines beside them.
    baselines: BTreeSet<String>,
    folders: usize,
}

fn find(dir: &Path, depth: usize, found: &mut Found) -> Result<(), BenchError> {
    let too_many = |limit, what| BenchError::TooMany { path: dir.to_owned(), limit, what };
    if depth > MAX_DEPTH {
        return Err(too_many(MAX_DEPTH, "levels of folders"));
    }
    let failed = |source| BenchError::Read { path: dir.to_owned(), source };
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A link could form a cycle.
        if !entry.file_type().map_err(failed)?.is_dir() {
            continue;
        }
        found.folders += 1;
        if found.folders > MAX_FOLDERS {
            return Err(too_many(MAX_FOLDERS, "folders"));
        }
        let path = entry.path();
        let name = entry.file_name();
        if !exists(&path.join("sample.json"))? {
            find(&path, depth + 1, found)?;
        } else if name == "new" {
            found.benchmarks.push(dir.to_owned());
        } else {
            found.baselines.insert(name.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

fn judge_benchmark(
    dir: &Path,
    baseline: &str,
    limits: &Limits,
    confidence: f64,
) -> Result<BenchmarkVerdict, BenchError> {
    let (new, before) = (dir.join("new"), dir.join(baseline));
    let id = files::name(&new)?.full_id;
    let (unit, metric) = unit(&new, &id);
    let figures_now = figures(&new, unit)?;
    let current = Summary::of(&figures_now).expect("figures that were read are amounts");
    let allowance = limits.of(&id);
    let mut verdict = BenchmarkVerdict { id, metric, unit, current, comparison: None, criterion: None, note: None };
    if !exists(&before.join("sample.json"))? {
        verdict.note = Some(format!("no such benchmark in the baseline `{baseline}`"));
    } else if !is_copy(&new, &before)? {
        let figures_before = figures(&before, unit)?;
        let comparison = judge(&figures_before, &figures_now, unit, Direction::Lower, allowance, confidence);
        // Criterion keeps only its latest comparison, which may be against another baseline.
        verdict.criterion = change(dir)?.filter(|change| is_of(change, &comparison));
        verdict.note = verdict.criterion.as_ref().and_then(|change| disagreement(change, &comparison));
        verdict.comparison = Some(comparison);
    } else if let Some(change) = change_of_this_run(dir)? {
        verdict.criterion = Some(change);
        verdict.comparison = Some(by_criterion(current, &change, unit, allowance));
    } else {
        verdict.note = Some(format!("the baseline `{baseline}` is a copy of this run"));
    }
    Ok(verdict)
}

/// Criterion's comparison of this run with the previous one; `None` if the stored one is older than the samples.
fn change_of_this_run(dir: &Path) -> Result<Option<CriterionChange>, BenchError> {
    let [sampled, compared] = ["new/sample.json", "change/estimates.json"].map(|file| written(&dir.join(file)));
    match (sampled, compared) {
        (Some(sampled), Some(compared)) if compared >= sampled => change(dir),
        _ => Ok(None),
    }
}

/// Judges criterion's comparison by the gate's rules.
fn by_criterion(
    current: Summary,
    change: &CriterionChange,
    unit: Unit,
    allowance: crate::gate::Allowance,
) -> Comparison {
    let before = current.median / (1.0 + change.percent / 100.0);
    let amount = |percent: f64| before * percent / 100.0;
    let interval = Interval { low: amount(change.low), high: amount(change.high), confidence: change.confidence };
    let found = (current.median - before, Some(interval), Method::CriterionBootstrap);
    conclude(before, (None, Some(current)), found, (unit, Direction::Lower), allowance, change.confidence)
}

/// Whether criterion's comparison used the same two sets of figures, judging by the ratio of their medians.
fn is_of(change: &CriterionChange, comparison: &Comparison) -> bool {
    let medians = comparison.baseline.zip(comparison.current);
    medians.is_some_and(|(before, now)| {
        let percent = (now.median / before.median - 1.0) * 100.0;
        (percent - change.percent).abs() <= 1e-6 * (1.0 + percent.abs())
    })
}

/// A remark if criterion's interval contradicts the gate's.
fn disagreement(change: &CriterionChange, comparison: &Comparison) -> Option<String> {
    let own = comparison.interval?;
    let grew = |low: f64| low > 0.0;
    let fell = |high: f64| high < 0.0;
    let (ours, theirs) = ((grew(own.low), fell(own.high)), (grew(change.low), fell(change.high)));
    (ours != theirs).then(|| {
        format!(
            "criterion's bootstrap of the median says {:+.1} % to {:+.1} % ({} %)",
            change.low,
            change.high,
            (change.confidence * 1e4).round() / 1e2
        )
    })
}
