//! Judges the tables that divan prints, saved from `cargo bench`, against those of an earlier run.
//!
//! Divan keeps no samples: a table has the fastest, slowest and median time of a benchmark, and what its
//! `AllocProfiler` counted.
//! - Allocation figures that are the same in every column and run of a side are exact counts, and one run decides.
//! - Of times, the medians of runs that follow each other in a file are the samples. With too few runs for an interval,
//!   the whole ranges are compared ([`ranges`]): these decide only if all samples of one side are beyond the other's.

mod table;

use std::path::Path;

use self::table::Run;
use super::compare::{counted, ranges};
use super::error::BenchError;
use super::report::BenchmarkVerdict;
use crate::gate::{Allowance, Comparison, Direction, Limits, Summary, Unit, judge};

pub(super) use self::table::{Runs, is_table};

/// The allocation figures that are costs by themselves. Others, such as bytes freed, are judged if a limit names them.
const COSTS: [&str; 6] =
    ["max_alloc_bytes", "max_alloc_count", "alloc_bytes", "alloc_count", "grow_bytes", "grow_count"];

/// Reads the tables in the file `path`, whose contents are `text`.
pub(super) fn read(path: &Path, text: &str) -> Result<Runs, BenchError> {
    table::read(text).map_err(|(line, what)| BenchError::Table { path: path.to_owned(), line, what })
}

/// Judges every benchmark of `now`; `before` is the baseline, if there is one.
pub(super) fn verdicts(now: &Runs, before: Option<&Runs>, limits: &Limits, confidence: f64) -> Vec<BenchmarkVerdict> {
    let mut verdicts = Vec::new();
    for (id, runs) in now {
        let earlier = before.and_then(|before| before.get(id)).map(Vec::as_slice);
        verdicts.push(of_times(id, runs, earlier, limits, confidence));
        let mut names: Vec<&String> =
            runs.iter().chain(earlier.unwrap_or_default()).flat_map(|run| run.allocations.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let figure = format!("{id} {name}");
            if COSTS.contains(&&**name) || limits.name(&figure) {
                verdicts.extend(of_allocations((figure, name), runs, earlier, limits, confidence));
            }
        }
    }
    verdicts
}

fn of_times(id: &str, now: &[Run], before: Option<&[Run]>, limits: &Limits, confidence: f64) -> BenchmarkVerdict {
    let allowance = limits.of(id);
    let comparison = before.map(|before| times(before, now, allowance, confidence));
    let lost = before.is_some_and(|before| counts(before) && !counts(now));
    let note = match &comparison {
        None => Some(MISSING.to_owned()),
        Some(_) if lost => Some("the baseline has allocation figures, this run has none".to_owned()),
        Some(_) => None,
    };
    let current = comparison.as_ref().and_then(|one| one.current).unwrap_or_else(|| summary(now));
    BenchmarkVerdict {
        id: id.to_owned(),
        metric: None,
        unit: Unit::Nanoseconds,
        current,
        comparison,
        criterion: None,
        note,
    }
}

const MISSING: &str = "no such benchmark in the baseline";

/// Compares the medians of runs, or the whole ranges if there are too few runs for an interval.
fn times(before: &[Run], now: &[Run], allowance: Allowance, confidence: f64) -> Comparison {
    let [earlier, later] = [before, now].map(|runs| runs.iter().map(|run| run.median).collect::<Vec<_>>());
    let comparison = judge(&earlier, &later, Unit::Nanoseconds, Direction::Lower, allowance, confidence);
    if comparison.interval.is_some() || comparison.margin.is_none() {
        return comparison;
    }
    ranges(summary(before), summary(now), allowance, confidence).unwrap_or(comparison)
}

/// The samples of all runs; their median is that of the runs' medians.
fn summary(runs: &[Run]) -> Summary {
    let medians: Vec<f64> = runs.iter().map(|run| run.median).collect();
    let of_medians = Summary::of(&medians).expect("times that were read are amounts, of one run at least");
    Summary {
        count: runs.iter().fold(0, |count: u64, run| count.saturating_add(run.samples)),
        median: of_medians.median,
        min: runs.iter().map(|run| run.fastest).fold(f64::INFINITY, f64::min),
        max: runs.iter().map(|run| run.slowest).fold(0.0, f64::max),
    }
}

/// `None` if the allocations of a run of now are unknown.
fn of_allocations(
    (id, name): (String, &str),
    now: &[Run],
    before: Option<&[Run]>,
    limits: &Limits,
    confidence: f64,
) -> Option<BenchmarkVerdict> {
    let unit = table::unit(name);
    let now = figures(now, name)?;
    let current = Summary::of(&medians(&now))?;
    let before = before.map(|before| figures(before, name));
    let allowance = limits.of(&id);
    let mut note = None;
    let comparison = match &before {
        None => Err(MISSING),
        Some(None) => Err("the baseline has no allocation figures: AllocProfiler was not in use"),
        Some(Some(before)) => Ok(match (constant(before), constant(&now)) {
            (Some(before), Some(now)) => counted([before, now], unit, Direction::Lower, allowance, confidence),
            _ => {
                note = Some("the figure varies between samples".to_owned());
                judge(&medians(before), &medians(&now), unit, Direction::Lower, allowance, confidence)
            }
        }),
    };
    let comparison = comparison.map_err(|missing| note = Some(missing.to_owned())).ok();
    Some(BenchmarkVerdict { id, metric: Some(name.to_owned()), unit, current, comparison, criterion: None, note })
}

fn counts(runs: &[Run]) -> bool {
    runs.iter().any(|run| run.counts_allocations)
}

/// The allocation figure of every run. A benchmark without rows allocated nothing, if its program counts at all.
fn figures(runs: &[Run], name: &str) -> Option<Vec<[f64; 4]>> {
    let of = |run: &Run| run.allocations.get(name).copied().or(run.counts_allocations.then_some([0.0; 4]));
    runs.iter().map(of).collect()
}

fn medians(figures: &[[f64; 4]]) -> Vec<f64> {
    figures.iter().map(|[_, _, median, _]| *median).collect()
}

/// The figure that all columns of all runs have in common.
fn constant(figures: &[[f64; 4]]) -> Option<f64> {
    let first = figures.first()?[0];
    figures.iter().flatten().all(|figure| *figure == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::{DEFAULT_CONFIDENCE, Method, Outcome};
    use plimsoll_memory::bytes::ByteSize;

    macro_rules! data {
        ($name:literal) => {
            table::read(include_str!(concat!("../../../../tests/data/benches/", $name))).unwrap()
        };
    }

    fn judged(before: &Runs, now: &Runs, limits: &[&str]) -> Vec<BenchmarkVerdict> {
        let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
        let default = Allowance::new(5.0, ByteSize::new(64 << 10)).unwrap();
        verdicts(now, Some(before), &Limits::new(limits, default), DEFAULT_CONFIDENCE)
    }

    fn one<'a>(verdicts: &'a [BenchmarkVerdict], id: &str) -> &'a Comparison {
        verdicts.iter().find(|one| one.id == id).and_then(|one| one.comparison.as_ref()).unwrap()
    }

    #[test]
    fn allocations_are_decided_by_one_run() {
        let found = judged(&data!("divan-before.txt"), &data!("divan-after.txt"), &[]);
        let bytes = one(&found, "allocs::table::10000 max_alloc_bytes");
        assert_eq!((bytes.outcome, bytes.method), (Outcome::Fail, Some(Method::Counted)));
        assert_eq!(bytes.message, "grew by 100.1 %, more than 5% | 64 KiB");
        assert_eq!(one(&found, "allocs::table::10000 grow_count").outcome, Outcome::Fail);
        assert_eq!(one(&found, "allocs::copy alloc_bytes").message, "unchanged: the figures do not differ");
        // Twice 1 KB is less than 64 KiB more.
        assert_eq!(one(&found, "allocs::table::100 max_alloc_bytes").outcome, Outcome::Pass);
        let strict = judged(&data!("divan-before.txt"), &data!("divan-after.txt"), &["*_bytes=0%"]);
        assert_eq!(one(&strict, "allocs::table::100 max_alloc_bytes").outcome, Outcome::Fail);
    }

    #[test]
    fn one_run_decides_a_time_only_if_the_ranges_are_apart() {
        let mut now = data!("divan-after.txt");
        let before = data!("divan-before.txt");
        let found = judged(&before, &now, &[]);
        let sum = one(&found, "times::sum");
        assert_eq!((sum.outcome, sum.method), (Outcome::Inconclusive, Some(Method::Ranges)));
        assert!(sum.message.ends_with("5 runs a side would narrow it"), "{}", sum.message);
        now.get_mut("times::sum").unwrap()[0].fastest = before["times::sum"][0].slowest + 1.0;
        now.get_mut("times::sum").unwrap()[0].median = before["times::sum"][0].slowest + 1.0;
        assert_eq!(one(&judged(&before, &now, &[]), "times::sum").outcome, Outcome::Fail);
    }

    #[test]
    fn six_runs_decide_by_their_medians() {
        let found = judged(&data!("divan-before-6.txt"), &data!("divan-after-6.txt"), &[]);
        let sum = one(&found, "times::sum");
        assert_eq!((sum.outcome, sum.method), (Outcome::Fail, Some(Method::Exact)));
        assert_eq!(sum.current.unwrap().count, 6);
        // The same allocation figures in every run are still counts.
        assert_eq!(one(&found, "allocs::copy alloc_bytes").method, Some(Method::Counted));
    }

    #[test]
    fn what_the_baseline_lacks_is_not_compared() {
        let (mut before, now) = (data!("divan-before.txt"), data!("divan-after.txt"));
        before.remove("times::sum");
        // Allocations of a program that counts them are zero if absent, and unknown otherwise.
        let runs = before.get_mut("allocs::copy").unwrap();
        runs[0].allocations.clear();
        assert_eq!(one(&judged(&before, &now, &["0%"]), "allocs::copy alloc_count").outcome, Outcome::Fail);
        before.get_mut("allocs::copy").unwrap()[0].counts_allocations = false;
        let found = judged(&before, &now, &[]);
        let note = |id: &str| found.iter().find(|one| one.id == id).unwrap().note.clone().unwrap();
        assert_eq!(note("times::sum"), "no such benchmark in the baseline");
        assert!(note("allocs::copy alloc_count").starts_with("the baseline has no allocation figures"));
        let turned = judged(&now, &before, &[]);
        let copy = turned.iter().find(|one| one.id == "allocs::copy").unwrap();
        assert_eq!(copy.note.as_deref(), Some("the baseline has allocation figures, this run has none"));
    }

    #[test]
    fn figures_that_vary_need_runs() {
        let (before, mut now) = (data!("divan-before.txt"), data!("divan-after.txt"));
        let copy = now.get_mut("allocs::copy").unwrap();
        copy[0].allocations.insert("alloc_count".to_owned(), [1.0, 2.0, 1.0, 1.1]);
        let found = judged(&before, &now, &[]);
        let comparison = one(&found, "allocs::copy alloc_count");
        assert_eq!((comparison.outcome, comparison.interval), (Outcome::Inconclusive, None));
    }

    proptest! {
        #[test]
        fn any_times_are_judged(
            before in prop::collection::vec(0.0f64..1e12, 1..8), now in prop::collection::vec(0.0f64..1e12, 1..8),
            samples in 0u64..200,
        ) {
            let table = |medians: &[f64]| {
                let row = |at: &f64| format!("╰─ a {at} ns │ {at} ns │ {at} ns │ 0 ns │ {samples} │ 1\n");
                let head = "b fastest │ slowest │ median │ mean │ samples │ iters\n";
                table::read(&medians.iter().map(|at| format!("{head}{}", row(at))).collect::<String>()).unwrap()
            };
            let found = judged(&table(&before), &table(&now), &[]);
            prop_assert!(!one(&found, "b::a").message.is_empty());
        }
    }
}
