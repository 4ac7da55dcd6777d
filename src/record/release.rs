//! [`Release`]: the proof that a worker's memory was released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::meter::ReleaseProof;

/// The observations at the end of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// The worker's number, from 1.
    pub worker: u32,
    /// The worker's process id.
    pub pid: u32,
    /// Why the worker was ended.
    pub reason: ReleaseReason,
    /// The observed memory.
    #[serde(flatten)]
    pub proof: ReleaseProof,
}

/// Why a worker was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// The worker had processed the most bytes that one worker may.
    RecycleAfter,
    /// The worker's resident set reached the mark.
    #[serde(rename = "rss_mark")]
    RecycleRss,
    /// Validation was over.
    BeforeProfiling,
    /// Each pair of measurements of two kernels has its own workers.
    NextPair,
    /// An entry failed in a way that makes the worker's state doubtful.
    Failure,
    /// Another process killed the worker between launches; nothing was lost, and a new worker took over if needed.
    Killed,
    /// The run was over.
    Finished,
    /// The run was interrupted.
    Interrupted,
}
