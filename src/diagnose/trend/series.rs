//! [`Series`]: the readings of one worker at one label, in bounded memory.

use std::collections::BTreeMap;

use crate::telemetry::{Clock, Figure, Format, Metric, Position, Sample, is_a_size};
use plimsoll_memory::bytes::ByteSize;

use super::worker::Worker;

/// The most readings that are kept of a series; beyond that, every second one is dropped.
const MOST_READINGS: usize = 512;

/// What readings must share to be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) format: Format,
    /// Compared before the label, which costs more to compare.
    pub(super) metric: Metric,
    /// The label without its last number: `before forward 7` is a reading of step 7.
    pub(super) label: String,
}

/// The readings of every worker at every label.
pub(super) type AllSeries = BTreeMap<Key, BTreeMap<Worker, Series>>;

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) step: Option<u64>,
    pub(super) figure: Figure,
    pub(super) position: Position,
    pub(super) clock: Option<Clock>,
    /// The run of the program, if a log holds several.
    pub(super) run: u32,
}

/// The readings of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) points: Vec<Point>,
    /// One of this many readings is kept.
    stride: u64,
    seen: u64,
    /// The last reading, kept or not.
    last: Option<Point>,
    pid: Option<u64>,
    run: u32,
}

impl Series {
    /// Adds a reading. A step that goes back, or another process of the same rank, begins a new run.
    pub(super) fn push(&mut self, step: Option<u64>, sample: &Sample, figure: Figure) {
        let Sample { pid, position, clock, .. } = *sample;
        let back = self.last.is_some_and(|last| matches!((last.step, step), (Some(a), Some(b)) if b < a));
        let other = matches!((self.pid, pid), (Some(a), Some(b)) if a != b);
        self.run += u32::from(back || other);
        self.pid = pid.or(self.pid);
        let point = Point { step, figure, position, clock, run: self.run };
        self.last = Some(point);
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            self.points.push(point);
            if self.points.len() > MOST_READINGS {
                // The first reading stays: the others are compared with it.
                let mut at = 0;
                self.points.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.stride = stride * 2;
            }
        }
        self.seen += 1;
    }

    /// The last reading.
    pub(super) fn last(&self) -> Option<Point> {
        self.last
    }

    /// The readings, always including the last.
    pub(super) fn readings(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        if let Some(last) = self.last.filter(|last| points.last().is_none_or(|kept| kept.position != last.position)) {
            points.push(last);
        }
        points
    }
}

/// How many readings show the shape of a series.
const SHAPE: usize = 24;

/// The figures of `points`, thinned evenly, including the first and the last.
pub(super) fn shape(points: &[Point]) -> Vec<ByteSize> {
    let count = points.len().min(SHAPE);
    let at = |index: usize| points[index * (points.len() - 1) / (count - 1).max(1)].figure.bytes;
    (0..count).map(at).collect()
}

/// The worker of a sample: its rank if known, otherwise its process, and its device.
pub(super) fn worker(sample: &Sample) -> Worker {
    let pid = if sample.rank.is_some() { None } else { sample.pid };
    Worker { rank: sample.rank, pid, device: sample.device }
}

/// The words before the number of a step.
const STEPS: [&str; 5] = ["step", "iteration", "iter", "batch", "microbatch"];

/// `label` without the number of its step and without measured values, and that number: the number after a word for
/// steps, otherwise the last whole number.
pub(super) fn numbered(label: &str) -> (String, Option<u64>) {
    // Each number on its own: (start, end, whether it has a fraction).
    let (mut numbers, mut at) = (Vec::new(), 0);
    while let Some(start) = label[at..].find(|c: char| c.is_ascii_digit()).map(|next| at + next) {
        let digits = |from: usize| label[from..].bytes().take_while(u8::is_ascii_digit).count();
        let mut end = start + digits(start);
        let fraction = label[end..].starts_with('.') && digits(end + 1) > 0;
        if fraction {
            end += 1 + digits(end + 1);
        }
        at = end;
        // `layers 0-5` is a name too.
        let bytes = label.as_bytes();
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        let range = (bytes.get(end) == Some(&b'-') && digit(Some(end + 1)))
            || (label[..start].ends_with('-') && digit(start.checked_sub(2)));
        // `fp16`, `stage3` and `v1.2` are names, and work of one size is not that of another.
        if !range
            && !is_a_size(&label[..start])
            && !label[..start]
                .ends_with(|c: char| c.is_alphanumeric() || c == '.' || !fraction && named(c, &label[..start]))
        {
            numbers.push((start, end, fraction));
        }
    }
    let after_step = |start: usize| {
        let word = label[..start].trim_end_matches(|c: char| !c.is_alphanumeric());
        STEPS.iter().any(|step| {
            word.len() >= step.len()
                && word.is_char_boundary(word.len() - step.len())
                && word[word.len() - step.len()..].eq_ignore_ascii_case(step)
        })
    };
    let whole = || numbers.iter().filter(|(.., fraction)| !fraction);
    let step = whole().rev().find(|(start, ..)| after_step(*start)).or_else(|| whole().next_back()).copied();
    let (mut text, mut from) = (String::with_capacity(label.len()), 0);
    for (start, end, fraction) in &numbers {
        if *fraction || step.is_some_and(|step| step.0 == *start) {
            text.push_str(&label[from..*start]);
            text.push('#');
            from = *end;
        }
    }
    text.push_str(&label[from..]);
    (text, step.and_then(|(start, end, _)| label[start..end].parse().ok()))
}

/// Whether `text` ends with `last` and a part of a name: `layer_` of `layer_3` and `web-` of `web-3`, but not `step_` of
/// `step_3`.
fn named(last: char, text: &str) -> bool {
    let name = text.trim_end_matches(last);
    let whole = name.len() + 1 == text.len() && name.ends_with(|c: char| c.is_alphanumeric());
    let step = STEPS.iter().any(|step| name.to_ascii_lowercase().ends_with(step));
    (last == '_' || last == '-' && whole) && !step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_of_a_label_and_its_values_are_no_part_of_the_series() {
        for (label, series, step) in [
            ("before forward 7", "before forward #", Some(7)),
            ("loss 2.1", "loss #", None),
            ("step 3 loss 2.1", "step # loss #", Some(3)),
            ("step 12 after layer 3", "step # after layer 3", Some(12)),
            ("loss 2.10 / step 4", "loss # / step #", Some(4)),
            ("after fp16 stage3", "after fp16 stage3", None),
            ("layer 0-5 after .to(device)", "layer 0-5 after .to(device)", None),
            ("web-0", "web-0", None),
            ("seq_len=4096", "seq_len=4096", None),
            ("bs=64", "bs=64", None),
            ("micro_batch_size=4", "micro_batch_size=4", None),
            ("agent-6pqml", "agent-6pqml", None),
            ("step-4 of web-1", "step-# of web-1", Some(4)),
            ("iter: 5, lr 1.5e-05", "iter: #, lr #e-05", Some(5)),
        ] {
            assert_eq!(numbered(label), (series.to_owned(), step), "{label}");
        }
    }
}
