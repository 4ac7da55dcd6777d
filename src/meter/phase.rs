//! What is gathered of one phase, pass by pass.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::activity::Counters;
use super::metric::Metric;
use super::options::SwapScope;
use super::pass::{Baseline, Figure, Pass, ProcessSample, PssPass, Start};
use super::population::Population;
use super::reading::{MemorySplit, Source, TimelinePoint};
use super::timeline::Timeline;
use crate::bytes::ByteSize;

/// How a phase began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beginning {
    pub(crate) at: Instant,
    /// The interval that was asked for.
    pub(crate) interval: Duration,
    pub(crate) swap: SwapScope,
    /// What stood when the first phase began; absent in the first.
    pub(crate) first: Option<Start>,
    /// The counters of activity.
    pub(crate) counters: Counters,
    /// The process of the meter itself, where its high-water mark was reset.
    pub(crate) reset: Option<u32>,
    /// Minor faults of children that the root had reaped.
    pub(crate) reaped_faults: Option<u64>,
}

/// A phase that is under way.
#[derive(Debug)]
pub(crate) struct Phase {
    pub(super) name: String,
    pub(super) beginning: Beginning,
    pub(super) baseline: Baseline,
    pub(super) passes: u64,
    pub(super) last: Instant,
    pub(super) population: Population,
    pub(super) peaks: BTreeMap<Metric, ByteSize>,
    pub(super) missing: BTreeMap<Metric, String>,
    pub(super) pss_late: Duration,
    pub(super) swap_configured: bool,
    pub(super) at_peak: Option<MemorySplit>,
    /// In the latest pass.
    pub(super) at_end: Option<MemorySplit>,
    pub(super) timeline: Timeline,
}

impl Phase {
    pub(crate) fn new(name: &str, beginning: Beginning) -> Self {
        let Beginning { at, interval, swap, first, .. } = beginning;
        Self {
            name: name.to_owned(),
            beginning,
            baseline: Baseline { first: first.unwrap_or_default(), phase: Start::default(), swap },
            passes: 0,
            last: at,
            population: Population::default(),
            peaks: BTreeMap::new(),
            missing: BTreeMap::new(),
            pss_late: Duration::ZERO,
            swap_configured: false,
            at_peak: None,
            at_end: None,
            timeline: Timeline::new(interval),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    pub(crate) fn nanoseconds_to(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.beginning.at).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes what growth is counted from, where `pass` is the first.
    pub(crate) fn start(&mut self, pass: &Pass) {
        if self.passes == 0 {
            self.baseline.phase = pass.start();
            if self.beginning.first.is_none() {
                self.baseline.first = pass.start();
            }
        }
    }

    /// Notes a process of a pass.
    pub(crate) fn record_process(&mut self, sample: ProcessSample<'_>) {
        let within = self.passes > 0 || self.beginning.reset == Some(sample.id.pid);
        self.population.record(sample, within, self.passes);
    }

    /// Notes that what was read of a process in the latest pass is the last before it is ended.
    pub(crate) fn record_last(&mut self, sample: ProcessSample<'_>) {
        self.record_process(sample);
        self.population.seen_to_the_end(sample.id);
    }

    /// Notes the figures of a pass, after its processes.
    pub(crate) fn record(&mut self, pass: &Pass) {
        for metric in Metric::ALL {
            match pass.figure(metric, Some(&self.baseline)) {
                Figure::Bytes(now) => {
                    let peak = self.peaks.entry(metric).or_insert(now);
                    if metric.is_past(now, *peak) {
                        *peak = now;
                    }
                }
                Figure::NotTaken => {}
                Figure::Missing(reason) => {
                    self.missing.entry(metric).or_insert_with(|| reason.to_owned());
                }
            }
        }
        self.at_end = pass.totals;
        if let Some(totals) = pass.totals {
            if self.at_peak.is_none_or(|peak| totals.rss > peak.rss) {
                self.at_peak = Some(totals);
            }
            self.timeline.push(TimelinePoint {
                at_ns: self.nanoseconds_to(pass.at),
                rss: totals.rss,
                anon: totals.anon,
                available: pass.system.as_ref().ok().and_then(|system| system.available),
            });
        }
        if let PssPass::Sum { late, .. } = pass.pss {
            self.pss_late = self.pss_late.max(late);
        }
        if let Ok(system) = &pass.system {
            self.swap_configured |= system.swap_total.is_some_and(|total| total > ByteSize::ZERO);
        }
        self.last = pass.at;
        self.passes += 1;
        self.population.forget_ended(self.passes, self.sampled());
    }

    /// The interval at which samples were really taken, on average, where that is longer than was asked for.
    pub(super) fn sampled(&self) -> Source {
        let Beginning { at, interval, .. } = self.beginning;
        let gaps = u32::try_from(self.passes.saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        let mean = self.last.saturating_duration_since(at) / gaps;
        // A late sample now and then is no other interval.
        let slow = self.passes > 1 && mean > interval + interval / 4;
        source(if slow { mean } else { interval })
    }
}

pub(super) fn source(interval: Duration) -> Source {
    Source::Sampled { interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX) }
}
