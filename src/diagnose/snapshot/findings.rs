//! What a snapshot says, as data.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::category::{Category, CategorySource};
use plimsoll_memory::bytes::ByteSize;

/// What was found in a memory snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotFindings {
    /// The file, as it was named.
    pub name: String,
    /// How it is written.
    pub format: SnapshotFormat,
    /// The settings of the allocator, if the snapshot has them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settings: Option<AllocatorSettings>,
    /// Each device that has memory or a trace.
    pub devices: Vec<DeviceFindings>,
    /// The number of `external_annotations`.
    pub annotations: u64,
    /// Sums that do not agree: the snapshot, or what is concluded from it, is to be doubted.
    pub broken: Broken,
}

/// How a snapshot is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotFormat {
    /// The protocol of the pickle.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protocol: Option<u8>,
    /// The bytes of the pickle.
    pub bytes: ByteSize,
    /// Distinct frames.
    pub frames: u64,
    /// Distinct stacks, and beginnings of stacks.
    pub stacks: u64,
}

/// The settings of the caching allocator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatorSettings {
    /// `PYTORCH_CUDA_ALLOC_CONF` as it was set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub conf: Option<String>,
    /// `expandable_segments`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expandable_segments: Option<bool>,
    /// `max_split_size`; absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_split_size: Option<ByteSize>,
    /// `garbage_collection_threshold`, a share of the device; absent if it is off (0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub garbage_collection_threshold: Option<f64>,
    /// `roundup_power2_divisions` by the size they begin at, those above 0.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub roundup_power2_divisions: BTreeMap<String, i64>,
    /// The others, as text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub others: BTreeMap<String, String>,
}

/// What was found of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFindings {
    /// The index of the device.
    pub device: u32,
    /// The memory when the snapshot was taken.
    pub state: MemoryState,
    /// Memory by stream, pool and kind of segment, the largest reserved first.
    pub groups: Vec<SegmentGroup>,
    /// The segments with the most free memory between blocks in use.
    pub fragmented: Vec<SegmentFindings>,
    /// What was in use when the snapshot was taken, the largest first.
    pub live: Vec<Culprit>,
    /// Memory by what it is for.
    pub bands: Vec<Band>,
    /// What the trace says, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<TraceFindings>,
}

/// Memory of the allocator at the end of a snapshot. `reserved` = `allocated` + `pending_free` + `free`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryState {
    /// What the allocator holds: the sum of its segments.
    pub reserved: ByteSize,
    /// The sum of the blocks that tensors use.
    pub allocated: ByteSize,
    /// Blocks that were freed while a stream may still work on them: not free yet.
    pub pending_free: ByteSize,
    /// What was asked for, of `allocated` and `pending_free`.
    pub requested: ByteSize,
    /// Free blocks: external free memory.
    pub free: ByteSize,
    /// What rounding adds to requests: internal free memory, part of `allocated` and `pending_free`.
    pub rounding: ByteSize,
    /// The largest free block: a request of more makes the segments grow.
    pub largest_free: ByteSize,
    /// Free memory in segments with no block in use, which `empty_cache` and an out-of-memory retry give back.
    pub releasable: ByteSize,
    /// The number of segments.
    pub segments: u64,
    /// The number of blocks in use, pending ones included.
    pub active_blocks: u64,
    /// The number of free blocks.
    pub free_blocks: u64,
}

impl MemoryState {
    /// How scattered the free memory is: 0 if the largest block is all of it, near 1 if it is dust. `None` if
    /// nothing is free.
    pub fn fragmentation(&self) -> Option<f64> {
        let free = self.free.bytes();
        (free > 0).then(|| 1.0 - self.largest_free.bytes() as f64 / free as f64)
    }
}

/// The segments of one stream, pool and kind. A request is served from one such group alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentGroup {
    /// The stream that allocates from it.
    pub stream: u64,
    /// The private pool; absent for the common one, (0, 0).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pool: Option<(u64, u64)>,
    /// Whether requests above 1 MiB are served from it. Absent in old snapshots.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub large: Option<bool>,
    /// Whether its segments grow in place.
    pub expandable: bool,
    /// The memory of the group. Its `largest_free` is the largest request that fits without growing.
    pub state: MemoryState,
}

/// A segment, and how it is filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentFindings {
    /// The first byte, in hexadecimal, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// The stream that allocates from it.
    pub stream: u64,
    /// The private pool; absent for the common one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pool: Option<(u64, u64)>,
    /// Whether it grows in place.
    pub expandable: bool,
    /// The memory of the segment.
    pub state: MemoryState,
    /// The segment in 32 parts: `.` free, `1` to `9` the tenths in use, `#` full.
    pub map: String,
}

/// Memory of one stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// What was asked for.
    pub bytes: ByteSize,
    /// How many allocations.
    pub count: u64,
    /// What it is for.
    pub category: Category,
    /// The frames, innermost first. None: no stack was recorded.
    pub stack: Vec<Frame>,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The file, as it was recorded.
    pub file: String,
    /// The line; 0 if it is unknown.
    pub line: u32,
    /// The function.
    pub function: String,
}

/// Memory by what it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// What it is for.
    pub category: Category,
    /// What was asked for.
    pub bytes: ByteSize,
    /// How many allocations.
    pub count: u64,
    /// Who says so. Of a band with both, the one of most bytes.
    pub source: CategorySource,
}

/// What the trace of a device says. Its amounts are what was asked for, without rounding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFindings {
    /// The number of entries.
    pub entries: u64,
    /// The number of allocations.
    pub allocations: u64,
    /// The number of frees of memory that was allocated before the first entry: the ring buffer was full, or recording
    /// began late.
    pub frees_of_older: u64,
    /// From the first entry to the last, if times were recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<Duration>,
    /// The moment of the most allocated memory.
    pub peak: Moment,
    /// The most reserved memory, and the entry after which it was reserved.
    pub peak_reserved: Point,
    /// Each time that the allocator gave up, the last ones of very many.
    pub ooms: Vec<OomFinding>,
    /// How often it gave up.
    pub oom_count: u64,
    /// Stacks that allocate again and again and free nothing.
    pub leaks: Vec<LeakSuspect>,
}

/// A point of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The entry it is right after, counted from 0; absent for the state before the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<u64>,
    /// The time since the first entry, if times were recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Duration>,
    /// What was asked for and not yet freed.
    pub allocated: ByteSize,
    /// What was freed while a stream may still have worked on it.
    pub pending_free: ByteSize,
    /// The sum of the segments.
    pub reserved: ByteSize,
}

/// A point of a trace, and what the memory was used for then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// When, and how much.
    pub point: Point,
    /// The stacks of most bytes.
    pub culprits: Vec<Culprit>,
    /// The number of stacks in all.
    pub stacks: u64,
    /// By what it is for, the largest first.
    pub bands: Vec<Band>,
}

/// A request that the allocator could not serve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OomFinding {
    /// The memory at that time.
    pub moment: Moment,
    /// What was to be allocated, after rounding.
    pub tried: ByteSize,
    /// What the driver said was free on the device.
    pub device_free: ByteSize,
    /// The stack that asked for it, innermost frame first.
    pub stack: Vec<Frame>,
    /// The largest free block in segments that could have served it; known only where the state at the end of the
    /// snapshot is the state of this moment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub largest_free: Option<ByteSize>,
    /// Why it failed.
    pub verdict: OomVerdict,
}

/// Why a request failed, in the words of `plimsoll.findings/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OomVerdict {
    /// Enough was reserved and unused, in pieces too small.
    Fragmentation,
    /// One request of a quarter of all memory or more, which nothing could serve.
    SingleHugeRequest,
    /// The driver had more than was asked for: a limit on the process, or something that the trace does not see.
    UnexplainedFreeExceedsRequest,
    /// Private pools hold more than half of what is reserved.
    PrivatePool,
    /// Everything is in use.
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
    /// What the trace allocated from there and did not free.
    pub kept: Culprit,
    /// The allocations in the trace.
    pub allocations: u64,
    /// The frees of them.
    pub frees: u64,
    /// In how many of the eight equal parts of the trace it allocated.
    pub parts: u32,
}

/// Sums of a snapshot that do not agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Broken {
    /// How many.
    pub count: u64,
    /// The first ones, in words.
    pub first: Vec<String>,
}

impl Broken {
    /// How many are listed in words.
    const TOLD: usize = 16;

    pub(super) fn add(&mut self, tell: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < Self::TOLD {
            self.first.push(tell());
        }
    }
}
