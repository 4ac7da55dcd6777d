//! What vLLM's sleep mode frees, and what remains.

use super::finding::{Finding, TrendVerdict};
use super::pattern::{Pattern, pattern};
use super::series::{Point, Series, shape, worker};
use super::statistics::Statistics;
use super::worker::Worker;
use crate::telemetry::{Format, Metric, Sample};
use std::collections::BTreeMap;

/// The most processes whose sleeps are kept.
const MOST_PROCESSES: usize = 1024;

/// A gibibyte.
const GIB: f64 = (1u64 << 30) as f64;

/// The sleeps of every process.
#[derive(Debug, Default)]
pub(super) struct Sleeps {
    left: BTreeMap<Worker, Series>,
    freed: BTreeMap<Worker, Series>,
}

impl Sleeps {
    pub(super) fn push(&mut self, sample: &Sample) {
        if sample.format != Format::VllmSleep {
            return;
        }
        let of = worker(sample);
        for (metric, kept) in [(Metric::StillInUse, &mut self.left), (Metric::Freed, &mut self.freed)] {
            if let Some(figure) = sample.figure(metric)
                && (kept.len() < MOST_PROCESSES || kept.contains_key(&of))
            {
                kept.entry(of).or_default().push(sample.step, sample, figure);
            }
        }
    }

    /// Sleep that frees nothing, or after which ever more memory remains.
    pub(super) fn finding(&self) -> Option<Finding> {
        let ineffective = self.freed.iter().find_map(|(worker, series)| {
            let readings = series.readings();
            let nothing = |point: &&Point| point.figure.value() <= 2.0 * point.figure.resolution.bytes() as f64;
            let point = *readings.iter().find(nothing)?;
            let words = "sleep freed nothing: with expandable_segments, the sleep mode's pool cannot release memory";
            finding(TrendVerdict::SleepIneffective, Metric::Freed, *worker, &readings, vec![point], words.to_owned())
        });
        ineffective.or_else(|| {
            let grown = self.left.iter().filter_map(|(worker, series)| {
                let readings = series.readings();
                let first = readings.first()?;
                let most = readings.iter().max_by(|a, b| a.figure.value().total_cmp(&b.figure.value()))?;
                // The memory left by a sleep should be constant, so a rise needs no statistical test.
                let rise = most.figure.value() - first.figure.value();
                let stays = readings.last()?.figure.value() - first.figure.value() > rise / 2.0;
                let enough = rise > GIB && most.figure.value() > 1.5 * first.figure.value() && stays;
                let words = format!(
                    "{} were still in use after the first sleep, {} after a later one: each sleep leaves more behind",
                    first.figure.bytes, most.figure.bytes
                );
                let evidence = vec![*first, *most];
                finding(TrendVerdict::ResidualGrowth, Metric::StillInUse, *worker, &readings, evidence, words)
                    .filter(|_| enough && readings.len() >= 2)
            });
            grown.max_by_key(|finding| finding.statistics.last)
        })
    }
}

fn finding(
    verdict: TrendVerdict,
    metric: Metric,
    worker: Worker,
    readings: &[Point],
    evidence: Vec<Point>,
    explanation: String,
) -> Option<Finding> {
    let (pattern, statistics): (Pattern, Statistics) = pattern(readings)?;
    Some(Finding {
        verdict,
        format: Format::VllmSleep,
        label: "sleep".to_owned(),
        metric,
        worker,
        pattern,
        statistics,
        shape: shape(readings),
        latest: readings.last().map(|point| (metric, point.figure)).into_iter().collect(),
        spread: None,
        evidence: evidence.iter().map(|point| point.position).collect(),
        explanation,
    })
}
