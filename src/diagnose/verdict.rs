//! [`Kind`] and [`Verdict`]: the stable words of `plimsoll.findings/1`.

use std::fmt;
use std::str::FromStr;

use plimsoll_memory::text::nearest;
use schemars::JsonSchema;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Serialize};

use super::error::DiagnoseError;
use super::trend;

/// What ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The memory of a device.
    VramOom,
    /// The memory of the whole machine.
    HostOom,
    /// The memory that a control group, a container or a job may use.
    CgroupOom,
    /// The memory that Ray's monitor allows a node.
    RayOom,
    /// An allocation on the host was refused.
    HostAllocFail,
    /// Shared memory, /dev/shm.
    Shm,
    /// Unknown: a process was killed with SIGKILL, and nothing shows by whom.
    SigkillUnattributed,
    /// Nothing ran out: telemetry without a failure.
    Report,
    /// Nothing was found.
    None,
}

/// Why memory ran out, and what is true in addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The allocator holds more free memory than the request, but in pieces.
    Fragmentation,
    /// One request is larger than the device, or is at least a quarter of it and more than all that is left.
    SingleHugeRequest,
    /// Other processes hold much of the device.
    OtherProcess,
    /// Much of the device is held by nothing that the message names.
    UnattributedMemory,
    /// The process reached a limit below the device's memory.
    ProcessCap,
    /// Private pools, such as those of CUDA graphs, hold most of what is allocated.
    PrivatePool,
    /// More is free than was requested: neither fragmentation nor capacity explains the failure.
    UnexplainedFreeExceedsRequest,
    /// The work needs more than the device has.
    Capacity,
    /// The failure happened in a backward pass.
    FirstBackward,
    /// The failure happened in the optimizer step.
    OptimizerStep,
    /// The failure happened while the optimizer state was allocated, or after the first step, once it exists.
    OptimizerState,
    /// The failure happened in an evaluation.
    Eval,
    /// The predictions of an evaluation were being concatenated: they accumulate on the device.
    EvalAccumulation,
    /// The failure happened late, with data of varying length: the longest batch.
    LongestBatch,
    /// A library or the driver could not allocate, and its message has no numbers.
    LibraryAllocFail,
    /// Memory of the process outside PyTorch fills the device.
    NonPytorchMemory,
    /// The kernel killed a process because the whole machine was out of memory.
    HostKill,
    /// A process was killed at the limit of its control group, container or job.
    CgroupKill,
    /// Ray killed a worker above its memory threshold.
    RayMemoryMonitor,
    /// An unknown sender killed the process with SIGKILL.
    SigkillUnattributed,
    /// A DataLoader worker was killed.
    DataloaderWorkerKill,
    /// /dev/shm is full.
    ShmExhausted,
    /// An allocation on the host was refused.
    HostAllocFail,
    /// One request on the host is larger than the machine.
    HostSingleHugeRequest,
    /// Allocated memory rises while the work stays constant.
    Leak,
    /// Memory is higher than in the baseline.
    Regression,
    /// The memory that remains after sleep grows.
    ResidualGrowth,
    /// Host memory grows while the work stays constant: a leak there, or data that moves from the device and is kept.
    HostGrowth,
    /// Reserved memory stays high while allocated memory falls back: a cache, not a leak.
    CacheNotLeak,
    /// Ranks hold different amounts.
    VariesByRank,
    /// The ranks that were seen are fine, and others were not seen.
    Inconclusive,
    /// The allocator had to release its cache and retry: the device is nearly full.
    NearCapacity,
    /// Sleep freed nothing.
    SleepIneffective,
    /// There is telemetry, and nothing is wrong.
    ReportOnly,
    /// There is no memory event.
    NotOom,
    /// Several causes of similar weight.
    Mixed,
}

impl From<trend::TrendVerdict> for Verdict {
    fn from(verdict: trend::TrendVerdict) -> Self {
        match verdict {
            trend::TrendVerdict::ReportOnly => Self::ReportOnly,
            trend::TrendVerdict::VariesByRank => Self::VariesByRank,
            trend::TrendVerdict::Inconclusive => Self::Inconclusive,
            trend::TrendVerdict::NearCapacity => Self::NearCapacity,
            trend::TrendVerdict::Fragmentation => Self::Fragmentation,
            trend::TrendVerdict::CacheNotLeak => Self::CacheNotLeak,
            trend::TrendVerdict::Regression => Self::Regression,
            trend::TrendVerdict::HostGrowth => Self::HostGrowth,
            trend::TrendVerdict::Leak => Self::Leak,
            trend::TrendVerdict::ResidualGrowth => Self::ResidualGrowth,
            trend::TrendVerdict::SleepIneffective => Self::SleepIneffective,
        }
    }
}

impl FromStr for Verdict {
    type Err = DiagnoseError;

    /// Parses the name of something that can be found: `leak`, `fragmentation`.
    fn from_str(name: &str) -> Result<Self, DiagnoseError> {
        match Self::deserialize(name.into_deserializer()) {
            Ok(Self::ReportOnly | Self::NotOom | Self::Mixed) => {
                Err(DiagnoseError::NoFinding { name: name.to_owned() })
            }
            Ok(verdict) => Ok(verdict),
            Err(Unknown(names)) => {
                let names: Vec<_> = names.iter().copied().filter(|name| name.parse::<Self>().is_ok()).collect();
                let hint = match nearest(name, &names) {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => format!("there are {}", names.join(", ")),
                };
                Err(DiagnoseError::UnknownVerdict { name: name.to_owned(), hint })
            }
        }
    }
}

/// A name that serde does not know, with those that it does.
#[derive(Debug)]
struct Unknown(&'static [&'static str]);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a verdict")
    }
}

impl std::error::Error for Unknown {}

impl serde::de::Error for Unknown {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

/// A unit variant's name, as in JSON.
fn name(value: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => f.pad(&name),
        _ => Err(fmt::Error),
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        name(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_what_can_be_found_are_read() {
        assert_eq!("leak".parse::<Verdict>().unwrap(), Verdict::Leak);
        assert_eq!("first-backward".parse::<Verdict>().unwrap().to_string(), "first-backward");
        let error = "leek".parse::<Verdict>().unwrap_err().to_string();
        assert_eq!(error, "`leek` is not a verdict; did you mean `leak`?");
        let error = "everything".parse::<Verdict>().unwrap_err().to_string();
        assert!(error.contains("there are fragmentation, ") && !error.contains("mixed"), "{error}");
        let error = "not-oom".parse::<Verdict>().unwrap_err().to_string();
        assert!(error.contains("`not-oom`") && !error.contains("unknown"), "{error}");
    }
}
