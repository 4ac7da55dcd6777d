//! [`Columns`]: tables whose rows have numbers alone, each known by its header: those of nvidia-smi (comma-separated
//! values, `dmon`, `pmon` and `-q`), and the [`headers`] of training loops and of processes.

use super::headers::{self, Apart, Column, Header};
use super::line::Line;
use super::sample::{Format, Metric, Sample};
use super::scan::{Number, number, of_bytes, whole};
use super::versions;

/// Rows of numbers without a unit follow each other, or their header, within this many lines.
const NEAR: u64 = 2;
/// A block of `-q` has at most this many lines.
const BLOCK: u64 = 8;
const MIB: u64 = 1 << 20;

/// A block of `nvidia-smi -q`: `FB Memory Usage`, or another kind of memory.
#[derive(Debug)]
struct Block {
    begins: u64,
    sample: Option<Sample>,
}

/// The tables of one process.
#[derive(Debug, Default)]
pub(super) struct Columns {
    header: Option<Header>,
    block: Option<Block>,
    /// How many GPUs a report of `-q` has shown; `None` outside such a report.
    gpus: Option<u64>,
}

impl Columns {
    /// Takes `line` if it belongs to a table.
    pub(super) fn take(&mut self, line: &Line<'_>, samples: &mut Vec<Sample>) -> bool {
        let text = line.text.trim();
        if let Some(header) = header(text, line.position.line) {
            self.header = Some(header);
            return true;
        }
        if text.starts_with("# Idx") && self.header.is_some() {
            return true;
        }
        self.in_block(line, text, samples) || self.row(line, text, samples)
    }

    fn row(&mut self, line: &Line<'_>, text: &str, samples: &mut Vec<Sample>) -> bool {
        let Some(header) = &mut self.header else { return false };
        let Some(fields) = header.fields(text) else { return false };
        let near = line.position.line.saturating_sub(header.last) <= NEAR;
        if !header.lasts && !near {
            return false;
        }
        let mut sample = Sample::new(Format::Plain, line.position);
        for (column, field) in header.columns.iter().zip(&fields) {
            match column {
                Column::Other => {}
                // A cell without a value.
                _ if matches!(*field, "-" | "[N/A]" | "N/A" | "[Not Supported]") => {}
                Column::Device | Column::Process => {
                    let Some(number) = whole(field).filter(|_| field.bytes().all(|byte| byte.is_ascii_digit())) else {
                        return false;
                    };
                    match column {
                        Column::Device => sample.device = Some(number),
                        _ => sample.pid = Some(number),
                    }
                }
                Column::Name => {
                    // A time of day is no name.
                    let timed = field.starts_with(|c: char| c.is_ascii_digit()) && field.contains(':');
                    sample.label = Some((*field).to_owned()).filter(|_| !timed);
                    sample.step = sample.step.or_else(|| whole(field).filter(|_| !timed));
                }
                Column::Version => sample.format = Format::Versions,
                Column::Step => sample.step = whole(field),
                Column::Rank => sample.rank = whole(field),
                Column::Figure(metric, unit) => {
                    // `412.6MiB / 2GiB`: the rest is the limit.
                    let field = field.split_once(" / ").map_or(*field, |(used, _)| used);
                    let Some((amount, size, alone)) = amount(field, *unit, header.letters) else { return false };
                    // A number without a unit that does not follow the table belongs to something else.
                    if alone && !near {
                        return false;
                    }
                    // Without a device, a loop prints nothing but zeros.
                    if *metric == Metric::StillInUse {
                        sample.format = Format::VllmSleep;
                    }
                    if amount.value > 0.0 || header.lasts {
                        sample.with(*metric, amount.figure(size));
                    }
                }
            }
        }
        if !sample.tells() {
            return false;
        }
        header.last = line.position.line;
        line.sign(&mut sample);
        samples.push(sample);
        true
    }

    fn in_block(&mut self, line: &Line<'_>, text: &str, samples: &mut Vec<Sample>) -> bool {
        if text.starts_with("Attached GPUs") {
            (self.gpus, self.block) = (Some(0), None);
            return true;
        }
        if text.ends_with("Memory Usage") && text.len() < 60 {
            let own = text == "FB Memory Usage";
            let mut sample = Sample::new(Format::Plain, line.position);
            if own {
                sample.device = self.gpus;
                self.gpus = self.gpus.map(|gpus| gpus + 1);
            }
            self.block = Some(Block { begins: line.position.line, sample: own.then_some(sample) });
            return true;
        }
        let Some(block) = &mut self.block else { return false };
        let old = line.position.line.saturating_sub(block.begins) > BLOCK;
        let Some((key, value)) = text.split_once(':').filter(|_| !old) else {
            self.block = None;
            return false;
        };
        let metric = match key.trim() {
            "Total" => Some(Metric::DeviceTotal),
            "Used" => Some(Metric::DeviceUsed),
            "Free" => Some(Metric::DeviceFree),
            // The driver's own, not PyTorch's.
            "Reserved" => None,
            _ => {
                self.block = None;
                return false;
            }
        };
        if let Some(sample) = &mut block.sample
            && let Some(metric) = metric
        {
            let amount = number(value).filter(|amount| amount.rest.trim() == "MiB");
            sample.with(metric, amount.and_then(|amount| amount.figure(MIB)));
        }
        if metric == Some(Metric::DeviceFree) {
            let done = self.block.take().and_then(|block| block.sample).filter(Sample::tells);
            samples.extend(done.map(|mut sample| {
                line.sign(&mut sample);
                sample
            }));
        }
        true
    }
}

/// The amount in a cell, the bytes of its unit, and whether that is the column's. The units of `top` and of `kubectl` are
/// letters.
fn amount(field: &str, unit: Option<u64>, letters: bool) -> Option<(Number<'_>, u64, bool)> {
    let amount = number(field).filter(|amount| amount.value >= 0.0)?;
    let rest = amount.rest.trim();
    let letter = match rest {
        "Ki" => Some(1 << 10),
        "m" | "Mi" => Some(1 << 20),
        "g" | "Gi" => Some(1 << 30),
        "t" => Some(1 << 40),
        _ => None,
    };
    let own =
        letter.filter(|_| letters).or_else(|| of_bytes(amount.rest).filter(|own| own.1.is_empty()).map(|own| own.0));
    match own {
        Some(own) => Some((amount, own, false)),
        None => unit.filter(|_| rest.is_empty()).map(|unit| (amount, unit, true)),
    }
}

/// The header that `text` is, at line `last`.
fn header(text: &str, last: u64) -> Option<Header> {
    if let Some(names) = text.strip_prefix('#') {
        let names: Vec<&str> = names.split_ascii_whitespace().collect();
        let is = names.first() == Some(&"gpu") && names.contains(&"fb") && names.len() <= headers::MOST_COLUMNS;
        let column = |name: &&str| match *name {
            "gpu" => Column::Device,
            "pid" => Column::Process,
            "fb" => Column::Figure(Metric::DeviceUsed, Some(MIB)),
            _ => Column::Other,
        };
        if is {
            return Some(Header::of_gpus(names.iter().map(column).collect(), Apart::Blanks, last));
        }
    }
    if !is_csv_header(text) {
        return headers::of_processes(text, last)
            .or_else(|| headers::of_loop(text, last))
            .or_else(|| headers::of_containers(text, last))
            .or_else(|| headers::of_pods(text, last));
    }
    let column = |name: &str| match name.trim().split([' ', '[']).next().unwrap_or_default() {
        "index" => Column::Device,
        "pid" => Column::Process,
        "memory.used" | "used_memory" | "used_gpu_memory" => Column::Figure(Metric::DeviceUsed, Some(MIB)),
        "memory.total" => Column::Figure(Metric::DeviceTotal, Some(MIB)),
        "memory.free" => Column::Figure(Metric::DeviceFree, Some(MIB)),
        _ => Column::Other,
    };
    Some(Header::of_gpus(text.split(',').take(headers::MOST_COLUMNS).map(column).collect(), Apart::Commas, last))
}

fn is_csv_header(text: &str) -> bool {
    let names = ["memory.used", "memory.free", "used_memory [", "used_gpu_memory"];
    // `memory.used=4200 MiB` is a reading.
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    names.iter().any(|name| text.contains(name))
        && !text.contains("--query")
        && !text.contains("nvidia-smi")
        && !text.split([' ', '=', ':']).any(number)
}

/// Whether `line` is the header of a table whose rows contain no text to search for.
pub(crate) fn heads_rows(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|text| header(text.trim(), 0).is_some() || versions::heads(text.trim()))
}

/// Whether `line` looks like a row, or a repeated header, of such a table.
pub(crate) fn is_row(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let begins = |word: &[u8]| word.first().is_some_and(u8::is_ascii_digit);
    let numbers = || line.split(u8::is_ascii_whitespace).filter(|word| begins(word)).count();
    line.len() < 300
        && line.first().is_some_and(|first| first.is_ascii_digit() || *first == b'#' || *first == b'|' || numbers() > 1)
}

#[cfg(test)]
mod tests;
