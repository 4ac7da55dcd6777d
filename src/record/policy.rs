//! [`Policy`]: how memory was managed during a run. The meaning of the figures does not depend on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::isolation::Isolation;
use plimsoll_capture::Digest;
use plimsoll_capture::batch::{self, OverCap};
use plimsoll_capture::store::VerifyObjects;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Ceilings;

/// How memory was managed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Policy {
    /// A run on a capture.
    Capture(CapturePolicy),
    /// A run of a test or a command.
    Process(ProcessPolicy),
}

impl Policy {
    /// The policy of a run on a capture, if it was one.
    pub fn capture(&self) -> Option<&CapturePolicy> {
        match self {
            Self::Capture(policy) => Some(policy),
            Self::Process(_) => None,
        }
    }
}

/// How the memory of a test or a command was limited and watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPolicy {
    /// The ceilings.
    pub ceilings: Ceilings,
    /// Whether a process that exceeds a ceiling is stopped at once.
    pub enforce: bool,
    /// The longest that one run may take, in nanoseconds; absent if none was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Nanoseconds between two samples of memory.
    #[serde(rename = "sampling_interval_ns")]
    pub sample_interval_ns: u64,
    /// Whether to make a control group for the command, so that `peak_cgroup` counts only its processes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_cgroup: bool,
    /// How often the command was run; absent if once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
}

/// How often a command should run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repetition {
    /// Recorded runs.
    pub repeat: u32,
    /// Warm-up runs, not recorded.
    pub warmup: u32,
    /// Whether further runs follow a failed one.
    pub keep_going: bool,
}

/// How memory was managed during a run on a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturePolicy {
    /// Where the entries were read from.
    pub source: CaptureSource,
    /// How entries were grouped for profiling; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batching: Option<Batching>,
    /// When workers are replaced.
    pub recycling: Recycling,
    /// When mapped and cached inputs are dropped.
    pub cache_release: CacheRelease,
    /// Threads that compared and hashed.
    pub threads: u32,
    /// The longest that one launch may take, in nanoseconds; absent if none was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Nanoseconds between two samples of memory.
    #[serde(rename = "sampling_interval_ns")]
    pub sample_interval_ns: u64,
    /// What the digests of the entries had to cover.
    pub digest: Digest,
    /// The rights withheld from kernels; absent for kernels with the rights of their user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// The least speedup over the other kernel; absent if it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_speedup: Option<f64>,
}

/// The source of the entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSource {
    /// A folder or a store.
    pub kind: SourceKind,
    /// The path as given.
    pub path: String,
    /// How often the objects of a store were verified; absent for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyObjects>,
}

/// The source of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A folder of `entry_*.pt` files.
    Folder,
    /// A store that keeps repeated storages once.
    Store,
}

/// How entries were grouped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batching {
    /// The most bytes that may be resident together; absent if none was set.
    #[serde(rename = "cap", default, skip_serializing_if = "Option::is_none")]
    pub batch_bytes: Option<ByteSize>,
    /// The action on an entry that alone exceeds the cap.
    pub over_cap: OverCap,
    /// The batches, in order.
    pub batches: Vec<Batch>,
}

/// Consecutive entries that were resident together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// The index of the first entry.
    pub first: usize,
    /// Number of entries.
    pub count: usize,
    /// The bytes planned to be resident: inputs, outputs and device copies, shared storages once, and `workspace`.
    pub bytes: ByteSize,
    /// The most device memory that earlier launches took in addition to inputs and outputs; absent if none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<ByteSize>,
    /// Whether the batch exceeds the cap, which only a single entry may.
    pub over_cap: bool,
}

impl From<batch::Batch> for Batch {
    fn from(batch: batch::Batch) -> Self {
        Self {
            first: batch.entries.start,
            count: batch.entries.len(),
            bytes: batch.bytes,
            workspace: Some(batch.workspace).filter(|bytes| *bytes > ByteSize::ZERO),
            over_cap: batch.over_cap,
        }
    }
}

/// When a validation worker was replaced by a fresh process. One is always replaced before profiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recycling {
    /// After this many bytes of entries; absent if no limit was set.
    #[serde(rename = "after", default, skip_serializing_if = "Option::is_none")]
    pub recycle_after: Option<ByteSize>,
    /// When the worker's resident set reaches this; absent if no limit was set.
    #[serde(rename = "rss_mark", default, skip_serializing_if = "Option::is_none")]
    pub recycle_rss: Option<ByteSize>,
}

/// When a worker dropped mapped inputs, outputs and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheRelease {
    /// Only at its end.
    Never,
    /// After every batch, and after every entry while validating.
    BetweenBatches,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_batch_is_recorded_with_its_place() {
        let planned =
            batch::Batch { entries: 3..7, bytes: ByteSize::mib(9), workspace: ByteSize::ZERO, over_cap: false };
        let recorded = Batch { first: 3, count: 4, bytes: ByteSize::mib(9), workspace: None, over_cap: false };
        assert_eq!(Batch::from(planned.clone()), recorded);
        let workspace = ByteSize::mib(2);
        assert_eq!(
            Batch::from(batch::Batch { workspace, ..planned }),
            Batch { workspace: Some(workspace), ..recorded }
        );
    }
}
