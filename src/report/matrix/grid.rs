//! The contents of the cells, for every output format.

use crate::gate::Unit;
use crate::matrix::{Change, Expect, Figure, Matrix, Row};
use crate::report::terminal::duration;
use plimsoll_diagnose::trend::Spread;
use plimsoll_memory::bytes::ByteSize;

/// The figures with a column: those that at least one row has. Step time replaces the process time, and anonymous
/// memory appears only if the gate judges it.
pub(crate) fn figures(matrix: &Matrix) -> Vec<Figure> {
    let has = |figure: &Figure| matrix.rows.iter().any(|row| row.figures.contains_key(figure));
    let wanted = |figure: &Figure| match figure {
        Figure::WallTime => !has(&Figure::StepTime),
        Figure::PeakAnon => matrix.gate.peak_anon.is_some(),
        _ => true,
    };
    Figure::ALL.into_iter().filter(|figure| has(figure) && wanted(figure)).collect()
}

/// A figure: `95.0 s`, `8.90 GiB`.
pub(crate) fn value(figure: Figure, amount: u64) -> String {
    /// The range in which steps are shown in seconds, so that minutes stay comparable.
    const SECONDS: std::ops::Range<u64> = 60_000_000_000..1_000_000_000_000;
    match figure.unit() {
        Unit::Nanoseconds if SECONDS.contains(&amount) => format!("{:.1} s", amount as f64 / 1e9),
        Unit::Nanoseconds => duration(amount as f64),
        _ => ByteSize::new(amount).to_string(),
    }
}

/// The change against the baseline: `+33.7 %`, `×17.8`, `=`; empty without one.
pub(crate) fn change(change: &Change) -> String {
    match change.share {
        None => String::new(),
        Some(0.0) => "=".to_owned(),
        Some(share) if share >= 2.0 => format!("×{:.1}", share + 1.0),
        Some(share) => format!("{:+.1} %", share * 100.0),
    }
}

/// Reserved and allocated memory of the ranks, if they differ.
pub(crate) fn over_ranks(row: &Row) -> Option<String> {
    let differs = |spread: &Spread| spread.lowest != spread.highest;
    let spread = row.reserved_spread.filter(differs).or(row.allocated_spread.filter(differs))?;
    let (Spread { lowest, lowest_worker, highest, highest_worker, .. }, what) =
        (spread, if row.reserved_spread.is_some_and(|spread| differs(&spread)) { "reserved" } else { "allocated" });
    Some(format!("{what} {lowest} ({lowest_worker}) to {highest} ({highest_worker})"))
}

/// The gate's verdict on a row: a mark with words, and whether it is as expected; `None` without a gate.
pub(crate) fn verdict_of_gate(row: &Row) -> Option<(&'static str, Option<bool>)> {
    Some(match (row.expect, row.passes) {
        (Expect::Any, None) => return None,
        (_, None) => ("? not measured", None),
        (Expect::Fail, Some(true)) => ("✗ passes", Some(false)),
        (Expect::Fail, Some(false)) => ("✓ fails, as known", Some(true)),
        (Expect::Any, Some(true)) => ("passes", None),
        (Expect::Any, Some(false)) => ("fails", None),
        (Expect::Pass, Some(true)) => ("✓ passes", Some(true)),
        (Expect::Pass, Some(false)) => ("✗ fails", Some(false)),
    })
}

/// The titles of the table's columns.
pub(super) fn titles(matrix: &Matrix) -> Vec<&'static str> {
    let figures = figures(matrix).into_iter().map(Figure::title);
    let gate = (!matrix.gate.is_empty()).then_some("gate");
    ["configuration"].into_iter().chain(figures).chain(["runs"]).chain(gate).chain(["reading"]).collect()
}

/// The cells of one row.
pub(super) fn cells(matrix: &Matrix, row: &Row) -> Vec<String> {
    let figure = |figure: Figure| {
        let Some(found) = row.figures.get(&figure) else { return "-".to_owned() };
        let change = change(found);
        let value = value(figure, found.value);
        if change.is_empty() { value } else { format!("{value} ({change})") }
    };
    let gate = (!matrix.gate.is_empty()).then(|| verdict_of_gate(row).map_or("", |(words, _)| words).to_owned());
    let reading = match over_ranks(row) {
        Some(spread) => format!("{}: {spread}", row.reading),
        None => row.reading.clone(),
    };
    let figures = figures(matrix).into_iter().map(figure);
    [row.name.clone()].into_iter().chain(figures).chain([runs(row)]).chain(gate).chain([reading]).collect()
}

fn runs(row: &Row) -> String {
    if row.failed == 0 { row.runs.to_string() } else { format!("{}, {} failed", row.runs, row.failed) }
}

/// The gate in one line; `None` without a gate.
pub(super) fn gate(matrix: &Matrix) -> Option<String> {
    let of = |figure: Figure| Some(format!("{} {}", figure.title(), matrix.gate.allowance(figure)?));
    // Both times share one allowance.
    let parts: Vec<String> =
        Figure::ALL.into_iter().filter(|figure| *figure != Figure::WallTime).filter_map(of).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
