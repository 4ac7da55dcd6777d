//! The judgement of criterion's benchmarks as a terminal document.

use std::fmt::Write as _;

use super::style::{Palette, Screen};
use super::table::{Align, Cell, Column, fitted};
use super::text::{clean, cut, duration, labelled, number, styled};
use crate::bytes::ByteSize;
use crate::gate::bench::{BenchGate, BenchmarkVerdict};
use crate::gate::{Comparison, Interval, Method, Outcome, Unit};

/// The document of `gate`: a row a benchmark, then what there is to say of those that did not simply pass, and the verdict.
pub fn bench_gate(gate: &BenchGate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = labelled("folder", palette.heading, &gate.folder, 12, screen);
    text.push_str(&labelled("baseline", palette.heading, &gate.baseline, 12, screen));
    for method in methods(gate) {
        text.push_str(&labelled("interval", palette.heading, &method, 12, screen));
    }
    text.push('\n');
    if !gate.benchmarks.is_empty() {
        text.push_str(&table(gate, screen));
        text.push('\n');
    }
    let words = remarks(gate, screen);
    if !words.is_empty() {
        text.push_str(&words);
        text.push('\n');
    }
    let (word, style) = match gate.outcome {
        Outcome::Fail => ("FAILS", palette.bad),
        Outcome::Inconclusive => ("INCONCLUSIVE", palette.warn),
        Outcome::Pass | Outcome::Improved => ("HOLDS", palette.good),
    };
    text.push_str(&labelled(word, style, &format!("{} (exit {})", gate.message, gate.exit_code()), 7, screen));
    text
}

/// How intervals were found: each way once, with its confidence.
fn methods(gate: &BenchGate) -> Vec<String> {
    let mut methods: Vec<String> = Vec::new();
    for comparison in gate.benchmarks.iter().filter_map(|benchmark| benchmark.comparison.as_ref()) {
        if let (Some(method), Some(interval)) = (&comparison.method, comparison.interval) {
            let text = format!("{method}, {}", percent_of(interval.confidence));
            if !methods.contains(&text) {
                methods.push(text);
            }
        }
    }
    methods
}

fn percent_of(confidence: f64) -> String {
    format!("{} %", (confidence * 1e4).round() / 1e2)
}

fn table(gate: &BenchGate, screen: &Screen) -> String {
    let rows: Vec<Vec<Cell>> = gate.benchmarks.iter().map(|benchmark| row(benchmark, &screen.palette)).collect();
    let columns = [
        ("benchmark", Align::Left, 0),
        ("before", Align::Right, 3),
        ("now", Align::Right, 1),
        ("change", Align::Right, 0),
        ("interval", Align::Right, 2),
        ("allowed", Align::Right, 4),
        ("verdict", Align::Left, 0),
    ];
    let columns = columns.map(|(title, align, expendable)| Column::new(title, align, expendable)).to_vec();
    fitted(columns, &rows, screen)
}

fn row(benchmark: &BenchmarkVerdict, palette: &Palette) -> Vec<Cell> {
    let say = |amount| figure(amount, benchmark.unit);
    let name = Cell::plain(clean(&benchmark.id));
    let now = Cell::plain(say(benchmark.current.median));
    let Some(comparison) = &benchmark.comparison else {
        let none = || Cell::new("-", palette.dim);
        return vec![name, none(), now, none(), none(), none(), Cell::new("– not compared", palette.dim)];
    };
    let (mark, style) = match comparison.outcome {
        Outcome::Pass => ("✓", palette.good),
        Outcome::Improved => ("✓", palette.good),
        Outcome::Fail => ("✗", palette.bad),
        Outcome::Inconclusive => ("?", palette.warn),
    };
    let before = benchmark.current.median - comparison.shift.unwrap_or(0.0);
    let before = comparison.baseline.map_or(before, |baseline| baseline.median);
    vec![
        name,
        Cell::plain(say(before)),
        now,
        Cell::new(change(comparison, before), style),
        Cell::new(
            comparison.interval.map_or("-".to_owned(), |interval| range(interval, before, benchmark.unit)),
            palette.dim,
        ),
        Cell::new(comparison.allowance.to_string(), palette.dim),
        Cell::new(format!("{mark} {}", comparison.outcome), style),
    ]
}

fn figure(amount: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => ByteSize::new(amount.round() as u64).to_string(),
        Unit::Nanoseconds => duration(amount),
        Unit::Other => number(amount),
    }
}

/// The shift in per cent, or as an amount where there was nothing before.
fn change(comparison: &Comparison, before: f64) -> String {
    match comparison.shift {
        None => "-".to_owned(),
        Some(0.0) => "=".to_owned(),
        Some(shift) => moved(shift, before, comparison.unit),
    }
}

fn range(interval: Interval, before: f64, unit: Unit) -> String {
    if interval.low == 0.0 && interval.high == 0.0 {
        return "=".to_owned();
    }
    let [low, high] = [interval.low, interval.high].map(|end| moved(end, before, unit));
    format!("{} to {high}", low.strip_suffix(" %").unwrap_or(&low))
}

fn moved(shift: f64, before: f64, unit: Unit) -> String {
    if before > 0.0 {
        return format!("{:+.1} %", shift / before * 100.0);
    }
    format!("{}{}", if shift < 0.0 { "-" } else { "+" }, figure(shift.abs(), unit))
}

/// A line for each benchmark that failed, improved, cannot be told or was not compared, and for what there is to know.
fn remarks(gate: &BenchGate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = String::new();
    for benchmark in &gate.benchmarks {
        let (style, message) = match &benchmark.comparison {
            Some(comparison) => {
                let style = match comparison.outcome {
                    Outcome::Fail => palette.bad,
                    Outcome::Inconclusive => palette.warn,
                    Outcome::Improved => palette.good,
                    Outcome::Pass => palette.dim,
                };
                let told = comparison.outcome != Outcome::Pass;
                let dependent = told.then(|| dependence(comparison)).flatten();
                let parts = [told.then(|| comparison.message.clone()), dependent, benchmark.note.clone()];
                (style, parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
            None => (palette.dim, benchmark.note.clone().unwrap_or_default()),
        };
        if !message.is_empty() {
            let _ = writeln!(text, " {}", styled(&cut(&clean(&benchmark.id), screen.width() - 1), style));
            text.push_str(&labelled("  ", palette.dim, &message, 3, screen));
        }
    }
    text
}

/// Said where figures count as fewer than they are.
fn dependence(comparison: &Comparison) -> Option<String> {
    let Some(Method::Normal { baseline_effective, current_effective }) = comparison.method else { return None };
    let fewer = |summary: Option<crate::gate::Summary>, effective: f64| {
        summary.filter(|summary| effective < summary.count as f64).map(|summary| (summary.count, effective))
    };
    let told = [
        ("the baseline", fewer(comparison.baseline, baseline_effective)),
        ("now", fewer(comparison.current, current_effective)),
    ];
    let words: Vec<String> = told
        .into_iter()
        .filter_map(|(side, found)| found.map(|(count, effective)| format!("{count} of {side} as {effective:.0}")))
        .collect();
    (!words.is_empty()).then(|| format!("figures depend on the one before and count as fewer: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::bench::sample;
    use crate::record::sample::assert_snapshot;

    #[test]
    fn benchmarks_of_every_outcome() {
        for (name, width) in [("terminal_bench_gate", 120), ("terminal_bench_gate_narrow", 72)] {
            assert_snapshot(name, &bench_gate(&sample::gate(), &Screen::new(width, Palette::plain())));
        }
    }

    #[test]
    fn a_folder_without_benchmarks() {
        let text = bench_gate(&sample::empty(), &Screen::new(100, Palette::plain()));
        assert!(
            text.contains("INCONCLUSIVE nothing was compared: there is no benchmark in target/criterion"),
            "{text}"
        );
    }
}
