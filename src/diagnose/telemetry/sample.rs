//! [`Sample`]: what one report of a log tells.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::Figure;

/// Where a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// The line, from 1.
    pub line: u64,
    /// The byte at which it begins, from 0.
    pub offset: u64,
}

/// Who writes lines of this kind.
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
    /// A line that gives the time of a step.
    StepTime,
    /// `plimsoll.log_memory` of the Python package.
    Plimsoll,
    /// What a person prints.
    Plain,
}

impl Format {
    /// The format in words.
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
            Self::Plain => "printed memory",
        }
    }
}

/// What a figure measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// What tensors hold on the device.
    Allocated,
    /// Its peak since the last reset.
    MaxAllocated,
    /// What the caching allocator holds.
    Reserved,
    /// Its peak since the last reset.
    MaxReserved,
    /// Blocks that are in use or wait for a stream.
    Active,
    /// What was asked for, before rounding.
    Requested,
    /// What the driver says is in use on the device.
    DeviceUsed,
    /// What is free on it.
    DeviceFree,
    /// What it has.
    DeviceTotal,
    /// Host memory in use: of the machine with DeepSpeed, of the process with the Trainer.
    HostUsed,
    /// Its peak.
    HostPeak,
    /// What sleeping freed.
    Freed,
    /// What stays on the device during sleep.
    StillInUse,
    /// An estimate for the device.
    EstimatedDevice,
    /// An estimate for the host.
    EstimatedHost,
}

impl Metric {
    /// The metric in words.
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
            Self::Freed => "freed",
            Self::StillInUse => "still in use",
            Self::EstimatedDevice => "estimated, device",
            Self::EstimatedHost => "estimated, host",
        }
    }
}

/// What one report of a log says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Who wrote it.
    pub format: Format,
    /// The line with the figures; the first, if they stand on several.
    pub position: Position,
    /// The phase or label that the report names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The step or iteration: of the report itself, else of the last line that told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The rank of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// How many other processes wrote the same line, as Ray reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<u64>,
    /// The figures.
    pub figures: BTreeMap<Metric, Figure>,
    /// The time of a step in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How often cudaMalloc was tried again after the cache was given back: the allocator is thrashing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u64>,
    /// Out-of-memory errors that the allocator counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ooms: Option<u64>,
}

impl Sample {
    /// A sample of nothing yet.
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

    /// Whether anything was told.
    pub(super) fn tells(&self) -> bool {
        !self.figures.is_empty() || self.seconds.is_some()
    }

    /// Adds a figure if there is one.
    pub(super) fn with(&mut self, metric: Metric, figure: Option<Figure>) {
        if let Some(figure) = figure {
            self.figures.insert(metric, figure);
        }
    }
}
