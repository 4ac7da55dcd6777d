//! [`Reader`]: turns lines into samples.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::blocks::Blocks;
use super::clock::{Clock, clock};
use super::columns::Columns;
use super::line::{Line, Origin};
use super::marks::Marks;
use super::sample::{Metric, Position, Sample};
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
    /// The time of the last text that has one.
    time: Option<Clock>,
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
        self.time = clock(text).or(self.time);
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
        self.settle(from, samples, None);
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
            self.settle(from, samples, Some(line));
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
                samples.extend(parsers.filter_map(|(_, parse)| parse(line)).next());
                // A line with the time of a step may have amounts as well. What is reserved then is what the step needed.
                if samples[from..].iter().all(|sample| sample.figures.is_empty()) {
                    let timed = samples.len() > from;
                    let mut amounts = plain::plain(line, &process.said);
                    for amount in amounts.iter_mut().filter(|_| timed) {
                        amount.figures.remove(&Metric::Reserved);
                    }
                    samples.extend(amounts);
                }
            }
            // A label may contain a word for memory.
            if samples.len() == from {
                process.says(line);
            }
        }
        self.settle(from, samples, Some(line));
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

    /// Sets the step of the log, and the time of their line, in the samples from `from` on that have none of their own. A
    /// line without a time has that of the text above it.
    fn settle(&mut self, from: usize, samples: &mut [Sample], line: Option<&Line<'_>>) {
        let line = line.filter(|_| samples.len() > from);
        let above = |line: &Line<'_>| self.processes.get(&line.origin).and_then(|process| process.time);
        let clock = line.and_then(|line| clock(&line.text).or_else(|| above(line)));
        for sample in &mut samples[from..] {
            sample.step = sample.step.or(self.step);
            sample.clock = sample.clock.or(clock);
            if let Some(label) = &mut sample.label {
                label.truncate(cut(label, LONGEST_LABEL).len());
            }
        }
    }
}
