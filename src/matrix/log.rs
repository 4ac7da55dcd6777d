//! [`LogReadings`]: the figures in the log of a run.

use std::io::{self, BufRead, Read};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_diagnose::telemetry::{Position, Reader};
use plimsoll_diagnose::trend::{Collector, Readings, TrendVerdict};

/// Longer lines are split.
const LONGEST_LINE: u64 = 64 << 10;

/// The figures in the log of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogReadings {
    /// The readings at the label, for the worst rank.
    #[serde(flatten)]
    pub readings: Readings,
    /// The trend of the log's figures over its steps.
    pub trend: TrendVerdict,
}

impl LogReadings {
    /// Reads a log in constant memory; `None` if it has no telemetry at `label`, or none at all.
    ///
    /// # Errors
    /// Reading `log` failed.
    pub fn read(log: impl Read, label: Option<&str>) -> io::Result<Option<Self>> {
        let mut log = io::BufReader::with_capacity(256 << 10, log);
        let (mut reader, mut collector) = (Reader::default(), Collector::default());
        let (mut line, mut samples) = (Vec::new(), Vec::new());
        let mut position = Position { line: 1, offset: 0 };
        loop {
            line.clear();
            let taken = log.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            if taken == 0 {
                break;
            }
            reader.line(position, &String::from_utf8_lossy(&line), &mut samples);
            samples.drain(..).for_each(|sample| collector.push(&sample));
            position.offset += taken as u64;
            position.line += u64::from(line.ends_with(b"\n"));
        }
        reader.finish(&mut samples);
        samples.iter().for_each(|sample| collector.push(sample));
        Ok(collector.readings(label).map(|readings| Self { readings, trend: collector.trends().verdict }))
    }
}
