//! A tensor that moves to the device and back without its host memory being released.

use std::collections::VecDeque;

use super::finding::{Finding, TrendVerdict};
use super::pattern::pattern;
use super::series::{Point, shape, worker};
use crate::telemetry::{Figure, Metric, Sample};
use plimsoll_memory::bytes::ByteSize;

/// The most reports that a round trip may take.
const WINDOW: usize = 6;

/// The most findings that are kept.
const MOST_FINDINGS: usize = 16;

/// The smallest round trip that counts.
const GIB: f64 = (1u64 << 30) as f64;

/// Watches reports that state device and host memory together.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    recent: VecDeque<Sample>,
    found: Vec<Finding>,
}

impl RoundTrips {
    pub(super) fn push(&mut self, sample: &Sample) {
        let Some((device, host)) = both(sample) else { return };
        if self.found.len() < MOST_FINDINGS
            && let Some(trip) = self.trip(sample, device, host)
        {
            self.found.push(trip);
            self.recent.clear();
        }
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(sample.clone());
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.found.clone()
    }

    /// Finds a report before the trip and one at its far end, if `sample` is the return.
    fn trip(&self, sample: &Sample, device: Figure, host: Figure) -> Option<Finding> {
        let same = |other: &&Sample| worker(other) == worker(sample);
        let reports: Vec<&Sample> = self.recent.iter().filter(same).collect();
        if reports.iter().chain([&sample]).any(|report| builds(report.label.as_deref().unwrap_or(""))) {
            return None;
        }
        reports.iter().enumerate().find_map(|(at, start)| {
            let (device_start, host_start) = both(start)?;
            let far = reports[at + 1..].iter().max_by_key(|report| both(report).map(|both| both.0.bytes))?;
            let (device_far, _) = both(far)?;
            let out = device_far.value() - device_start.value();
            let off = (device.value() - device_start.value()).abs();
            let rounding = (device.resolution.bytes() + device_start.resolution.bytes()) as f64;
            let grown = host.value() - host_start.value();
            // Offloading moves bytes to the host for good; here the device is back exactly where it was.
            let back = off <= rounding + 0.01 * out;
            (out > GIB && back && grown > out / 2.0).then(|| self.finding(sample, start, far, out, grown))?
        })
    }

    fn finding(&self, end: &Sample, start: &Sample, far: &Sample, out: f64, grown: f64) -> Option<Finding> {
        let point = |sample: &Sample| {
            let figure = sample.figure(Metric::HostUsed)?;
            Some(Point { step: sample.step, figure, position: sample.position, clock: sample.clock, run: 0 })
        };
        let readings = [point(start)?, point(far)?, point(end)?];
        let (pattern, statistics) = pattern(&readings)?;
        let size = |bytes: f64| ByteSize::new(bytes.max(0.0) as u64);
        let mut explanation = format!(
            "{} moved to the device and back, and the host holds {} more: the memory of the copy back is not reused",
            size(out),
            size(grown)
        );
        // The trip alone shows how much of each byte remains, for any number of parameters.
        let share = grown / out;
        explanation.push_str(&format!(
            "; {share:.2} B remain of each byte moved: {:.1} B a parameter in 16 bits, {:.1} in fp32",
            2.0 * share,
            4.0 * share
        ));
        if let Some(reserved) = end.figure(Metric::Reserved) {
            explanation.push_str(&format!("; {} stay cached on the device", reserved.bytes));
        }
        Some(Finding {
            verdict: TrendVerdict::HostGrowth,
            format: end.format,
            label: end.label.clone().unwrap_or_default(),
            metric: Metric::HostUsed,
            worker: worker(end),
            pattern,
            statistics,
            shape: shape(&readings),
            latest: end.figures.clone(),
            spread: None,
            evidence: readings.iter().map(|point| point.position).collect(),
            explanation,
        })
    }
}

/// Device and host memory of a report that states both.
fn both(sample: &Sample) -> Option<(Figure, Figure)> {
    Some((sample.figure(Metric::Allocated)?, sample.figure(Metric::HostUsed)?))
}

/// Whether `label` names a phase in which state is created or moved for good.
fn builds(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    ["init", "creat", "offload", "partition", "load", "fp16", "fp32", "flatten"].iter().any(|word| label.contains(word))
}
