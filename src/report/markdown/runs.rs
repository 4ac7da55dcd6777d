//! The runs of a repeated command.

use std::fmt::Write;

use super::escape::{code, text};
use super::tables::{ROWS, figure, more, row, titles};
use crate::record::Record;
use crate::report::figures::{amount, change, methods, range};
use crate::report::runs::{Shift, Spreads, end_words, known};
use crate::report::summary::Summary;
use crate::report::terminal::{counted, duration};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The metrics that get a column if a run has them.
const METRICS: [Metric; 4] = [Metric::PeakRss, Metric::PeakAnon, Metric::PeakPss, Metric::GpuPeak];

/// Writes the spread of the runs, and each run folded.
pub(super) fn runs(out: &mut String, record: &Record) {
    let runs = &record.runs;
    if runs.is_empty() {
        return;
    }
    let metrics = known(METRICS, runs);
    let names = || metrics.iter().map(|metric| metric.name());
    let count = counted(runs.len(), "run", "runs");
    titles(out, &[&*count, "time", "CPU"].into_iter().chain(names()).collect::<Vec<_>>(), 1);
    let Spreads { wall, cpu, bytes } = Spreads::of(runs, &metrics);
    let unknown = || "n/a".to_owned();
    for (at, title) in Spreads::TITLES.into_iter().enumerate() {
        let times = [&wall, &cpu].map(|spread| spread.map_or_else(unknown, |spread| duration(spread[at])));
        let sizes = bytes
            .iter()
            .map(|spread| spread.map_or_else(unknown, |spread| ByteSize::new(spread[at] as u64).to_string()));
        row(out, &[title.to_owned()].into_iter().chain(times).chain(sizes).collect::<Vec<_>>());
    }
    out.push_str("\n<details><summary>Every run</summary>\n\n");
    titles(out, &["run", "end", "time", "CPU"].into_iter().chain(names()).collect::<Vec<_>>(), 2);
    for (at, run) in runs.iter().enumerate().take(ROWS) {
        let cpu = run.cpu_time().map_or_else(unknown, |time| duration(time.as_nanos() as f64));
        let sizes = metrics
            .iter()
            .map(|&metric| worst_reading(&run.phases, metric).map_or_else(unknown, |(_, reading)| figure(reading)));
        let first = [(at + 1).to_string(), text(&end_words(&run.end)), duration(run.wall_ns as f64), cpu];
        row(out, &first.into_iter().chain(sizes).collect::<Vec<_>>());
    }
    more(out, runs.len(), ", in the record");
    out.push_str("</details>\n\n");
}

/// Writes the shifts between the runs of two records.
pub(super) fn shifts(out: &mut String, shifts: &[Shift]) {
    if shifts.is_empty() {
        return;
    }
    titles(out, &["median of runs", "first", "second", "change", "interval"], 1);
    for Shift { before, after, comparison } in shifts {
        let (Some(old), Some(new)) = (Summary::of(before), Summary::of(after)) else { continue };
        let interval = comparison
            .interval
            .map_or_else(|| "too few runs".to_owned(), |interval| range(interval, old.value, comparison.unit));
        let [old_words, new_words] = [old, new].map(|side| amount(side.value, comparison.unit));
        row(out, &[code(&after.name), old_words, new_words, text(&change(comparison, old.value)), text(&interval)]);
    }
    let methods = methods(shifts.iter().map(|shift| &shift.comparison));
    let _ = writeln!(out, "\n{}", methods.iter().map(|method| text(method)).collect::<Vec<_>>().join("; "));
    out.push('\n');
}
