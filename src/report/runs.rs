//! The runs of a repeated command, as reports show them: each run, their spread, and the shift between two records.

use crate::gate::{Allowance, Comparison, DEFAULT_CONFIDENCE, Summary, judge};
use crate::record::{Figure, Record, RepeatedRun, figures};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The figures that reports show for runs: their memory and their time.
pub(crate) const SHOWN: [&str; 6] = [
    Metric::PeakRss.name(),
    Metric::PeakAnon.name(),
    Metric::PeakPss.name(),
    Metric::GpuPeak.name(),
    "wall",
    "cpu_time",
];

/// How a run ended, in as few words as possible.
pub(crate) fn end_words(end: &ProcessEnd) -> String {
    end.exit_code.map_or_else(|| end.to_string(), |code| format!("exit {code}"))
}

/// The minimum, median and maximum; `None` if a run lacks the value.
fn spread(values: impl Iterator<Item = Option<f64>>) -> Option<[f64; 3]> {
    let summary = Summary::of(&values.collect::<Option<Vec<f64>>>()?)?;
    Some([summary.min, summary.median, summary.max])
}

/// The `metrics` that at least one of `runs` has.
pub(crate) fn known<const N: usize>(metrics: [Metric; N], runs: &[RepeatedRun]) -> Vec<Metric> {
    let known = |metric: &Metric| runs.iter().any(|run| worst_reading(&run.phases, *metric).is_some());
    metrics.into_iter().filter(known).collect()
}

/// The spread of wall time, processor time and metrics over the runs.
pub(crate) struct Spreads {
    pub(crate) wall: Option<[f64; 3]>,
    pub(crate) cpu: Option<[f64; 3]>,
    pub(crate) bytes: Vec<Option<[f64; 3]>>,
}

impl Spreads {
    /// Titles of the parts of a spread.
    pub(crate) const TITLES: [&str; 3] = ["least", "median", "most"];

    /// The spreads of `runs`: the times, then one for each of `metrics`.
    pub(crate) fn of(runs: &[RepeatedRun], metrics: &[Metric]) -> Self {
        let bytes = |metric: &Metric| {
            spread(runs.iter().map(|run| Some(worst_reading(&run.phases, *metric)?.1.bytes.bytes() as f64)))
        };
        Self {
            wall: spread(runs.iter().map(|run| Some(run.wall_ns as f64))),
            cpu: spread(runs.iter().map(|run| Some(run.cpu_time()?.as_nanos() as f64))),
            bytes: metrics.iter().map(bytes).collect(),
        }
    }
}

/// A figure of two records' runs, and the shift between them.
pub(crate) struct Shift {
    pub(crate) before: Figure,
    pub(crate) after: Figure,
    pub(crate) comparison: Comparison,
}

/// The shifts from the runs of `before` to those of `after`, for records of equal semantics; empty if neither has
/// several runs.
pub(crate) fn shifts(before: &Record, after: &Record) -> Vec<Shift> {
    if before.runs.is_empty() && after.runs.is_empty() {
        return Vec::new();
    }
    // A zero allowance: the report states the shift and does not judge it.
    let Ok(none) = Allowance::new(0.0, ByteSize::ZERO) else { return Vec::new() };
    let mut earlier = figures(before);
    let shown = figures(after).into_iter().filter(|figure| SHOWN.contains(&&*figure.name));
    shown
        .filter_map(|after| {
            let at = earlier.iter().position(|before| before.name == after.name)?;
            let before = earlier.swap_remove(at);
            let comparison =
                judge(&before.values, &after.values, after.unit, after.direction, none, DEFAULT_CONFIDENCE);
            Some(Shift { before, after, comparison })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn a_spread_is_of_all_runs_or_none() {
        assert_eq!(spread([Some(3.0), Some(1.0), Some(2.0)].into_iter()), Some([1.0, 2.0, 3.0]));
        assert_eq!(spread([Some(4.0), Some(1.0), Some(2.0), Some(3.0)].into_iter()), Some([1.0, 2.5, 4.0]));
        assert_eq!(spread([Some(4.0), None].into_iter()), None);
        assert_eq!(spread([].into_iter()), None);
    }

    #[test]
    fn runs_are_held_against_runs() {
        assert!(shifts(&sample::command(), &sample::command()).is_empty(), "each is one run");
        let (before, after) = (sample::repeated(), sample::repeated_more(9));
        let shifts = shifts(&before, &after);
        let shift = shifts.iter().find(|shift| shift.after.name == "peak_rss").unwrap();
        assert_eq!((shift.before.values.len(), shift.after.values.len()), (3, 9));
        assert!(shift.comparison.shift.is_some_and(|shift| shift > 0.0), "{:?}", shift.comparison);
        assert!(shifts.iter().all(|shift| SHOWN.contains(&&*shift.after.name)));
    }
}
