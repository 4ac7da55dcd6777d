//! Lines whose figure has no word for memory, or no unit, that a known printer writes: rows of training loops, of
//! nvidia-smi, and amounts beside the name of a phase.

use super::kind::kind;
use super::label;
use super::line::Line;
use super::sample::{Metric, Sample};
use super::scan::{number, unit, whole};
use super::spelled::titled;
use crate::ascii::regex;

/// Words for the phases of a training.
const PHASES: [&str; 14] = [
    "forward", "backward", "optim", "step", "loss", "model", "init", "eval", "epoch", "grad", "cache", "train",
    "generat", "valid",
];

/// The reading of `text`, the message of `line`; `said` is the last text before it.
pub(super) fn read(line: &Line<'_>, text: &str, said: &str) -> Option<Sample> {
    if let Some(sample) = below(line, text, said) {
        return Some(sample);
    }
    let (metric, amount, size, label) = loop_row(text).or_else(|| query_row(text)).or_else(|| phase_row(text))?;
    line.reading(metric, number(amount)?.figure(size), label)
}

/// A row below a heading that says what its amounts are: `swap 10: 4.82 GB` below `memory_allocated() after each swap:`.
fn below(line: &Line<'_>, text: &str, said: &str) -> Option<Sample> {
    let row = regex!(
        r"^[-*\s]{0,4}(?P<name>[a-zA-Z][a-zA-Z_ ]{0,20}?)[ #]{0,3}(?P<count>\d{1,7})(?P<apart>\s*[:=|-]\s*|\s{2,})(?P<amount>\d+(?:\.\d+)?)\s?(?P<unit>[KMG]i?B)?\s*(?:\(.{0,60}\))?$"
    );
    let found = row.captures(text)?;
    let name = found["name"].trim().to_ascii_lowercase();
    let metric = headed(said).filter(|_| kind(&name).is_none() && !name.contains("size"))?;
    let size = match found.name("unit") {
        Some(name) => unit(name.as_str())?.0,
        None => titled(said)?,
    };
    let mut sample = line.reading(metric, number(&found["amount"])?.figure(size), None)?;
    let count = found["count"].parse().ok();
    match name.as_str() {
        "rank" => sample.rank = count,
        "gpu" | "cuda" | "device" => sample.device = count,
        _ => sample.step = count,
    }
    Some(sample)
}

/// The kind of memory that a heading says the amounts below it are of.
fn headed(said: &str) -> Option<Metric> {
    // What grows with the size of the work is no course.
    if regex!(r"(?i)\b(?:by|per|for each) (?:the )?(?:number|count|size|amount|batch|thread|worker|model|user|row)s?\b")
        .is_match(said)
    {
        return None;
    }
    // A sentence may name it anywhere, and say how it was read.
    let mut parts = said.rsplit(['(', ')', ',', ';', '|', ':', '`']).filter(|part| part.len() < 80);
    parts.find_map(kind).filter(|metric| !matches!(metric, Metric::DeviceTotal | Metric::DeviceFree))
}

/// What a row says: the metric, where its number begins, the bytes of its unit, and the phase.
type Row<'a> = (Metric, &'a str, u64, Option<String>);

/// A row of torchvision's and DETR's loops, or of OpenMMLab's, which print MiB: `loss: 2.30 max mem: 5120`.
fn loop_row(text: &str) -> Option<Row<'_>> {
    if !["loss", "eta: ", "lr: "].iter().any(|word| text.contains(word)) {
        return None;
    }
    let rest = ["max mem: ", ", memory: ", "max_mem: "].iter().find_map(|key| Some(text.split_once(key)?.1));
    // Later versions put gaps between their fields.
    let apart = || Some(text.split_once("  memory: ")?.1).filter(|rest| regex!(r"^\d+(?:  |$)").is_match(rest));
    let rest = rest.or_else(apart)?;
    let alone = !number(rest)?.rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '%' | '/'));
    (alone && (100..4_000_000).contains(&whole(rest)?)).then_some((Metric::MaxAllocated, rest, 1 << 20, None))
}

/// A row of comma-separated values with the name of a GPU and one amount: `NVIDIA L4, 45 %, 3210 MiB`.
fn query_row(text: &str) -> Option<Row<'_>> {
    let mut fields = text.split(',').map(str::trim);
    let gpu = |field: &str| ["NVIDIA ", "Tesla ", "GeForce ", "Quadro "].iter().any(|name| field.starts_with(name));
    if !fields.clone().any(gpu) {
        return None;
    }
    let amount = fields.find(|field| number(field).is_some_and(|found| found.rest.trim() == "MiB"))?;
    Some((Metric::DeviceUsed, amount, 1 << 20, None))
}

/// An amount beside nothing but a phase: `after backward: 3.21 GB`.
fn phase_row(text: &str) -> Option<Row<'_>> {
    let (words, amount) = text.split_once([':', '='])?;
    let (size, rest) = unit(number(amount)?.rest)?;
    let lower = words.to_ascii_lowercase();
    let phase = PHASES.iter().any(|phase| lower.contains(phase)) && !lower.contains("size");
    let label = label::said(words).filter(|_| phase && size >= 1 << 20 && rest.trim_matches(['.', ' ']).is_empty())?;
    Some((Metric::Allocated, amount, size, Some(label)))
}
