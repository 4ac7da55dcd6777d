//! Two kernels timed in turns: their times and the speedup of each entry, drawn on one scale.

use std::fmt::Write;

use super::{Body, absent, escaped, table};
use crate::record::{Aggregation, EntryResult, Record, Semantics, Speedup};
use crate::report::speedup::{between, ratio, sentence};
use crate::report::terminal::duration;

/// Maximum number of entries shown; all are in the record.
const SHOWN: usize = 1000;

/// Writes the section for a run of two kernels.
pub(super) fn versus(out: &mut Body, record: &Record) {
    let Semantics::Capture(semantics) = &record.semantics else { return };
    let (Some(versus), Some(other)) = (&record.results.versus, &semantics.versus) else { return };
    let aggregation = semantics.aggregation.unwrap_or(Aggregation::EntryMeans);
    let _ = writeln!(
        out,
        "<h2>Speedup <small>{} beside {}, {} pairs an entry</small></h2>",
        escaped(&semantics.kernel.name),
        escaped(&other.kernel.name),
        other.pairs
    );
    if let Some(all) = &versus.speedup {
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", escaped(&sentence(all, &other.kernel.name)));
    }
    let scale = Scale::of(versus.pairs.iter().filter_map(|pairs| pairs.into_owned().speedup));
    let columns = [
        table::words("entry"),
        table::figures("per launch"),
        table::figures("of the other"),
        table::figures("speedup"),
        table::figures("interval"),
        table::words("slower | faster"),
    ];
    let time = |result: &EntryResult| {
        let statistics = result.profile.as_ref().and_then(|profile| profile.statistics);
        statistics.map_or_else(absent, |statistics| duration(aggregation.time_ns(&statistics)))
    };
    let rows = record.results.entries.iter().zip(&versus.entries).zip(&versus.pairs).take(SHOWN);
    let rows = rows.map(|((own, others), pairs)| {
        let speedup = pairs.speedup.as_ref();
        vec![
            escaped(&own.name),
            time(&own),
            time(&others),
            speedup.map_or_else(absent, ratio),
            speedup.and_then(between).unwrap_or_else(absent),
            speedup.map_or_else(String::new, |speedup| scale.drawn(speedup)),
        ]
    });
    table::table(out, &columns, rows);
    table::more(out, record.results.entries.len(), SHOWN, ", in the record");
}

/// A logarithmic scale that includes 1.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(speedups: impl Iterator<Item = Speedup>) -> Self {
        let (mut low, mut high) = (1.0 / 1.05, 1.05);
        for speedup in speedups {
            let (from, to) = ends(&speedup);
            low = f64::min(low, from / 1.02);
            high = f64::max(high, to * 1.02);
        }
        Self { low, high }
    }

    /// The position of a ratio, in percent of the width.
    fn at(&self, ratio: f64) -> f64 {
        let share = (ratio / self.low).ln() / (self.high / self.low).ln() * 100.0;
        if share.is_finite() { share.clamp(0.0, 100.0) } else { 0.0 }
    }

    /// Draws the ratio as a dot, its interval as a line, and 1 as a rule.
    fn drawn(&self, speedup: &Speedup) -> String {
        let (from, to) = ends(speedup);
        let class = if from > 1.0 {
            "good"
        } else if to < 1.0 {
            "bad"
        } else {
            "even"
        };
        let [one, from, to, dot] = [1.0, from, to, speedup.ratio].map(|ratio| format!("{:.1}%", self.at(ratio)));
        format!(
            "<svg class=\"interval {class}\" aria-hidden=\"true\"><line class=\"rule\" x1=\"{one}\" x2=\"{one}\" y1=\"0\" \
             y2=\"100%\"/><line x1=\"{from}\" x2=\"{to}\" y1=\"50%\" y2=\"50%\"/><circle cx=\"{dot}\" cy=\"50%\" r=\"4\"/></svg>"
        )
    }
}

/// The ends of the interval, or the ratio itself without one.
fn ends(speedup: &Speedup) -> (f64, f64) {
    speedup.interval.map_or((speedup.ratio, speedup.ratio), |interval| (interval.low, interval.high))
}
