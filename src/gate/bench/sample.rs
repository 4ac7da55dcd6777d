//! A gate with one benchmark of every outcome, for tests of documents.

use super::report::{BenchGate, BenchmarkVerdict, CriterionChange};
use crate::gate::{DEFAULT_CONFIDENCE, Direction, Summary, Unit, judge};

/// `count` figures around `level` that scatter by `scatter` of it, in mixed order.
fn figures(level: f64, scatter: f64, count: u32) -> Vec<f64> {
    (0..count).map(|i| level * (1.0 + scatter * (f64::from(i * 37 % 101) / 50.0 - 1.0))).collect()
}

fn verdict(id: &str, metric: Option<&str>, unit: Unit, before: &[f64], now: &[f64]) -> BenchmarkVerdict {
    let allowance = "5% | 64 KiB".parse().unwrap();
    let comparison =
        (!before.is_empty()).then(|| judge(before, now, unit, Direction::Lower, allowance, DEFAULT_CONFIDENCE));
    let note = before.is_empty().then(|| "no such benchmark in the baseline `main`".to_owned());
    let current = Summary::of(now).unwrap();
    let metric = metric.map(str::to_owned);
    BenchmarkVerdict { id: id.to_owned(), metric, unit, current, comparison, criterion: None, note }
}

/// One benchmark of every outcome.
pub(crate) fn gate() -> BenchGate {
    let mib = 1024.0 * 1024.0;
    let (heap, rss) = (Some("peak_heap"), Some("peak_rss_growth"));
    let drifting: Vec<f64> = (0..60).map(|i| 40.0 * mib * (1.0 + f64::from(i) / 400.0)).collect();
    let mut benchmarks = vec![
        verdict("copy peak_heap/16 MiB", heap, Unit::Bytes, &[16.0 * mib; 20], &[16.0 * mib; 20]),
        verdict("load", None, Unit::Nanoseconds, &figures(2.1e6, 0.01, 30), &figures(1.7e6, 0.01, 30)),
        verdict(
            "load peak_rss_growth",
            rss,
            Unit::Bytes,
            &figures(64.0 * mib, 0.01, 30),
            &figures(72.0 * mib, 0.01, 30),
        ),
        verdict("map peak_rss_growth", rss, Unit::Bytes, &figures(1.0 * mib, 0.5, 8), &figures(1.1 * mib, 0.5, 8)),
        verdict("new peak_heap", heap, Unit::Bytes, &[], &[4096.0; 20]),
        verdict("nothing peak_heap", heap, Unit::Bytes, &[0.0; 20], &[48.0; 20]),
        verdict("parse", None, Unit::Nanoseconds, &figures(850.0, 0.03, 100), &figures(861.0, 0.03, 100)),
        verdict(
            "stream peak_rss_growth",
            rss,
            Unit::Bytes,
            &drifting,
            &drifting.iter().map(|x| x * 1.2).collect::<Vec<_>>(),
        ),
    ];
    benchmarks[2].criterion = Some(CriterionChange { percent: 12.5, low: 12.1, high: 12.9, confidence: 0.95 });
    BenchGate::new("target/criterion".to_owned(), "main", benchmarks, "")
}

/// The gate of a folder without benchmarks.
pub(crate) fn empty() -> BenchGate {
    let hint = "there is no benchmark in target/criterion: run `cargo bench` first";
    BenchGate::new("target/criterion".to_owned(), "base", Vec::new(), hint)
}
