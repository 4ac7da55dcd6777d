//! The table of `torch.cuda.memory_summary`.

use super::figure::Figure;
use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{count, number, unit};

/// The table's first line, with the device.
pub(super) fn begins(line: &Line<'_>) -> Option<Sample> {
    let rest = super::scan::behind(&line.text, "PyTorch CUDA memory summary")?;
    let mut sample = Sample::new(Format::MemorySummary, line.position);
    sample.label = Some("memory_summary".to_owned());
    sample.device = count(rest, "device ID ");
    line.sign(&mut sample);
    Some(sample)
}

/// Adds a row of the table; `true` if it is the last.
pub(super) fn row(text: &str, sample: &mut Sample) -> bool {
    if text.contains("cudaMalloc retries:") {
        sample.ooms = count(text, "CUDA OOMs:");
        sample.retries = count(text, "cudaMalloc retries:");
        return false;
    }
    let Some(start) = text.find('|') else { return false };
    let mut cells = text[start + 1..].split('|');
    let name = cells.next().unwrap_or("").trim();
    let (current, peak) = match name {
        "Allocated memory" => (Some(Metric::Allocated), Some(Metric::MaxAllocated)),
        "Active memory" => (Some(Metric::Active), None),
        "Requested memory" => (Some(Metric::Requested), None),
        "GPU reserved memory" => (Some(Metric::Reserved), Some(Metric::MaxReserved)),
        "Oversize GPU segments" => return true,
        _ => return false,
    };
    for metric in [current, peak] {
        let figure = cells.next().and_then(cell);
        if let Some(metric) = metric {
            sample.with(metric, figure);
        }
    }
    false
}

/// `  1234 MiB `: divided and rounded down, so the true value is up to one unit larger.
fn cell(text: &str) -> Option<Figure> {
    let number = number(text)?;
    let (unit, _) = unit(number.rest)?;
    // The middle of the unit, half of it on each side.
    let step = if unit > 1 { 1.0 } else { 0.0 };
    Figure::rounded(number.value + step / 2.0, unit, step)
}
