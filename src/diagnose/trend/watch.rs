//! [`Watch`]: judges the trends in the lines of a log.

use super::collector::Collector;
use super::finding::Trends;
use crate::telemetry::{Position, Reader, Sample};

/// Reads the telemetry of a log and judges it, in constant memory.
///
/// ```
/// use plimsoll_diagnose::telemetry::Position;
/// use plimsoll_diagnose::trend::{TrendVerdict, Watch};
/// let mut watch = Watch::default();
/// for (line, left) in ["4.11", "11.57", "25.00"].iter().enumerate() {
///     let text = format!("Sleep mode freed 40.00 GiB memory, {left} GiB memory is still in use.");
///     watch.line(Position { line: line as u64 + 1, offset: line as u64 * 100 }, &text);
/// }
/// assert_eq!(watch.finish().unwrap().verdict, TrendVerdict::ResidualGrowth);
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    reader: Reader,
    collector: Collector,
    pending: Vec<Sample>,
}

impl Watch {
    /// Reads a line; [`Reader::line`] describes which lines are needed. Returns whether the line holds a figure.
    pub fn line(&mut self, position: Position, text: &str) -> bool {
        let tells = self.reader.line(position, text, &mut self.pending);
        self.collect();
        tells
    }

    /// The trends so far; `None` if there are no figures yet.
    pub fn trends(&self) -> Option<Trends> {
        (!self.collector.is_empty()).then(|| self.collector.trends())
    }

    /// The trends of the whole log; `None` if it has no telemetry.
    pub fn finish(mut self) -> Option<Trends> {
        self.reader.finish(&mut self.pending);
        self.collect();
        self.trends()
    }

    fn collect(&mut self) {
        self.pending.drain(..).for_each(|sample| self.collector.push(&sample));
    }
}
