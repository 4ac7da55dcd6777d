//! The line of `plimsoll.log_memory`.

use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{behind, number, whole};

/// Plimsoll's own line: `plimsoll memory label="after forward" step=3 device=0 allocated=123 rss=456`, in bytes.
pub(super) fn own(line: &Line<'_>) -> Option<Sample> {
    let rest = behind(&line.text, "plimsoll memory ")?;
    let mut sample = Sample::new(Format::Plimsoll, line.position);
    sample.label = behind(rest, "label=\"").and_then(|label| Some(label.split_once('"')?.0.to_owned()));
    let fields = behind(rest, "\" ").unwrap_or(rest);
    let field = |name: &str| fields.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let count = |name: &str| field(name).and_then(whole);
    (sample.step, sample.rank, sample.device, sample.pid) =
        (count("step"), count("rank"), count("device"), count("pid"));
    for (name, metric) in [
        ("allocated", Metric::Allocated),
        ("max_allocated", Metric::MaxAllocated),
        ("reserved", Metric::Reserved),
        ("max_reserved", Metric::MaxReserved),
        ("device_used", Metric::DeviceUsed),
        ("device_total", Metric::DeviceTotal),
        ("rss", Metric::HostUsed),
        ("peak_rss", Metric::HostPeak),
    ] {
        sample.with(metric, field(name).and_then(number).and_then(|number| number.figure(1)));
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}
