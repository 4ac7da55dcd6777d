//! [`Collector`]: turns samples into trends, in constant memory.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_statistics::median;

use super::finding::{TrendVerdict, Trends};
use super::judge::judge;
use super::round_trip::RoundTrips;
use super::series::{AllSeries, Key, numbered, worker};
use super::sleep::Sleeps;
use super::strain::{idle, strained};
use crate::telemetry::{Format, Metric, Position, Sample};
use plimsoll_memory::bytes::ByteSize;

/// The most series that are kept; each is one rank, label and metric.
const MOST_SERIES: usize = 8192;

/// The most step durations that are kept.
const MOST_TIMES: usize = 4096;

/// The metrics whose trends are meaningful: a peak never falls.
const TRENDING: [Metric; 6] = [
    Metric::Allocated,
    Metric::Reserved,
    Metric::MaxReserved,
    Metric::DeviceUsed,
    Metric::HostUsed,
    Metric::StillInUse,
];

/// In lines of a person's own a peak counts as well: it may be all they print, or that of a phase. Megatron prints it
/// beside what remains between iterations.
const PEAKS: [Metric; 2] = [Metric::MaxAllocated, Metric::HostPeak];

/// Free memory is the remainder, and counts if a line has nothing else.
const REMAINDERS: [Metric; 2] = [Metric::DeviceFree, Metric::HostFree];

/// What the allocator holds and no tensor uses, in bytes.
fn unused(sample: &Sample) -> u64 {
    let bytes = |metric| sample.figure(metric).map_or(0, |figure| figure.bytes.bytes());
    bytes(Metric::Reserved).saturating_sub(bytes(Metric::Allocated))
}

/// Collects samples and judges them.
#[derive(Debug, Default)]
pub struct Collector {
    pub(super) series: AllSeries,
    kept: usize,
    omitted: u64,
    samples: u64,
    times: Vec<f64>,
    retries: Option<u64>,
    ooms: Option<u64>,
    device_total: Option<ByteSize>,
    formats: BTreeMap<Format, u64>,
    extent: Option<(Position, Position)>,
    /// The allocator report with the most failures, then the most retries.
    strained: Option<Sample>,
    /// The table of PyTorch with the most unused memory.
    idle: Option<Sample>,
    /// The most lines of other processes that one line of a label stood for.
    pub(super) repeated: BTreeMap<String, u64>,
    round_trips: RoundTrips,
    sleeps: Sleeps,
}

impl Collector {
    /// Adds a sample. Samples of a log are added in its order.
    pub fn push(&mut self, sample: &Sample) {
        self.samples += 1;
        self.retries = self.retries.max(sample.retries);
        self.ooms = self.ooms.max(sample.ooms);
        let strain = |sample: &Sample| (sample.ooms.unwrap_or(0), sample.retries.unwrap_or(0));
        if strain(sample) > self.strained.as_ref().map_or((0, 0), strain) {
            self.strained = Some(sample.clone());
        }
        if sample.format == Format::MemorySummary && unused(sample) > self.idle.as_ref().map_or(0, unused) {
            self.idle = Some(sample.clone());
        }
        let total = sample.figure(Metric::DeviceTotal).map(|total| total.bytes);
        self.device_total = [self.device_total, total].into_iter().flatten().min();
        *self.formats.entry(sample.format).or_default() += 1;
        if !sample.figures.is_empty() {
            let first = self.extent.map_or(sample.position, |(first, _)| first);
            self.extent = Some((first, sample.position));
        }
        if let Some(seconds) = sample.seconds.filter(|_| sample.format != Format::VllmSleep)
            && self.times.len() < MOST_TIMES
        {
            self.times.push(seconds);
        }
        self.round_trips.push(sample);
        self.sleeps.push(sample);
        let (label, number) = numbered(sample.label.as_deref().unwrap_or(""));
        let step = sample.step.or(number);
        if let Some(repeated) = sample.repeated.filter(|_| !sample.figures.is_empty())
            && (self.repeated.len() < MOST_SERIES || self.repeated.contains_key(&label))
        {
            let most = self.repeated.entry(label.clone()).or_default();
            *most = repeated.max(*most);
        }
        let own = matches!(sample.format, Format::Plain | Format::Plimsoll | Format::Megatron | Format::Versions);
        let alone = sample.figures.keys().all(|metric| REMAINDERS.contains(metric) || *metric == Metric::DeviceTotal);
        let peaks = PEAKS.into_iter().filter(|_| own);
        for metric in TRENDING.into_iter().chain(peaks).chain(REMAINDERS.into_iter().filter(|_| alone)) {
            let Some(figure) = sample.figure(metric) else { continue };
            let key = Key { format: sample.format, label: label.clone(), metric };
            let of = worker(sample);
            let full = self.kept >= MOST_SERIES;
            let workers = match full {
                true => self.series.get_mut(&key),
                false => Some(self.series.entry(key).or_default()),
            };
            let Some(workers) = workers.filter(|workers| !full || workers.contains_key(&of)) else {
                self.omitted += 1;
                continue;
            };
            self.kept += usize::from(!workers.contains_key(&of));
            workers.entry(of).or_default().push(step, sample, figure);
        }
    }

    /// Whether no sample was added.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// The median duration of a step in seconds.
    pub(super) fn seconds(&self) -> Option<f64> {
        median(self.times.clone())
    }

    /// Judges the samples.
    pub fn trends(&self) -> Trends {
        let mut findings = judge(&self.series, &self.repeated);
        let counted = self.strained.as_ref().and_then(strained);
        findings.extend(counted.or_else(|| self.idle.as_ref().and_then(idle)));
        findings.extend(self.round_trips.findings());
        findings.extend(self.sleeps.finding());
        // The gravest first; equals stay in the order of the log, which is that of the phases.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        let verdicts: BTreeSet<TrendVerdict> = findings.iter().map(|finding| finding.verdict).collect();
        let mut grave = verdicts.into_iter().rev().filter(|verdict| *verdict != TrendVerdict::ReportOnly);
        let verdict = grave.next().unwrap_or(TrendVerdict::ReportOnly);
        Trends {
            verdict,
            also: grave.collect(),
            findings,
            samples: self.samples,
            formats: self.formats.clone(),
            extent: self
                .extent
                .map_or_else(Vec::new, |(first, last)| if first == last { vec![first] } else { vec![first, last] }),
            omitted_series: (self.omitted > 0).then_some(self.omitted),
            seconds_per_step: self.seconds(),
            retries: self.retries,
            ooms: self.ooms,
            device_total: self.device_total,
        }
    }
}
