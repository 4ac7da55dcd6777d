//! [`Reading`]: memory at a stage.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stage::{Stage, Stages};
use crate::telemetry::{Metric, Position, Sample};
use plimsoll_memory::bytes::ByteSize;

/// The kind of memory that is accounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// Host memory: for an offloaded optimizer.
    Host,
    /// Memory held by tensors on one GPU.
    Device,
}

/// Memory at a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// The stage.
    pub stage: Stage,
    /// The log's label, or the given name.
    pub label: String,
    /// The memory in use.
    pub bytes: ByteSize,
    /// The largest error that the rounding in the text can cause.
    pub resolution: ByteSize,
    /// Position in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

impl Reading {
    /// Creates a reading without a position.
    pub fn new(stage: Stage, label: impl Into<String>, bytes: ByteSize) -> Self {
        Self { stage, label: label.into(), bytes, resolution: ByteSize::ZERO, position: None }
    }

    /// The readings of a log at `place`, of the first process that has any. Labels without a stage are skipped; the
    /// first reading is the start.
    pub fn of_samples(samples: &[Sample], place: MemoryKind) -> Vec<Self> {
        let metric = if place == MemoryKind::Host { Metric::HostUsed } else { Metric::Allocated };
        let of = |sample: &Sample| (sample.rank, sample.pid, sample.device);
        let figures = || samples.iter().filter_map(|sample| Some((sample, sample.figure(metric)?)));
        let Some(process) = figures().map(|(sample, _)| of(sample)).next() else { return Vec::new() };
        let (mut readings, mut stages): (Vec<Self>, _) = (Vec::new(), Stages::default());
        for (sample, figure) in figures().filter(|(sample, _)| of(sample) == process) {
            let label = sample.label.as_deref().unwrap_or("");
            let stage = match stages.next(label) {
                Some(stage) => stage,
                None if readings.is_empty() => {
                    stages.begun();
                    Stage::Start
                }
                None => continue,
            };
            let (bytes, resolution) = (figure.bytes, figure.resolution);
            readings.push(Self { stage, label: label.to_owned(), bytes, resolution, position: Some(sample.position) });
        }
        readings
    }
}

/// A reading on the command line has the wrong form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a reading: write STAGE=BYTES, such as init=26.6GB, with start, init, forward, backward, step1 or later ({why})"
)]
pub struct ParseReadingError {
    text: String,
    why: String,
}

impl FromStr for Reading {
    type Err = ParseReadingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |why: String| ParseReadingError { text: text.to_owned(), why };
        let (stage, bytes) = text.split_once('=').ok_or_else(|| error("there is no `=`".to_owned()))?;
        let stage: Stage = stage.parse().map_err(|e: crate::estimate::ParseNameError| error(e.to_string()))?;
        let bytes = bytes.parse().map_err(|e: plimsoll_memory::bytes::ParseByteSizeError| error(e.to_string()))?;
        Ok(Self::new(stage, stage.name(), bytes))
    }
}
