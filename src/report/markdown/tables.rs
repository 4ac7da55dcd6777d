//! The tables of the Markdown document.

use std::fmt::Write;

use super::escape::{code, text};
use super::sign;
use crate::record::{Differences, Record, VerdictStatus};
use crate::report::outcome::{Finding, Outcome, worst_findings};
use crate::report::speedup::{between, ratio, sentence};
use crate::report::summary::{source_mark, source_words};
use crate::report::terminal::{duration, percent};
use plimsoll_memory::meter::{Metric, PhaseReadings, Reading, worst_reading};

/// Maximum number of rows in a table.
pub(super) const ROWS: usize = 40;
/// Explanation of the marks beside figures.
pub(super) const MARKS: &str = "\\~ sampled, ≥ at least, no mark: the kernel's own counter\n\n";
/// Maximum number of processes listed.
const PROCESSES: usize = 8;

pub(super) fn row(out: &mut String, cells: &[String]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

/// Writes the header of a table. The first `words` columns hold text, the others figures.
pub(super) fn titles(out: &mut String, titles: &[&str], words: usize) {
    row(out, &titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>());
    let rules: Vec<_> = (0..titles.len()).map(|at| if at < words { "---" } else { "--:" }.to_owned()).collect();
    row(out, &rules);
}

/// Ends a table or list of `count` rows, and says how many rows are omitted and where to find them.
pub(super) fn more(out: &mut String, count: usize, place: &str) {
    if let Some(more) = count.checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(out, "\nand {more} more{place}");
    }
    out.push('\n');
}

pub(super) const fn mark(status: VerdictStatus) -> &'static str {
    match status {
        VerdictStatus::Pass => "✅",
        VerdictStatus::Fail => "❌",
        VerdictStatus::NotMeasurable | VerdictStatus::Inconclusive => "⚠️",
    }
}

pub(super) fn figure(reading: &Reading) -> String {
    text(&format!("{}{}", reading.bytes, source_mark(reading.source)))
}

/// Writes one row per ceiling.
pub(super) fn ceilings(out: &mut String, findings: &[Finding<'_>]) {
    let (findings, omitted) =
        worst_findings(findings.iter().filter(|found| found.ceiling.is_some()).cloned().collect(), ROWS);
    let ceilings: Vec<_> = findings.iter().filter_map(|found| Some((found, found.ceiling?))).collect();
    if ceilings.is_empty() {
        return;
    }
    titles(out, &["", "ceiling", "phase", "source", "limit", "reading", "margin"], 4);
    for (found, verdict) in &ceilings {
        let reading = verdict.reading.as_ref();
        let margin = match (verdict.by, reading) {
            (Some(by), _) => format!("**{by} {}**", verdict.metric.past()),
            (None, Some(reading)) => {
                let spare = reading.bytes.bytes().abs_diff(verdict.limit.bytes());
                format!("{} to spare", plimsoll_memory::ByteSize::new(spare))
            }
            (None, None) => String::new(),
        };
        row(
            out,
            &[
                mark(found.status).to_owned(),
                code(verdict.metric.name()),
                verdict.phase.as_deref().map_or(String::new(), code),
                reading.map_or(String::new(), |reading| source_words(reading.source)),
                format!("{} {}", verdict.metric.sign(), verdict.limit),
                reading.map_or("not measured".to_owned(), |reading| reading.bytes.to_string()),
                margin,
            ],
        );
    }
    more(out, ceilings.len() + omitted, " ceilings, in the record");
    for (found, _) in ceilings.iter().filter(|(found, _)| found.status != VerdictStatus::Pass) {
        let _ = writeln!(out, "- {} {}", mark(found.status), text(&found.message));
    }
    if ceilings.iter().any(|(found, _)| found.status != VerdictStatus::Pass) {
        out.push('\n');
    }
}

/// Writes one line for every verdict other than a ceiling's.
pub(super) fn others(out: &mut String, findings: &[Finding<'_>]) {
    let others = findings.iter().filter(|found| found.ceiling.is_none()).cloned().collect();
    let (others, omitted) = worst_findings(others, ROWS);
    for found in &others {
        let _ = writeln!(out, "- {} {}: {}", mark(found.status), text(&found.subject), text(&found.message));
    }
    if !others.is_empty() {
        more(out, others.len() + omitted, " verdicts, in the record");
    }
}

/// Writes the speedup over the other kernel, and one row per entry.
pub(super) fn versus(out: &mut String, record: &Record) {
    let Some(capture) = record.semantics.capture() else { return };
    let (Some(versus), Some(other)) = (&record.results.versus, &capture.versus) else { return };
    if let Some(all) = &versus.speedup {
        let _ = writeln!(out, "{} is {}\n", code(&capture.kernel.name), sentence(all, &code(&other.kernel.name)));
    }
    titles(out, &["entry", "speedup", "interval"], 1);
    for (result, pairs) in record.results.entries.iter().zip(&versus.pairs).take(ROWS) {
        let speedup = pairs.speedup.as_ref();
        let cells = [speedup.map(ratio), speedup.and_then(between)].map(|cell| cell.unwrap_or("n/a".to_owned()));
        row(out, &[[code(&result.name)].as_slice(), &cells].concat());
    }
    more(out, record.results.entries.len(), ", in the record");
}

/// Writes one row per phase, with the figures that at least one phase has.
pub(super) fn phases(out: &mut String, record: &Record) {
    const FIGURES: [Metric; 6] = [
        Metric::PeakRss,
        Metric::PeakAnon,
        Metric::PeakPss,
        Metric::SwapGrowth,
        Metric::GpuPeak,
        Metric::AvailableFloor,
    ];
    if record.phases.is_empty() {
        return;
    }
    let known = |metric: &Metric| record.phases.iter().any(|phase| phase.readings.contains_key(metric));
    let metrics: Vec<Metric> = FIGURES.into_iter().filter(known).collect();
    titles(
        out,
        &["phase", "time"].into_iter().chain(metrics.iter().map(|metric| metric.name())).collect::<Vec<_>>(),
        1,
    );
    for phase in record.phases.iter().take(ROWS) {
        let figures = metrics.iter().map(|metric| phase.readings.get(metric).map_or("n/a".to_owned(), figure));
        let cells: Vec<_> = [code(&phase.phase), duration(phase.wall_ns as f64)].into_iter().chain(figures).collect();
        row(out, &cells);
    }
    more(out, record.phases.len(), ", in the record");
    out.push_str(MARKS);
}

/// Writes the largest processes of the phase with the largest peak.
pub(super) fn processes(out: &mut String, record: &Record) {
    let peak = |phase: &&PhaseReadings| phase.readings.get(&Metric::PeakRss).map(|reading| reading.bytes);
    let Some(phase) = record.phases.iter().filter(|phase| !phase.processes.is_empty()).max_by_key(peak) else { return };
    let processes = phase.processes.iter().take(PROCESSES);
    let words = processes.map(|process| format!("{} {}", code(&process.name), figure(&process.peak_rss)));
    let _ = writeln!(out, "- largest processes in {}: {}", code(&phase.phase), words.collect::<Vec<_>>().join(", "));
}

/// Writes one row per record.
pub(super) fn overview(out: &mut String, records: &[Record], names: &[String]) {
    titles(out, &["", "record", "outcome", "took", "peak_rss"], 3);
    for (record, name) in records.iter().zip(names).take(ROWS) {
        let outcome = Outcome::of(record);
        let peak = worst_reading(&record.phases, Metric::PeakRss).map_or(String::new(), |(_, peak)| figure(peak));
        let took = duration(record.wall_ns as f64);
        row(out, &[sign(outcome.tone).to_owned(), code(name), outcome.word.to_owned(), took, peak]);
    }
    more(out, records.len(), ", in the record");
}

/// Writes the figures of two records side by side, if they are comparable.
pub(super) fn comparison(out: &mut String, differences: &Differences) {
    let Some(figures) = &differences.figures else {
        out.push_str("Their figures are not compared: their semantics differ.\n\n");
        return;
    };
    titles(out, &["phase", "figure", "first", "second", "change"], 2);
    for delta in figures.memory.iter().take(ROWS) {
        let (before, after) = (delta.before.bytes.bytes() as f64, delta.after.bytes.bytes() as f64);
        let cells = [figure(&delta.before), figure(&delta.after), percent(before, after)];
        row(out, &[[code(&delta.phase), code(delta.metric.name())].as_slice(), &cells].concat());
    }
    let all = figures.timing.iter().find(|delta| delta.entry.is_none());
    if let Some(delta) = all {
        let cells = [duration(delta.before_ns), duration(delta.after_ns), percent(delta.before_ns, delta.after_ns)];
        row(out, &[["profile".to_owned(), "median/launch".to_owned()].as_slice(), &cells].concat());
    }
    more(out, figures.memory.len(), ", in the record");
}
