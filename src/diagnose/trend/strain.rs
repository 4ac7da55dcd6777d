//! [`strained`]: an allocator that itself reports failed or retried requests.

use super::finding::{Finding, Verdict};
use super::pattern::pattern;
use super::series::{Point, shape, worker};
use crate::telemetry::{Metric, Sample};
use plimsoll_memory::bytes::GIB;
use plimsoll_memory::text::counted;

/// The finding in the counters of `sample`: failures and retries, compared with the memory that is held and unused.
pub(super) fn strained(sample: &Sample) -> Option<Finding> {
    let figure = |metric| sample.figure(metric).map(|figure| figure.bytes);
    let (reserved, allocated) = (figure(Metric::Reserved), figure(Metric::Allocated));
    let unused = reserved.zip(allocated).map(|(reserved, allocated)| reserved.saturating_sub(allocated));
    // At least a tenth of the held memory and 1 GiB is unused: requests that fail nevertheless found it in pieces.
    let in_pieces = unused
        .zip(reserved)
        .filter(|(unused, reserved)| unused.bytes() > GIB && unused.bytes() > reserved.bytes() / 10);
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
            Verdict::Fragmentation,
            format!("{counts}, although no tensor uses {unused} of the {reserved} that it holds: they are in pieces"),
        ),
        None => (Verdict::NearCapacity, format!("{counts}: the device is full")),
    };
    let metric = if reserved.is_some() { Metric::Reserved } else { *sample.figures.keys().next()? };
    let point = Point { step: sample.step, figure: sample.figure(metric)?, position: sample.position, run: 0 };
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
        assert_eq!(found.verdict, Verdict::Fragmentation);
        assert_eq!(
            found.explanation,
            "the allocator counts 1 out-of-memory error and 3 retries of cudaMalloc, although no tensor uses 10.00 GiB of \
             the 22.00 GiB that it holds: they are in pieces"
        );
        assert_eq!(of(22, 21, 0, 3).verdict, Verdict::NearCapacity);
    }
}
