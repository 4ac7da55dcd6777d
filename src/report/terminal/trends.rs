//! The trends of an input's telemetry as a table: one line per series, with a small plot of its readings.

use plimsoll_diagnose::TelemetryReport;
use plimsoll_diagnose::telemetry::Metric;
use plimsoll_diagnose::trend::{Finding, Pattern, TrendVerdict};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, Column, fitted};
use plimsoll_memory::text::{clean, counted, styled};

/// Maximum number of series shown; JSON has them all.
const SHOWN: usize = 8;

/// Writes the most serious and then the largest series of `report`, in the order of the log, which is that of the phases.
pub(super) fn trends(report: &TelemetryReport, screen: &Screen) -> String {
    let mut findings: Vec<&Finding> = report.trends.findings.iter().collect();
    let rank = |finding: &&Finding| {
        (
            finding.verdict,
            finding.pattern == Pattern::Growing,
            finding.metric == Metric::Allocated,
            finding.statistics.last,
        )
    };
    findings.sort_by_key(|finding| std::cmp::Reverse(rank(finding)));
    if findings.is_empty() {
        return String::new();
    }
    let hidden = findings.len().saturating_sub(SHOWN) as u64 + report.omitted_findings.unwrap_or(0);
    findings.truncate(SHOWN);
    findings.sort_by_key(|finding| finding.evidence.first().copied());
    let rows: Vec<Vec<Cell>> = findings.into_iter().map(|finding| row(finding, screen)).collect();
    let columns = vec![
        Column::new("series", Align::Left, 0),
        Column::new("of", Align::Left, 4),
        Column::new("readings", Align::Left, 2),
        Column::new("first -> last", Align::Right, 1),
        Column::new("a step", Align::Right, 3),
        Column::new("reading", Align::Left, 0),
    ];
    let mut text = fitted(columns, &rows, screen);
    if hidden > 0 {
        let line = format!("and {} more: --json has them", counted(hidden, "series", "series"));
        text.push_str(&format!(" {}\n", styled(&line, screen.palette.dim)));
    }
    text.push('\n');
    text
}

fn row(finding: &Finding, screen: &Screen) -> Vec<Cell> {
    let Finding { verdict, statistics, pattern, .. } = finding;
    let palette = &screen.palette;
    let name = match clean(&finding.label) {
        label if label.is_empty() => finding.metric.title().to_owned(),
        label => format!("{label} · {}", finding.metric.title()),
    };
    let slope = (statistics.readings > 2).then(|| {
        let size = ByteSize::new(statistics.slope.abs() as u64);
        format!("{}{size}", if statistics.slope < 0.0 { "-" } else { "+" })
    });
    let (meaning, style) = match verdict {
        TrendVerdict::ReportOnly => (pattern.title().to_owned(), palette.dim),
        TrendVerdict::CacheNotLeak => (verdict.to_string(), palette.dim),
        _ => (verdict.to_string(), palette.bad),
    };
    vec![
        Cell::plain(name),
        Cell::plain(finding.worker.to_string()),
        Cell::plain(drawn(&finding.shape)),
        Cell::plain(format!("{} -> {}", statistics.first, statistics.last)),
        Cell::plain(slope.unwrap_or_default()),
        Cell::new(meaning, style),
    ]
}

/// `figures` as a line of blocks from their minimum to their maximum; flat if they hardly differ.
fn drawn(figures: &[ByteSize]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (Some(least), Some(most)) = (figures.iter().min(), figures.iter().max()) else { return String::new() };
    let (least, extent) = (least.bytes(), most.bytes() - least.bytes());
    if extent <= most.bytes() / 20 {
        return figures.iter().map(|_| BLOCKS[3]).collect();
    }
    let block = |figure: &ByteSize| {
        let part = (figure.bytes() - least) as f64 / extent as f64;
        BLOCKS[((part * 8.0) as usize).min(7)]
    };
    figures.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_drawn_from_least_to_most_and_flat_where_they_are() {
        let drawn = |gib: &[u64]| drawn(&gib.iter().map(|gib| ByteSize::gib(*gib)).collect::<Vec<_>>());
        assert_eq!(drawn(&[1, 2, 3, 4, 5, 6, 7, 8]), "▁▂▃▄▅▆▇█");
        assert_eq!(drawn(&[100, 101, 100]), "▄▄▄");
        assert_eq!(drawn(&[0, 0]), "▄▄");
        assert_eq!(drawn(&[]), "");
    }
}
