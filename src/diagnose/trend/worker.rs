//! [`Worker`]: the source of readings.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of readings: a rank, or a process if the rank is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// The rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The process id, if the rank is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.rank, self.pid) {
            (Some(rank), _) => f.pad(&format!("rank {rank}")),
            (None, Some(pid)) => f.pad(&format!("process {pid}")),
            (None, None) => f.pad("the process"),
        }
    }
}
