//! The findings of a snapshot, as data.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::category::{Category, CategorySource};
use plimsoll_memory::bytes::ByteSize;

/// What was found in a memory snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotFindings {
    /// The file name as given.
    pub name: String,
    /// The format of the file.
    pub format: SnapshotFormat,
    /// The settings of the allocator, if the snapshot has them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settings: Option<AllocatorSettings>,
    /// The devices that have memory or a trace.
    pub devices: Vec<DeviceFindings>,
    /// Number of `external_annotations`.
    pub annotations: u64,
    /// Sums that disagree: doubt the snapshot, or the conclusions from it.
    pub broken: Broken,
}

/// The format of a snapshot file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotFormat {
    /// The protocol version of the pickle.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protocol: Option<u8>,
    /// Size of the pickle.
    pub bytes: ByteSize,
    /// Number of distinct frames.
    pub frames: u64,
    /// Number of distinct stacks, counting the outer part of each stack as one.
    pub stacks: u64,
}

/// The settings of the caching allocator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorSettings {
    /// The value of `PYTORCH_CUDA_ALLOC_CONF`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conf: Option<String>,
    /// `expandable_segments`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expandable_segments: Option<bool>,
    /// `max_split_size`; absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_split_size: Option<ByteSize>,
    /// `garbage_collection_threshold`, a fraction of the device; absent if it is off (0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub garbage_collection_threshold: Option<f64>,
    /// `roundup_power2_divisions` above 0, by the size at which each begins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub roundup_power2_divisions: BTreeMap<String, i64>,
    /// All other settings, as text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub others: BTreeMap<String, String>,
}

/// What was found on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFindings {
    /// The index of the device.
    pub device: u32,
    /// The memory when the snapshot was taken.
    pub state: MemoryState,
    /// Memory by stream, pool and kind of segment, ordered by reserved memory, largest first.
    pub groups: Vec<SegmentGroup>,
    /// The segments with the most free memory between blocks in use.
    pub fragmented: Vec<SegmentFindings>,
    /// Memory in use when the snapshot was taken, largest stacks first.
    pub live: Vec<Culprit>,
    /// Memory by use.
    pub bands: Vec<Band>,
    /// What the trace shows, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<TraceFindings>,
}

/// The allocator's memory at the end of a snapshot. `reserved` = `allocated` + `pending_free` + `free`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryState {
    /// Memory held by the allocator: the total size of its segments.
    pub reserved: ByteSize,
    /// Total size of the blocks that tensors use.
    pub allocated: ByteSize,
    /// Blocks that were freed while a stream may still use them: not free yet.
    pub pending_free: ByteSize,
    /// Requested bytes in `allocated` and `pending_free`.
    pub requested: ByteSize,
    /// Free blocks: external free memory.
    pub free: ByteSize,
    /// Bytes that rounding adds to requests: internal free memory, part of `allocated` and `pending_free`.
    pub rounding: ByteSize,
    /// The largest free block: a larger request needs more segments.
    pub largest_free: ByteSize,
    /// Free memory in segments without a block in use, which `empty_cache` and a retry after out-of-memory release.
    pub releasable: ByteSize,
    /// Number of segments.
    pub segments: u64,
    /// Number of blocks in use, pending ones included.
    pub active_blocks: u64,
    /// Number of free blocks.
    pub free_blocks: u64,
}

impl MemoryState {
    /// How scattered the free memory is: 0 if it is a single block, near 1 if it is many tiny blocks. `None` if nothing
    /// is free.
    pub fn fragmentation(&self) -> Option<f64> {
        let free = self.free.bytes();
        (free > 0).then(|| 1.0 - self.largest_free.bytes() as f64 / free as f64)
    }
}

/// The segments of one stream, pool and kind. Each request is served from a single group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentGroup {
    /// The stream that allocates from the group.
    pub stream: u64,
    /// The private pool; absent for the default pool, (0, 0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pool: Option<(u64, u64)>,
    /// Whether requests above 1 MiB are served from the group. Absent in old snapshots.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub large: Option<bool>,
    /// Whether the segments grow in place.
    pub expandable: bool,
    /// The memory of the group; `largest_free` is the largest request that fits without growing.
    pub state: MemoryState,
}

/// A segment and its contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentFindings {
    /// The start address in hexadecimal, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// The stream that allocates from the segment.
    pub stream: u64,
    /// The private pool; absent for the default pool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pool: Option<(u64, u64)>,
    /// Whether the segment grows in place.
    pub expandable: bool,
    /// The memory of the segment.
    pub state: MemoryState,
    /// The segment in 32 parts: `.` free, `1` to `9` tenths in use, `#` full.
    pub map: String,
}

/// Memory allocated by one stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// Requested bytes.
    pub bytes: ByteSize,
    /// Number of allocations.
    pub count: u64,
    /// What the memory is used for.
    pub category: Category,
    /// The frames, innermost first; empty if no stack was recorded.
    pub stack: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The file as recorded.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// Memory of one use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// What the memory is used for.
    pub category: Category,
    /// Requested bytes.
    pub bytes: ByteSize,
    /// Number of allocations.
    pub count: u64,
    /// The source of the category; if there are both, the one with more bytes.
    pub source: CategorySource,
}

/// What the trace of a device shows. Amounts are requested bytes, without rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFindings {
    /// Number of entries.
    pub entries: u64,
    /// Number of allocations.
    pub allocations: u64,
    /// Number of frees of memory allocated before the first entry: the ring buffer was full, or recording began late.
    pub frees_of_older: u64,
    /// Time from the first entry to the last, if times were recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<Duration>,
    /// The moment with the most allocated memory.
    pub peak: Moment,
    /// The most reserved memory, and the entry after which it was reached.
    pub peak_reserved: Point,
    /// Every failed request; only the last ones if there are very many.
    pub ooms: Vec<OomFinding>,
    /// Number of failed requests.
    pub oom_count: u64,
    /// Stacks that allocate again and again and free nothing.
    pub leaks: Vec<LeakSuspect>,
}

/// A point in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The entry just before the point, counted from 0; absent for the state before the first entry.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<u64>,
    /// Time since the first entry, if times were recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Duration>,
    /// Requested bytes that were not yet freed.
    pub allocated: ByteSize,
    /// Bytes freed while a stream may still use them.
    pub pending_free: ByteSize,
    /// Total size of the segments.
    pub reserved: ByteSize,
}

/// A point in a trace, and what the memory was used for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The time and the amounts.
    pub point: Point,
    /// The stacks with the most bytes.
    pub culprits: Vec<Culprit>,
    /// Number of stacks in total.
    pub stacks: u64,
    /// Memory by use, largest first.
    pub bands: Vec<Band>,
}

/// A request that the allocator could not serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OomFinding {
    /// The memory at that time.
    pub moment: Moment,
    /// The size of the failed request, after rounding.
    pub tried: ByteSize,
    /// Free memory on the device, according to the driver.
    pub device_free: ByteSize,
    /// The stack of the request, innermost frame first.
    pub stack: Vec<Frame>,
    /// The largest free block in segments that could have served the request; only known if nothing changed between
    /// this moment and the end of the snapshot.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub largest_free: Option<ByteSize>,
    /// Why the request failed.
    pub verdict: OomVerdict,
}

/// Why a request failed, in the words of `plimsoll.findings/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OomVerdict {
    /// Enough memory was reserved and unused, but in pieces that were too small.
    Fragmentation,
    /// One request was at least a quarter of all memory, and nothing could serve it.
    SingleHugeRequest,
    /// The driver had more free than was requested: the process has a limit, or something outside the trace interfered.
    UnexplainedFreeExceedsRequest,
    /// Private pools hold more than half of the reserved memory.
    PrivatePool,
    /// All memory is in use.
    Capacity,
}

impl OomVerdict {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fragmentation => "fragmentation",
            Self::SingleHugeRequest => "single-huge-request",
            Self::UnexplainedFreeExceedsRequest => "unexplained-free-exceeds-request",
            Self::PrivatePool => "private-pool",
            Self::Capacity => "capacity",
        }
    }
}

/// A stack whose memory only grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeakSuspect {
    /// Memory that the trace allocated from this stack and did not free.
    pub kept: Culprit,
    /// Number of allocations in the trace.
    pub allocations: u64,
    /// Number of these that were freed.
    pub frees: u64,
    /// How many of eight equal parts of the trace contain allocations of this stack.
    pub parts: u32,
}

/// Sums of a snapshot that disagree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Broken {
    /// Number of disagreements.
    pub count: u64,
    /// Descriptions of the first ones.
    pub first: Vec<String>,
}

impl Broken {
    /// How many are described.
    const TOLD: usize = 16;

    pub(super) fn add(&mut self, tell: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < Self::TOLD {
            self.first.push(tell());
        }
    }
}
