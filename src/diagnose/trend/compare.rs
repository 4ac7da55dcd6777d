//! Compares configurations and releases with a baseline: allocated memory, reserved memory, time.

use std::fmt;

use plimsoll_statistics::median;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collector::Collector;
use super::finding::{Spread, TrendVerdict};
use super::held::{Held, Near, State, judge};
use super::judge::{steps_alike, unseen};
use super::pattern::{Pattern, pattern};
use super::series::{Key, Series};
use super::worker::Worker;
use crate::telemetry::Metric;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::{self, Unit};
use std::collections::BTreeMap;

/// A run's memory at one label, of the worst rank: its last reading if its readings grow, otherwise the median of the
/// last fifth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Readings {
    /// The label.
    pub label: String,
    /// The median duration of a step in seconds; absent if the log does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Memory held by tensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<ByteSize>,
    /// Memory held by the allocator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ByteSize>,
    /// Whether allocated memory rises while the work stays constant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rises: bool,
    /// Number of ranks whose lines Ray left out, so that nothing is known of them (`RAY_DEDUP_LOGS=0` shows all).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_ranks: Option<u64>,
    /// Allocated memory of all ranks, at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_spread: Option<Spread>,
    /// Reserved memory of all ranks, at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_spread: Option<Spread>,
}

/// How close to a baseline counts as near, by figure. A figure is beyond it if it exceeds every part of its allowance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Allowance {
    /// How much allocated memory may grow.
    pub allocated: ceiling::Allowance,
    /// How much reserved memory may grow.
    pub reserved: ceiling::Allowance,
    /// How much the duration of a step may grow.
    pub time: ceiling::Allowance,
}

impl Default for Allowance {
    /// `10% | 1 GiB` of memory, `5%` of time.
    fn default() -> Self {
        let allowance = |text: &str| text.parse().expect("an allowance");
        let memory = allowance("10% | 1 GiB");
        Self { allocated: memory, reserved: memory, time: allowance("5%") }
    }
}

/// The verdict on a configuration compared with its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigurationVerdict {
    /// Allocated memory is above the baseline.
    Leak,
    /// Allocated memory is near the baseline, reserved memory is not: the cache is fragmented.
    Fragmentation,
    /// Both are near the baseline, but steps take longer.
    Cured,
    /// Both are near the baseline, and steps take no longer.
    Solved,
    /// A figure is missing.
    Unknown,
}

/// A configuration compared with its baseline, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The verdict on the configuration.
    pub verdict: ConfigurationVerdict,
    /// The change in step duration, as a fraction of the baseline's; absent if either is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Whether reserved or allocated memory differs by rank.
    pub rank_dependent: bool,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time.map(|time| format!("{:+.1} % time", time * 100.0));
        let mut text = match (self.verdict, time) {
            (ConfigurationVerdict::Leak, _) => "leak".to_owned(),
            (ConfigurationVerdict::Fragmentation, _) => "fragmentation".to_owned(),
            (ConfigurationVerdict::Cured, Some(time)) => format!("cured, at {time}"),
            (ConfigurationVerdict::Cured, None) => "cured, at unknown time".to_owned(),
            (ConfigurationVerdict::Solved, _) => "solved".to_owned(),
            (ConfigurationVerdict::Unknown, _) => "unknown".to_owned(),
        };
        if self.rank_dependent {
            text.push_str(", varies by rank");
        }
        f.pad(&text)
    }
}

/// Judges `candidate` against `baseline`. The candidate is solved only if allocated and reserved memory are both near
/// the baseline and steps take no longer.
pub fn compare(baseline: &Readings, candidate: &Readings, allowance: &Allowance) -> Comparison {
    let time = baseline.seconds.zip(candidate.seconds).filter(|(base, _)| *base > 0.0);
    let quick = time.is_some_and(|(base, found)| found * 1e9 <= limit(base * 1e9, &allowance.time, Unit::Nanoseconds));
    let time = time.map(|(base, found)| found / base - 1.0);
    let bytes = |size: Option<ByteSize>| size.map(|size| size.bytes() as f64);
    let near = |base, allowance| bytes(base).map(|base| limit(base, allowance, Unit::Bytes));
    let held = Held {
        rises: candidate.rises,
        allocated: bytes(candidate.allocated),
        reserved: bytes(candidate.reserved),
        by_rank: false,
    };
    let near = Near {
        allocated: near(baseline.allocated, &allowance.allocated),
        reserved: near(baseline.reserved, &allowance.reserved),
    };
    let verdict = match judge(&held, Some(near)) {
        State::Leak => ConfigurationVerdict::Leak,
        State::Fragmentation => ConfigurationVerdict::Fragmentation,
        // Ranks that were not seen may be worse than those that were.
        State::Used if candidate.unseen_ranks.is_some() => ConfigurationVerdict::Unknown,
        State::Used if quick => ConfigurationVerdict::Solved,
        State::Used => ConfigurationVerdict::Cured,
        State::Cache | State::Unknown => ConfigurationVerdict::Unknown,
    };
    let spreads = [candidate.allocated_spread, candidate.reserved_spread];
    Comparison { verdict, time, rank_dependent: spreads.into_iter().flatten().any(|spread| spread.rank_dependent) }
}

/// The amount that `allowance` lets `base` grow to; `base` if no part of the allowance applies.
fn limit(base: f64, allowance: &ceiling::Allowance, unit: Unit) -> f64 {
    base + allowance.margin(base, unit).unwrap_or(0.0)
}

/// Whether `candidate` is a regression against `baseline`, another release of the same program at the same label:
/// allocated or reserved memory of the worst rank is beyond the allowance.
pub fn regression(baseline: &Readings, candidate: &Readings, allowance: &Allowance) -> Option<TrendVerdict> {
    use ConfigurationVerdict::{Fragmentation, Leak};
    let found = compare(baseline, candidate, allowance).verdict;
    matches!(found, Leak | Fragmentation).then_some(TrendVerdict::Regression)
}

impl Collector {
    /// The readings at `label`. Without a label, the label of the steady state with the most readings is used, because
    /// a reading before memory is released says less than one of what remains. `None` if there are no readings.
    pub fn readings(&self, label: Option<&str>) -> Option<Readings> {
        let of = |metric: Metric| self.series.iter().filter(move |(key, _)| key.metric == metric);
        let count =
            |workers: &BTreeMap<Worker, Series>| workers.values().map(|series| series.points.len()).sum::<usize>();
        let found = of(Metric::Allocated).chain(of(Metric::Reserved));
        let matching = found.filter(|(key, _)| label.is_none_or(|label| key.label == label));
        let (key, workers) = matching.max_by_key(|(key, workers)| (is_steady(&key.label), count(workers)))?;
        let rises = |series: &Series| pattern(&series.readings()).is_some_and(|found| found.0 == Pattern::Growing);
        let allocated = self.series.get(&Key { metric: Metric::Allocated, ..key.clone() });
        let worst = |metric| {
            let workers = self.series.get(&Key { metric, ..key.clone() })?;
            let levels = workers.values().filter_map(level);
            levels.max_by(f64::total_cmp).map(|level| ByteSize::new(level.round() as u64))
        };
        let spread = |metric| super::judge::spread(self.series.get(&Key { metric, ..key.clone() })?);
        Some(Readings {
            label: key.label.clone(),
            seconds: self.seconds(),
            rises: steps_alike(&key.label) && allocated.is_some_and(|workers| workers.values().any(rises)),
            unseen_ranks: unseen(&self.repeated, &key.label, workers.len()),
            allocated: worst(Metric::Allocated),
            reserved: worst(Metric::Reserved),
            allocated_spread: spread(Metric::Allocated),
            reserved_spread: spread(Metric::Reserved),
        })
    }
}

/// Whether `label` names a lasting state: not the moment before something, and not a model under construction.
fn is_steady(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    !["before", "init", "load", "start", "begin", "creating", "building"].iter().any(|word| label.contains(word))
}

/// The level of a series: its last reading if it grows, otherwise the median of the last fifth.
fn level(series: &Series) -> Option<f64> {
    let readings = series.readings();
    if pattern(&readings)?.0 == Pattern::Growing {
        return readings.last().map(|last| last.figure.value());
    }
    let tail = &readings[readings.len() - (readings.len() / 5).max(1).min(readings.len())..];
    median(tail.iter().map(|point| point.figure.value()).collect())
}
