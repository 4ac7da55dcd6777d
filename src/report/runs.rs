//! The runs of a command that was run several times, as reports tell them: each, their spread, and how far those of two
//! records lie apart.

use crate::gate::{Allowance, Comparison, DEFAULT_CONFIDENCE, Summary, judge};
use crate::record::{Figure, Record, RepeatedRun, figures};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::{Metric, worst_reading};

/// The figures that are told of runs: their memory, and what they took.
pub(crate) const TOLD: [&str; 6] = [
    Metric::PeakRss.name(),
    Metric::PeakAnon.name(),
    Metric::PeakPss.name(),
    Metric::GpuPeak.name(),
    "wall",
    "cpu_time",
];

/// How a run ended, in as few words as that takes.
pub(crate) fn end_words(end: &ProcessEnd) -> String {
    end.exit_code.map_or_else(|| end.to_string(), |code| format!("exit {code}"))
}

/// The least, the median and the most; `None` if a run has no value.
fn spread(values: impl Iterator<Item = Option<f64>>) -> Option<[f64; 3]> {
    let summary = Summary::of(&values.collect::<Option<Vec<f64>>>()?)?;
    Some([summary.min, summary.median, summary.max])
}

/// The `metrics` that any of `runs` has.
pub(crate) fn known<const N: usize>(metrics: [Metric; N], runs: &[RepeatedRun]) -> Vec<Metric> {
    let known = |metric: &Metric| runs.iter().any(|run| worst_reading(&run.phases, *metric).is_some());
    metrics.into_iter().filter(known).collect()
}

/// What runs have in common: the spread of their time, of their processor time and of metrics.
pub(crate) struct Spreads {
    pub(crate) wall: Option<[f64; 3]>,
    pub(crate) cpu: Option<[f64; 3]>,
    pub(crate) bytes: Vec<Option<[f64; 3]>>,
}

impl Spreads {
    /// What the parts of a spread are called.
    pub(crate) const TITLES: [&str; 3] = ["least", "median", "most"];

    /// The spreads of `runs`, one for each of `metrics` beside the times.
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

/// A figure of the runs of two records, and how far they lie apart.
pub(crate) struct Shift {
    pub(crate) before: Figure,
    pub(crate) after: Figure,
    pub(crate) comparison: Comparison,
}

/// The shifts from the runs of `before` to those of `after`, which mean the same; none if neither has several.
pub(crate) fn shifts(before: &Record, after: &Record) -> Vec<Shift> {
    if before.runs.is_empty() && after.runs.is_empty() {
        return Vec::new();
    }
    // The shift is told as it is: nothing says how much is let pass.
    let Ok(none) = Allowance::new(0.0, ByteSize::ZERO) else { return Vec::new() };
    let mut earlier = figures(before);
    let told = figures(after).into_iter().filter(|figure| TOLD.contains(&&*figure.name));
    told.filter_map(|after| {
        let at = earlier.iter().position(|before| before.name == after.name)?;
        let before = earlier.swap_remove(at);
        let comparison = judge(&before.values, &after.values, after.unit, after.direction, none, DEFAULT_CONFIDENCE);
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
        assert!(shifts.iter().all(|shift| TOLD.contains(&&*shift.after.name)));
    }
}
