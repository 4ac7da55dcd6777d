//! [`Release`]: the proof that a worker's memory came back.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteSize;

/// What was seen when a worker ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// The worker's number, from 1.
    pub worker: u32,
    /// Its process id.
    pub pid: u32,
    /// Why it was ended.
    pub reason: ReleaseReason,
    /// Its resident set before it was told to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_before: Option<ByteSize>,
    /// The system's MemAvailable before it was told to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_before: Option<ByteSize>,
    /// The system's MemAvailable when the wait was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_after: Option<ByteSize>,
    /// Whether the process and all that it had started were gone.
    pub gone: bool,
    /// Whether MemAvailable was back where it had been before the worker started; absent where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<bool>,
    /// How long the wait was, in nanoseconds.
    pub waited_ns: u64,
}

impl Release {
    /// Whether the memory is known to be back.
    pub fn proven(&self) -> bool {
        self.gone && self.recovered != Some(false)
    }

    /// How long the wait was.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns)
    }
}

/// Why a worker was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// It was given as many bytes as one worker may be.
    RecycleAfter,
    /// Its resident set reached the mark.
    RssMark,
    /// Validation was over.
    BeforeProfiling,
    /// An entry failed in a way that leaves its state in doubt.
    Failure,
    /// The run was over.
    Finished,
    /// The run was interrupted.
    Interrupted,
}
