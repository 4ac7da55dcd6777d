//! [`Release`]: the proof that a worker's memory was released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::meter::ReleaseProof;

/// What was seen when a worker ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// The worker's number, from 1.
    pub worker: u32,
    /// Its process id.
    pub pid: u32,
    /// Why it was ended.
    pub reason: ReleaseReason,
    /// What was seen of its memory.
    #[serde(flatten)]
    pub proof: ReleaseProof,
}

/// Why a worker was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// The worker was given as many bytes as one worker may be.
    RecycleAfter,
    /// Its resident set reached the mark.
    #[serde(rename = "rss_mark")]
    RecycleRss,
    /// Validation was over.
    BeforeProfiling,
    /// Each pair of measurements of two kernels has workers of its own.
    NextPair,
    /// An entry failed in a way that leaves its state in doubt.
    Failure,
    /// Others killed it while no launch was under way; nothing was lost, and another took its place if one was needed.
    Killed,
    /// The run was over.
    Finished,
    /// The run was interrupted.
    Interrupted,
}
