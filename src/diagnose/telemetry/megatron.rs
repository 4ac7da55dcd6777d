//! Megatron's memory lines: several ranks may share one line, and versions differ in their digits.

use super::figure::Figure;
use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{after, count, number};

/// The most reports read from one line: a node has no more ranks.
const REPORTS: usize = 64;

/// The reports of `line`.
pub(super) fn reports(line: &Line<'_>, samples: &mut Vec<Sample>) {
    let text = &*line.text;
    let marks = ["memory (MB) |", "memory (GB) |"];
    let mut starts: Vec<(usize, &str)> =
        marks.iter().flat_map(|&mark| text.match_indices(mark).map(move |(at, _)| (at, mark))).collect();
    starts.sort_unstable();
    let mut previous_end = 0;
    for (index, &(at, mark)) in starts.iter().take(REPORTS).enumerate() {
        let next = starts.get(index + 1).map_or(text.len(), |next| next.0);
        let head = &text[previous_end..at];
        let body = &text[at + mark.len()..next];
        // Stop before the next report's prefix.
        let body = body.find("[Rank ").map_or(body, |end| &body[..end]);
        previous_end = at + mark.len() + body.len();
        let bridge = mark.contains("GB") || body.contains("-gigabytes:");
        let format = if bridge { Format::MegatronBridge } else { Format::Megatron };
        let mut sample = Sample::new(format, line.position);
        sample.rank = head.rfind("[Rank ").and_then(|at| count(&head[at..], "[Rank "));
        sample.step = head.rfind("after ").and_then(|at| count(&head[at..], "after "));
        sample.label = Some("after iterations".to_owned());
        if bridge {
            gigabytes(body, &mut sample)
        } else {
            megabytes(body, &mut sample)
        }
        line.sign(&mut sample);
        samples.extend(sample.tells().then_some(sample));
    }
}

/// `allocated: 1234.56 | max allocated: ..`, MB of 2^20.
fn megabytes(body: &str, sample: &mut Sample) {
    for field in body.split('|') {
        let Some((name, value)) = field.split_once(':') else { continue };
        let metric = match name.trim() {
            "allocated" => Metric::Allocated,
            "max allocated" => Metric::MaxAllocated,
            "reserved" => Metric::Reserved,
            "max reserved" => Metric::MaxReserved,
            "total device memory used" => Metric::DeviceUsed,
            _ => continue,
        };
        sample.with(metric, number(value).and_then(|number| number.figure(1 << 20)));
    }
}

/// `mem-allocated-gigabytes: 51.072 | ..`, GB of 10^9, rounded to five significant digits.
fn gigabytes(body: &str, sample: &mut Sample) {
    for field in body.split('|') {
        let Some((name, value)) = field.split_once(':') else { continue };
        let Some(number) = number(value) else { continue };
        let metric = match name.trim() {
            "mem-allocated-gigabytes" => Metric::Allocated,
            "mem-max-allocated-gigabytes" => Metric::MaxAllocated,
            "mem-reserved-gigabytes" => Metric::Reserved,
            "mem-max-reserved-gigabytes" => Metric::MaxReserved,
            "mem-active-gigabytes" => Metric::Active,
            "host-mem-allocated-gigabytes" => Metric::HostUsed,
            "host-mem-max-allocated-gigabytes" => Metric::HostPeak,
            "mem-alloc-retires" | "mem-alloc-retries" => {
                sample.retries = Some(number.value as u64);
                continue;
            }
            _ => continue,
        };
        let digits = if number.value > 0.0 { number.value.log10().floor() as i32 - 4 } else { -5 };
        sample.with(metric, Figure::rounded(number.value, 1_000_000_000, 10f64.powi(digits)));
    }
}

/// `Theoretical memory footprints: weight and optimizer=57438.81 MB, activation=..`.
pub(super) fn theory(line: &Line<'_>) -> Option<Sample> {
    let text = super::scan::behind(&line.text, "Theoretical memory footprints:")?;
    let total = after(text, "total=").or_else(|| after(text, "weight and optimizer="))?;
    let mut sample = Sample::new(Format::MegatronTheory, line.position);
    sample.label = Some(if text.contains("total=") { "total" } else { "weight and optimizer" }.to_owned());
    sample.with(Metric::EstimatedDevice, total.figure(1 << 20));
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}
