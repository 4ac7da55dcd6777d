//! [`Worker`]: the source of readings.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of readings: a rank, or a process if the rank is unknown, and the device that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// The rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process id, if the rank is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    /// The index of the device, if the text states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match (self.rank, self.pid, self.device) {
            (Some(rank), ..) => format!("rank {rank}"),
            (None, Some(pid), Some(device)) => format!("process {pid}, GPU {device}"),
            (None, Some(pid), None) => format!("process {pid}"),
            (None, None, Some(device)) => format!("GPU {device}"),
            (None, None, None) => "the process".to_owned(),
        })
    }
}
