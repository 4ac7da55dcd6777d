//! [`Figure`]: what is compared between configurations.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Unit;

/// What is compared between configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Nanoseconds per step, from the log.
    StepTime,
    /// Nanoseconds from the start of the process to its end.
    WallTime,
    /// The memory of tensors, from the log, for the worst rank.
    Allocated,
    /// The memory of the allocator, from the log, for the worst rank.
    Reserved,
    /// Resident memory of the process tree.
    PeakRss,
    /// Anonymous memory of the process tree.
    PeakAnon,
    /// Memory of the process tree on GPUs.
    GpuPeak,
}

impl Figure {
    /// Every figure, in the order of the table.
    pub const ALL: [Self; 7] =
        [Self::StepTime, Self::WallTime, Self::Allocated, Self::Reserved, Self::PeakRss, Self::PeakAnon, Self::GpuPeak];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StepTime => "step_time",
            Self::WallTime => "wall_time",
            Self::Allocated => "allocated",
            Self::Reserved => "reserved",
            Self::PeakRss => "peak_rss",
            Self::PeakAnon => "peak_anon",
            Self::GpuPeak => "gpu_peak",
        }
    }

    /// Its title in a table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::StepTime => "time a step",
            Self::WallTime => "time",
            Self::Allocated => "allocated",
            Self::Reserved => "reserved",
            Self::PeakRss => "peak RSS",
            Self::PeakAnon => "peak anonymous",
            Self::GpuPeak => "peak GPU",
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> Unit {
        match self {
            Self::StepTime | Self::WallTime => Unit::Nanoseconds,
            _ => Unit::Bytes,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
