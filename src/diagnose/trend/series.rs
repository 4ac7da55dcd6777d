//! [`Series`]: the readings of one worker at one label, in bounded memory.

use std::collections::BTreeMap;

use crate::telemetry::{Figure, Format, Metric, Position, Sample};
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
    pub(super) fn push(&mut self, step: Option<u64>, pid: Option<u64>, figure: Figure, position: Position) {
        let back = self.last.is_some_and(|last| matches!((last.step, step), (Some(a), Some(b)) if b < a));
        let other = matches!((self.pid, pid), (Some(a), Some(b)) if a != b);
        self.run += u32::from(back || other);
        self.pid = pid.or(self.pid);
        let point = Point { step, figure, position, run: self.run };
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

/// The worker of a sample: its rank if known, otherwise its process.
pub(super) fn worker(sample: &Sample) -> Worker {
    let pid = if sample.rank.is_some() { None } else { sample.pid };
    Worker { rank: sample.rank, pid }
}

/// `label` without its last number, and that number.
pub(super) fn numbered(label: &str) -> (String, Option<u64>) {
    let Some(end) = label.rfind(|c: char| c.is_ascii_digit()).map(|at| at + 1) else { return (label.to_owned(), None) };
    let digits = label[..end].bytes().rev().take_while(u8::is_ascii_digit).count();
    let start = end - digits;
    // `fp16` and `stage3` are names.
    if label[..start].ends_with(|c: char| c.is_alphanumeric() || c == '.') {
        return (label.to_owned(), None);
    }
    (format!("{}#{}", &label[..start], &label[end..]), label[start..end].parse().ok())
}
