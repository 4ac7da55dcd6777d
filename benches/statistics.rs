//! The statistics that are called often: once per figure of a comparison, per commit series, per log.
//!
//!     cargo bench -p plimsoll-statistics

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use plimsoll_statistics::random::SplitMix64;
use plimsoll_statistics::{mann_whitney, median, signed_rank, steps, stopping, trend};

/// `count` figures around 100 MiB that scatter by a hundredth, in pages.
fn figures(count: usize) -> Vec<f64> {
    let mut random = SplitMix64::new(count as u64);
    (0..count).map(|_| 4096.0 * (25_600 + random.below(256)) as f64).collect()
}

/// A series that rises by `rise` pages after every tenth part.
fn levels(count: usize, rise: f64) -> Vec<f64> {
    let part = count / 10;
    figures(count).iter().enumerate().map(|(at, figure)| figure + 4096.0 * rise * (at / part) as f64).collect()
}

fn shifts(c: &mut Criterion) {
    let mut group = c.benchmark_group("shift");
    for runs in [10, 25, 100, 1000] {
        let (before, after) = (figures(runs), figures(runs + 1));
        group.bench_function(BenchmarkId::new("mann-whitney", runs), |b| {
            b.iter(|| mann_whitney::shift(black_box(&before), black_box(&after), 0.99));
        });
        group.bench_function(BenchmarkId::new("signed-rank", runs), |b| {
            b.iter(|| signed_rank::shift(black_box(&before), black_box(&after), 0.99));
        });
    }
    group.finish();
}

fn trends(c: &mut Criterion) {
    let mut group = c.benchmark_group("trend");
    for count in [100, 1000] {
        let series = figures(count);
        let points: Vec<(f64, f64)> = series.iter().enumerate().map(|(at, y)| (at as f64, *y)).collect();
        group.bench_function(BenchmarkId::new("theil-sen", count), |b| b.iter(|| trend::theil_sen(black_box(&points))));
        group.bench_function(BenchmarkId::new("mann-kendall", count), |b| {
            b.iter(|| trend::mann_kendall(black_box(&series)));
        });
        group.bench_function(BenchmarkId::new("median", count), |b| b.iter(|| median(black_box(&series).clone())));
    }
    group.finish();
}

fn change_points(c: &mut Criterion) {
    let mut group = c.benchmark_group("steps");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(5));
    for count in [100, 1000] {
        for (name, rise) in [("none", 0.0), ("nine", 400.0)] {
            let series = levels(count, rise);
            group.bench_function(BenchmarkId::new(name, count), |b| b.iter(|| steps(black_box(&series))));
        }
    }
    group.finish();
}

fn stopping_rule(c: &mut Criterion) {
    let rule = stopping::Rule { fewest: 100, most: 10_000, relative_error: 1e-6, time: 1e15 };
    let samples = figures(1000);
    c.bench_function("stopping/1000", |b| b.iter(|| rule.next(black_box(&samples))));
}

criterion_group!(benches, shifts, trends, change_points, stopping_rule);
criterion_main!(benches);
