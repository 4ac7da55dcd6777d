//! NeMo-RL's debugging lines: `[gpumem]` and `[GPU_DIAG]`.

use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{behind, count, number, unit};

/// `[gpumem] tag=T rank=R alloc=.. max_alloc=.. reserved=.. max_reserved=.. driver_used=.. total=..`, GiB.
pub(super) fn gpumem(line: &Line<'_>) -> Option<Sample> {
    let text = ["[gpumem]", "[gumem]"].iter().find_map(|mark| behind(&line.text, mark))?;
    let mut sample = Sample::new(Format::Gpumem, line.position);
    for word in text.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else { continue };
        let metric = match name {
            "tag" => {
                sample.label = Some(value.to_owned());
                continue;
            }
            "rank" => {
                sample.rank = value.parse().ok();
                continue;
            }
            "step" => {
                sample.step = value.parse().ok();
                continue;
            }
            "alloc" => Metric::Allocated,
            "max_alloc" => Metric::MaxAllocated,
            "reserved" => Metric::Reserved,
            "max_reserved" => Metric::MaxReserved,
            "driver_used" => Metric::DeviceUsed,
            "total" => Metric::DeviceTotal,
            _ => continue,
        };
        let figure = number(value).and_then(|number| number.figure(unit(number.rest).map_or(1 << 30, |unit| unit.0)));
        sample.with(metric, figure);
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}

/// `[GPU_DIAG] [worker] [label] host=.. rank=.. | NVML: total=..MB used=..MB free=..MB | PyTorch: allocated=..MB ..`.
pub(super) fn gpu_diag(line: &Line<'_>) -> Option<Sample> {
    let text = behind(&line.text, "[GPU_DIAG]")?;
    let mut sample = Sample::new(Format::GpuDiag, line.position);
    let mut brackets = text.split('[').skip(1).filter_map(|part| part.split(']').next());
    let worker = brackets.next();
    sample.label = brackets.next().or(worker).map(|label| label.trim().to_owned());
    let head = text.split('|').next().unwrap_or("");
    sample.rank = count(head, "rank=");
    sample.device = count(head, "physical_dev=").or_else(|| count(head, "logical_dev="));
    sample.host = behind(head, "host=").and_then(|rest| rest.split_whitespace().next()).map(str::to_owned);
    for (section, name, metric) in [
        ("NVML:", "total=", Metric::DeviceTotal),
        ("NVML:", "used=", Metric::DeviceUsed),
        ("NVML:", "free=", Metric::DeviceFree),
        ("PyTorch:", "allocated=", Metric::Allocated),
        ("PyTorch:", "reserved=", Metric::Reserved),
    ] {
        let found = text.split('|').find_map(|part| behind(part, section));
        let figure = found.and_then(|part| number(behind(part, name)?)).and_then(|n| n.figure(unit(n.rest)?.0));
        sample.with(metric, figure);
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}
