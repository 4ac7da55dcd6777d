//! [`Reader`]: turns lines into samples.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::blocks::Blocks;
use super::columns::Columns;
use super::line::{Line, Origin};
use super::marks::Marks;
use super::sample::{Position, Sample};
use super::scan::cut;
use super::versions::Versions;
use super::{diagnostics, megatron, own, plain, single, steps};

/// Longer lines are cut: only reports of several ranks on one line are longer.
const LONGEST_LINE: usize = 32 << 10;

/// How many processes are kept apart; later ones share one place.
const PROCESSES: usize = 256;

/// Labels are cut to this many characters.
const LONGEST_LABEL: usize = 200;

/// Reads the memory lines of a log.
///
/// ```
/// use plimsoll_diagnose::telemetry::{Metric, Position, Reader};
/// let mut samples = Vec::new();
/// let mut reader = Reader::default();
/// let line = "(Worker[rank=3] pid=7) GPU Memory after refit complete: 0.53GB allocated, 5.20GB reserved";
/// reader.line(Position { line: 1, offset: 0 }, line, &mut samples);
/// reader.finish(&mut samples);
/// assert_eq!(samples[0].rank, Some(3));
/// assert_eq!(samples[0].figure(Metric::Reserved).unwrap().bytes.to_string(), "5.20 GiB");
/// ```
#[derive(Debug, Default)]
pub struct Reader {
    /// The processes, each with its reports.
    processes: HashMap<Origin, Process, RandomState>,
    /// The step in the last line that stated one, of any process.
    step: Option<u64>,
    /// Where the last line began, so that a line fed twice counts once.
    last: Option<u64>,
}

/// What is known of a process.
#[derive(Debug, Default)]
struct Process {
    /// Its unfinished reports of several lines.
    blocks: Blocks,
    /// Its last text that is not a figure: the label of DeepSpeed's reports.
    said: String,
    /// The last heading, as Markdown writes them.
    heading: String,
    /// The table of nvidia-smi that its lines belong to.
    columns: Columns,
    /// The comparison of two versions that its lines belong to.
    versions: Versions,
}

impl Process {
    fn says(&mut self, line: &Line<'_>) {
        // A rule of a table says nothing.
        if !line.text.contains(char::is_alphanumeric) {
            return;
        }
        let text = cut(line.message(), LONGEST_LABEL);
        text.clone_into(&mut self.said);
        if line.text.starts_with('#') {
            text.clone_into(&mut self.heading);
        }
    }
}

/// A reader for one kind of line.
type Parser = fn(&Line<'_>) -> Option<Sample>;

/// The readers of single-line formats, by their marks.
const PARSERS: [(usize, Parser); 9] = [
    (Marks::NEMO_RL, single::nemo_rl),
    (Marks::GPUMEM, diagnostics::gpumem),
    (Marks::GPU_DIAG, diagnostics::gpu_diag),
    (Marks::THEORY, megatron::theory),
    (Marks::SLEEP, single::vllm_sleep),
    (Marks::VERL, single::verl),
    (Marks::MS_SWIFT, single::ms_swift),
    (Marks::TIME, steps::time),
    (Marks::OWN, own::own),
];

impl Reader {
    /// Reads a line, with or without its end, and adds the samples that it completes to `samples`. A line may hold
    /// several that end with a carriage return. Lines that are repeated or out of order are skipped. Returns whether
    /// the line holds a figure, or is part of a report.
    pub fn line(&mut self, position: Position, text: &str, samples: &mut Vec<Sample>) -> bool {
        if self.last.is_some_and(|last| position.offset <= last) {
            return false;
        }
        self.last = Some(position.offset);
        let (mut offset, mut tells) = (position.offset, false);
        for part in text.split('\r') {
            let at = Position { line: position.line, offset };
            offset = offset.saturating_add(part.len() as u64 + 1);
            if !part.trim().is_empty() {
                tells |= self.part(&Line::new(at, cut(part, LONGEST_LINE)), samples);
            }
        }
        tells
    }

    /// Emits reports that wait for lines that never came.
    pub fn finish(&mut self, samples: &mut Vec<Sample>) {
        let from = samples.len();
        for process in self.processes.values_mut() {
            process.blocks.finish(samples);
        }
        self.settle(from, samples, "");
        samples[from..].sort_by_key(|sample| sample.position);
    }

    fn part(&mut self, line: &Line<'_>, samples: &mut Vec<Sample>) -> bool {
        let from = samples.len();
        let marks = Marks::of(&line.text);
        let step = if marks.has(Marks::STEP) { steps::step(&line.text) } else { None };
        self.step = step.or(self.step);
        let process = self.process(&line.origin);
        if process.versions.take(line, [&process.said, &process.heading], samples)
            || process.columns.take(line, samples)
        {
            self.settle(from, samples, &line.text);
            return true;
        }
        if !marks.has(Marks::NEEDLE) {
            process.says(line);
            return false;
        }
        let label = Some(process.said.as_str()).filter(|label| !label.is_empty());
        let taken = process.blocks.take(line, marks, label, samples);
        if !taken {
            if marks.has(Marks::MEGATRON) {
                megatron::reports(line, samples);
            }
            if samples.len() == from {
                let parsers = PARSERS.iter().filter(|(mark, _)| marks.has(*mark));
                match parsers.filter_map(|(_, parse)| parse(line)).next() {
                    Some(sample) => samples.push(sample),
                    None => samples.extend(plain::plain(line, &process.said)),
                }
            }
            // A label may contain a word for memory.
            if samples.len() == from {
                process.says(line);
            }
        }
        self.settle(from, samples, &line.text);
        taken || step.is_some() || samples.len() > from
    }

    /// The process of `origin`; beyond the limit, all further processes share one.
    fn process(&mut self, origin: &Origin) -> &mut Process {
        if self.processes.contains_key(origin) {
            return self.processes.get_mut(origin).expect("it was just found");
        }
        let known = if self.processes.len() < PROCESSES { origin.clone() } else { Origin::default() };
        self.processes.entry(known).or_default()
    }

    /// Sets the step of the log, and the time of the last line, in the samples from `from` on that have none of their own.
    fn settle(&mut self, from: usize, samples: &mut [Sample], text: &str) {
        let clock = if samples.len() > from { clock(text) } else { None };
        for sample in &mut samples[from..] {
            sample.step = sample.step.or(self.step);
            sample.clock = sample.clock.or(clock);
            if let Some(label) = &mut sample.label {
                label.truncate(cut(label, LONGEST_LABEL).len());
            }
        }
    }
}

/// The time of day at the beginning of a line, in seconds: `2025-01-14 02:00:01`, `[14:05]`.
fn clock(text: &str) -> Option<u32> {
    const NEAR: usize = 40;
    let head = cut(text, NEAR).as_bytes();
    let pair = |at: usize, most: u32| {
        let digits = head.get(at..at + 2).filter(|pair| pair.iter().all(u8::is_ascii_digit))?;
        let number = digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0'));
        (number < most).then_some(number)
    };
    let colons = head.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
    colons.filter(|at| *at >= 2).find_map(|at| {
        let alone = at == 2 || !head[at - 3].is_ascii_alphanumeric() || head[at - 3] == b'T';
        let second = if head.get(at + 3) == Some(&b':') { pair(at + 4, 60) } else { Some(0) };
        alone.then(|| Some(3600 * pair(at - 2, 24)? + 60 * pair(at + 1, 60)? + second?)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_stands_at_the_beginning() {
        for (text, expected) in [
            ("2025/01/14 02:00:01.113, 0, 64 %, 5120 MiB", Some(7201)),
            ("2024-03-04T23:59:59Z rss", Some(86_399)),
            ("[14:05] VRAM used", Some(50_700)),
            ("22:30  VRAM Total Used Memory (B): 2491416576", Some(81_000)),
            ("GPU 0: 12 of 16 GiB, eta 1:02", None),
            ("a:b 25:00 100:20", None),
        ] {
            assert_eq!(clock(text), expected, "{text}");
        }
    }
}
