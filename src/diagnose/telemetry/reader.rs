//! [`Reader`]: lines to samples.

use std::collections::HashMap;

use super::blocks::Blocks;
use super::line::{Line, Origin};
use super::sample::{Position, Sample};
use super::{diagnostics, megatron, needles, plain, single, steps};

/// Longer lines are cut: no report is as long, but for glued ranks.
const LONGEST_LINE: usize = 32 << 10;

/// The processes whose lines are told apart; those that come later share one place.
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
    /// Reports of several lines, by process.
    blocks: HashMap<Origin, Blocks>,
    /// What each process said last that is not a figure: the label of DeepSpeed's reports.
    said: HashMap<Origin, String>,
    /// The step that the last line with one told, whichever process wrote it.
    step: Option<u64>,
    /// Where the last line began, so that one that is fed twice counts once.
    last: Option<u64>,
}

impl Reader {
    /// Reads a line, with or without its end, and adds what it completes to `samples`. A line may hold several that end
    /// with a carriage return. Lines that come again, or out of order, are left out.
    pub fn line(&mut self, position: Position, text: &str, samples: &mut Vec<Sample>) {
        if self.last.is_some_and(|last| position.offset <= last) {
            return;
        }
        self.last = Some(position.offset);
        let mut offset = position.offset;
        for part in text.split('\r') {
            let at = Position { line: position.line, offset };
            offset = offset.saturating_add(part.len() as u64 + 1);
            if !part.trim().is_empty() {
                self.part(&Line::new(at, cut(part, LONGEST_LINE)), samples);
            }
        }
    }

    /// Gives what waits for lines that do not come.
    pub fn finish(&mut self, samples: &mut Vec<Sample>) {
        let from = samples.len();
        for blocks in self.blocks.values_mut() {
            blocks.finish(samples);
        }
        self.settle(from, samples);
        samples[from..].sort_by_key(|sample| sample.position);
    }

    fn part(&mut self, line: &Line<'_>, samples: &mut Vec<Sample>) {
        let from = samples.len();
        // Of more processes than are told apart, the rest is taken as one.
        let known = self.blocks.len() < PROCESSES || self.blocks.contains_key(&line.origin);
        let process = if known { line.origin.clone() } else { Origin::default() };
        let holds = |needle: &&str| line.text.contains(*needle);
        let blocks = self.blocks.entry(process.clone()).or_default();
        if !needles().iter().any(holds) {
            self.said.insert(process, cut(line.message(), LONGEST_LABEL).to_owned());
            return;
        }
        if let Some(step) = steps::step(&line.text) {
            self.step = Some(step);
        }
        let label = self.said.get(&process).map(String::as_str).filter(|label| !label.is_empty());
        if !blocks.take(line, label, samples) {
            megatron::reports(line, samples);
            if samples.len() == from {
                let parsers = [
                    single::nemo_rl,
                    diagnostics::gpumem,
                    diagnostics::gpu_diag,
                    megatron::theory,
                    single::vllm_sleep,
                    single::verl,
                    single::ms_swift,
                    steps::time,
                    plain::own,
                    plain::plain,
                ];
                samples.extend(parsers.iter().find_map(|parse| parse(line)));
            }
            // A label may well have a word for memory.
            if samples.len() == from {
                self.said.insert(process, cut(line.message(), LONGEST_LABEL).to_owned());
            }
        }
        self.settle(from, samples);
    }

    /// Gives the samples behind `from` the step of the log if they have none of their own.
    fn settle(&mut self, from: usize, samples: &mut [Sample]) {
        for sample in &mut samples[from..] {
            sample.step = sample.step.or(self.step);
            if let Some(label) = &mut sample.label {
                label.truncate(cut(label, LONGEST_LABEL).len());
            }
        }
    }
}

/// The start of `text`, `bytes` at most.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    &text[..end]
}
