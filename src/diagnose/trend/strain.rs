//! [`strained`]: an allocator that itself reports failed or retried requests.

use super::finding::{Finding, TrendVerdict};
use super::held::{Held, State, judge};
use super::pattern::pattern;
use super::series::{Point, shape, worker};
use crate::telemetry::{Metric, Sample};
use plimsoll_memory::bytes::GIB;
use plimsoll_memory::text::counted;

/// Tensors that held this many hundredths of the reserved memory filled the device.
const FULL: u64 = 95;

/// The finding in the counters of `sample`: failures and retries, compared with the memory that is held and unused.
pub(super) fn strained(sample: &Sample) -> Option<Finding> {
    let figure = |metric| sample.figure(metric).map(|figure| figure.bytes);
    let (reserved, allocated) = (figure(Metric::Reserved), figure(Metric::Allocated));
    let unused = reserved.zip(allocated).map(|(reserved, allocated)| reserved.saturating_sub(allocated));
    // The table is often printed after the failure, when tensors are gone: its peak shows what they held.
    let most = figure(Metric::MaxReserved).max(reserved);
    let peak = figure(Metric::MaxAllocated).zip(most).filter(|(peak, most)| peak.bytes() >= most.bytes() / 100 * FULL);
    // At least a tenth of the held memory and 1 GiB is unused: requests that fail nevertheless found it in pieces.
    let in_pieces = unused
        .zip(reserved)
        .filter(|(unused, reserved)| unused.bytes() > GIB && unused.bytes() > reserved.bytes() / 10)
        .filter(|_| peak.is_none());
    let (ooms, retries) = (sample.ooms.unwrap_or(0), sample.retries.unwrap_or(0));
    let mut told = Vec::new();
    if ooms > 0 {
        told.push(counted(ooms, "out-of-memory error", "out-of-memory errors"));
    }
    if retries > 0 {
        told.push(counted(retries, "retry of cudaMalloc", "retries of cudaMalloc"));
    }
    let counts = format!("the allocator counts {}", told.join(" and "));
    let (verdict, explanation) = match in_pieces {
        Some((unused, reserved)) => (
            TrendVerdict::Fragmentation,
            format!("{counts}, although no tensor uses {unused} of the {reserved} that it holds: they are in pieces"),
        ),
        None => {
            let full = peak.map(|(peak, most)| format!("tensors held up to {peak} of the {most} that it reserved"));
            let full = full.unwrap_or_else(|| "the device is full".to_owned());
            (TrendVerdict::NearCapacity, format!("{counts}: {full}"))
        }
    };
    finding(sample, verdict, explanation)
}

/// The finding in a table without failures or retries whose allocator holds much that no tensor uses.
pub(super) fn idle(sample: &Sample) -> Option<Finding> {
    let figure = |metric| sample.figure(metric).map(|figure| figure.bytes);
    let (reserved, allocated) = (figure(Metric::Reserved)?, figure(Metric::Allocated)?);
    let unused = reserved.saturating_sub(allocated);
    let peak = figure(Metric::MaxAllocated);
    let never =
        peak.filter(|peak| peak.bytes() < reserved.bytes() / 2 && reserved.saturating_sub(*peak).bytes() > 2 * GIB);
    let stays = format!("no tensor uses {unused} of the {reserved} that the allocator holds");
    let held = Held {
        rises: false,
        allocated: Some(allocated.bytes() as f64),
        reserved: Some(reserved.bytes() as f64),
        by_rank: never.is_some(),
    };
    match (never, judge(&held, None)) {
        (Some(peak), _) => finding(
            sample,
            TrendVerdict::Fragmentation,
            format!(
                "{stays}, and tensors never held more than {peak}, unless the peak was reset: the allocator reserved more because its free memory was in pieces"
            ),
        ),
        (None, State::Cache | State::Fragmentation) => {
            let used = peak.map_or_else(String::new, |peak| format!("; tensors held up to {peak}"));
            finding(
                sample,
                TrendVerdict::CacheNotLeak,
                format!("{stays}{used}: this is the allocator's cache, not a leak"),
            )
        }
        _ => None,
    }
}

/// A finding in the figures of one report.
fn finding(sample: &Sample, verdict: TrendVerdict, explanation: String) -> Option<Finding> {
    let reserved = sample.figure(Metric::Reserved);
    let metric = if reserved.is_some() { Metric::Reserved } else { *sample.figures.keys().next()? };
    let point = Point {
        step: sample.step,
        figure: sample.figure(metric)?,
        position: sample.position,
        clock: sample.clock,
        run: 0,
    };
    let (pattern, statistics) = pattern(&[point])?;
    Some(Finding {
        verdict,
        format: sample.format,
        label: sample.label.clone().unwrap_or_default(),
        metric,
        worker: worker(sample),
        pattern,
        statistics,
        shape: shape(&[point]),
        latest: sample.figures.clone(),
        spread: None,
        evidence: vec![sample.position],
        explanation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Figure, Format, Position};
    use plimsoll_memory::bytes::ByteSize;

    #[test]
    fn m18_failures_beside_unused_memory_are_fragmentation_and_retries_a_full_device() {
        let of = |reserved: u64, allocated: u64, ooms, retries| {
            let mut sample = Sample::new(Format::MemorySummary, Position::default());
            for (metric, gib) in [(Metric::Reserved, reserved), (Metric::Allocated, allocated)] {
                let figure = Figure { bytes: ByteSize::new(gib * GIB), resolution: ByteSize::ZERO };
                sample.figures.insert(metric, figure);
            }
            (sample.ooms, sample.retries) = (Some(ooms), Some(retries));
            strained(&sample).unwrap()
        };
        let found = of(22, 12, 1, 3);
        assert_eq!(found.verdict, TrendVerdict::Fragmentation);
        assert_eq!(
            found.explanation,
            "the allocator counts 1 out-of-memory error and 3 retries of cudaMalloc, although no tensor uses 10.00 GiB of \
             the 22.00 GiB that it holds: they are in pieces"
        );
        assert_eq!(of(22, 21, 0, 3).verdict, TrendVerdict::NearCapacity);
    }

    #[test]
    fn m18_the_peak_of_a_table_shows_whether_tensors_filled_the_device() {
        let of = |allocated: u64, peak: u64, reserved: u64, ooms| {
            let mut sample = Sample::new(Format::MemorySummary, Position::default());
            let figures = [(Metric::Allocated, allocated), (Metric::MaxAllocated, peak), (Metric::Reserved, reserved)];
            for (metric, gib) in figures {
                let figure = Figure { bytes: ByteSize::new(gib * GIB), resolution: ByteSize::ZERO };
                sample.figures.insert(metric, figure);
            }
            sample.ooms = Some(ooms);
            if ooms > 0 { strained(&sample) } else { idle(&sample) }
        };
        // Printed after the failure, when the tensors were gone.
        let full = of(12, 76, 77, 1).unwrap();
        assert_eq!(full.verdict, TrendVerdict::NearCapacity);
        assert!(full.explanation.contains("tensors held up to 76.00 GiB of the 77.00 GiB"), "{}", full.explanation);
        assert_eq!(of(12, 20, 77, 1).unwrap().verdict, TrendVerdict::Fragmentation);
        assert_eq!(of(9, 9, 38, 0).unwrap().verdict, TrendVerdict::Fragmentation);
        assert_eq!(of(9, 37, 38, 0).unwrap().verdict, TrendVerdict::CacheNotLeak);
        assert_eq!(of(30, 31, 33, 0), None);
    }
}
