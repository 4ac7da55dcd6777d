//! [`Release`]: the proof that a worker's memory was released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::meter::ReleaseProof;

/// The observations at the end of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// The worker's number, from 1.
    pub worker: u32,
    /// Its process id.
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
    /// The worker had processed as many bytes as one worker may.
    RecycleAfter,
    /// Its resident set reached the mark.
    #[serde(rename = "rss_mark")]
    RecycleRss,
    /// Validation was over.
    BeforeProfiling,
    /// Each pair of measurements of two kernels has its own workers.
    NextPair,
    /// An entry failed in a way that leaves its state in doubt.
    Failure,
    /// Others killed the worker while no launch was under way; nothing was lost, and another replaced it if needed.
    Killed,
    /// The run was over.
    Finished,
    /// The run was interrupted.
    Interrupted,
}
