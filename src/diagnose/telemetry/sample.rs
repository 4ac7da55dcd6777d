//! [`Sample`]: the content of one report in a log.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::Clock;
use super::figure::Figure;

/// The position of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// The line number, from 1.
    pub line: u64,
    /// The byte offset of the line, from 0.
    pub offset: u64,
}

/// The format of a line, named after the software that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// DeepSpeed's `see_memory_usage`.
    Deepspeed,
    /// DeepSpeed's estimators.
    DeepspeedEstimator,
    /// NeMo-RL's `GPU Memory <phase>: ..`.
    NemoRl,
    /// NeMo-RL's `[gpumem]`.
    Gpumem,
    /// `[GPU_DIAG]`.
    GpuDiag,
    /// Megatron's `memory (MB)`.
    Megatron,
    /// Megatron Bridge's `memory (GB)`.
    MegatronBridge,
    /// Megatron's theoretical footprint.
    MegatronTheory,
    /// `torch.cuda.memory_summary`.
    MemorySummary,
    /// The Trainer of Hugging Face.
    Trainer,
    /// vLLM's sleep mode.
    VllmSleep,
    /// verl.
    Verl,
    /// ms-swift.
    MsSwift,
    /// A line with the time of a step.
    StepTime,
    /// `plimsoll.log_memory` of the Python package.
    Plimsoll,
    /// A row that compares two versions.
    Versions,
    /// A line printed by a person's own code.
    Plain,
}

impl Format {
    /// The name of the format in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Deepspeed => "DeepSpeed's see_memory_usage",
            Self::DeepspeedEstimator => "DeepSpeed's estimator",
            Self::NemoRl => "NeMo-RL",
            Self::Gpumem => "[gpumem]",
            Self::GpuDiag => "[GPU_DIAG]",
            Self::Megatron => "Megatron",
            Self::MegatronBridge => "Megatron Bridge",
            Self::MegatronTheory => "Megatron's theory",
            Self::MemorySummary => "torch.cuda.memory_summary",
            Self::Trainer => "the Trainer",
            Self::VllmSleep => "vLLM's sleep mode",
            Self::Verl => "verl",
            Self::MsSwift => "ms-swift",
            Self::StepTime => "times of steps",
            Self::Plimsoll => "plimsoll.log_memory",
            Self::Versions => "a comparison of versions",
            Self::Plain => "printed memory",
        }
    }
}

/// The quantity that a figure measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Memory held by tensors on the device.
    Allocated,
    /// Peak of the allocated memory since the last reset.
    MaxAllocated,
    /// Memory held by the caching allocator.
    Reserved,
    /// Peak of the reserved memory since the last reset.
    MaxReserved,
    /// Blocks in use or waiting for a stream.
    Active,
    /// Requested memory, before rounding.
    Requested,
    /// Memory in use on the device, from the driver.
    DeviceUsed,
    /// Free memory on the device.
    DeviceFree,
    /// Total memory of the device.
    DeviceTotal,
    /// Host memory in use: of the machine with DeepSpeed, of the process with the Trainer.
    HostUsed,
    /// Peak of the host memory.
    HostPeak,
    /// Memory of the host that is available: of the machine, or of a heap.
    HostFree,
    /// Memory freed by sleep.
    Freed,
    /// Memory that remains on the device during sleep.
    StillInUse,
    /// Estimated memory on the device.
    EstimatedDevice,
    /// Estimated memory on the host.
    EstimatedHost,
}

impl Metric {
    /// The name of the metric in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Allocated => "allocated",
            Self::MaxAllocated => "max allocated",
            Self::Reserved => "reserved",
            Self::MaxReserved => "max reserved",
            Self::Active => "active",
            Self::Requested => "requested",
            Self::DeviceUsed => "device used",
            Self::DeviceFree => "device free",
            Self::DeviceTotal => "device total",
            Self::HostUsed => "host used",
            Self::HostPeak => "host peak",
            Self::HostFree => "host free",
            Self::Freed => "freed",
            Self::StillInUse => "still in use",
            Self::EstimatedDevice => "estimated, device",
            Self::EstimatedHost => "estimated, host",
        }
    }
}

/// The content of one report in a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// The format of the report.
    pub format: Format,
    /// The line with the figures; the first one if there are several.
    pub position: Position,
    /// The phase or label that the report names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The step or iteration: of the report itself, otherwise of the last line that stated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The rank of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The name of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The index of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// The time of the line.
    #[serde(skip)]
    pub(crate) clock: Option<Clock>,
    /// How many other processes wrote the same line, according to Ray.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<u64>,
    /// The figures.
    pub figures: BTreeMap<Metric, Figure>,
    /// The duration of a step in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How often cudaMalloc was retried after the cache was released: the allocator is thrashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Out-of-memory errors that the allocator counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ooms: Option<u64>,
}

impl Sample {
    /// An empty sample.
    pub(crate) fn new(format: Format, position: Position) -> Self {
        Self {
            format,
            position,
            label: None,
            step: None,
            rank: None,
            pid: None,
            host: None,
            device: None,
            clock: None,
            repeated: None,
            figures: BTreeMap::new(),
            seconds: None,
            retries: None,
            ooms: None,
        }
    }

    /// The figure of `metric`.
    pub fn figure(&self, metric: Metric) -> Option<Figure> {
        self.figures.get(&metric).copied()
    }

    /// Whether the sample has any content.
    pub(super) fn tells(&self) -> bool {
        !self.figures.is_empty() || self.seconds.is_some()
    }

    /// Adds a figure, if it is present.
    pub(super) fn with(&mut self, metric: Metric, figure: Option<Figure>) {
        if let Some(figure) = figure {
            self.figures.insert(metric, figure);
        }
    }
}
