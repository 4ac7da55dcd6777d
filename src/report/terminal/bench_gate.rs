//! The judgement of criterion benchmarks on the terminal.

use std::fmt::Write as _;

use super::judged::{columns, outcome_mark, outcome_word};
use crate::gate::Outcome;
use crate::gate::bench::{BenchGate, BenchmarkVerdict};
use crate::report::figures::{amount, change, dependence, methods, range};
use plimsoll_memory::text::{Cell, fitted};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, cut, labelled, styled};

/// Writes the judgement: one row per benchmark, remarks on those that did not simply pass, and the verdict.
pub fn bench_gate(gate: &BenchGate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = labelled("folder", palette.heading, &gate.folder, 12, screen);
    text.push_str(&labelled("baseline", palette.heading, &gate.baseline, 12, screen));
    for method in methods(gate.benchmarks.iter().filter_map(|benchmark| benchmark.comparison.as_ref())) {
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
    let (word, style) = outcome_word(gate.outcome, palette);
    text.push_str(&labelled(word, style, &format!("{} (exit {})", gate.message, gate.exit_code()), 7, screen));
    text
}

fn table(gate: &BenchGate, screen: &Screen) -> String {
    let rows: Vec<Vec<Cell>> = gate.benchmarks.iter().map(|benchmark| row(benchmark, &screen.palette)).collect();
    fitted(columns("benchmark"), &rows, screen)
}

fn row(benchmark: &BenchmarkVerdict, palette: &Palette) -> Vec<Cell> {
    let say = |figure| amount(figure, benchmark.unit);
    let name = Cell::plain(clean(&benchmark.id));
    let now = Cell::plain(say(benchmark.current.median));
    let Some(comparison) = &benchmark.comparison else {
        let none = || Cell::new("-", palette.dim);
        return vec![name, none(), now, none(), none(), none(), Cell::new("– not compared", palette.dim)];
    };
    let (mark, style) = outcome_mark(comparison.outcome, palette);
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

/// One line for each benchmark that failed, improved, is undecided or was not compared, and for each remark.
fn remarks(gate: &BenchGate, screen: &Screen) -> String {
    let palette = &screen.palette;
    let mut text = String::new();
    for benchmark in &gate.benchmarks {
        let (style, message) = match &benchmark.comparison {
            Some(comparison) => {
                let (_, style) = outcome_mark(comparison.outcome, palette);
                let explained = comparison.outcome != Outcome::Pass;
                let dependent = explained.then(|| dependence(comparison)).flatten();
                let parts = [explained.then(|| comparison.message.clone()), dependent, benchmark.note.clone()];
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
