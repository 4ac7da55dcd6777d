//! The records of a snapshot, as the reader emits them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intern::{StackId, TextId};

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// A tensor uses it.
    ActiveAllocated,
    /// The block was freed, but a stream may still use it: neither usable nor free.
    ActivePendingFree,
    /// The block is free for the next request that fits.
    Inactive,
}

/// A block of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Absent in snapshots of torch 2.0 and older, and in exports of the profiler.
    pub(super) address: Option<u64>,
    pub(super) size: u64,
    /// The requested size; the block's size if it is not recorded.
    pub(super) requested: u64,
    pub(super) state: BlockState,
    pub(super) stack: StackId,
}

/// Memory that the allocator got from the driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) device: u32,
    pub(super) address: Option<u64>,
    pub(super) total: u64,
    pub(super) allocated: Option<u64>,
    pub(super) active: Option<u64>,
    pub(super) requested: Option<u64>,
    pub(super) stream: u64,
    pub(super) large: Option<bool>,
    pub(super) pool: Option<(u64, u64)>,
    pub(super) expandable: bool,
    pub(super) blocks: Vec<Block>,
}

/// What the allocator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub(super) enum Action {
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom,
    /// An action of a later version of PyTorch.
    Unknown,
}

impl Action {
    pub(super) const ALL: [(Self, &'static str); 9] = [
        (Self::Alloc, "alloc"),
        (Self::FreeRequested, "free_requested"),
        (Self::FreeCompleted, "free_completed"),
        (Self::SegmentAlloc, "segment_alloc"),
        (Self::SegmentFree, "segment_free"),
        (Self::SegmentMap, "segment_map"),
        (Self::SegmentUnmap, "segment_unmap"),
        (Self::Snapshot, "snapshot"),
        (Self::Oom, "oom"),
    ];

    pub(super) fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(_, text)| *text == name).map_or(Self::Unknown, |&(action, _)| action)
    }
}

/// An entry of the trace of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) action: Action,
    /// The address; for an out-of-memory error, the free memory on the device according to the driver.
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) stream: u64,
    /// Microseconds since the epoch; absent in older snapshots.
    pub(super) time_us: Option<i64>,
    pub(super) stack: StackId,
    /// The profiler's category.
    pub(super) category: Option<TextId>,
}

/// A setting of the allocator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Setting {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// `roundup_power2_divisions`: each power of two, with its divisions.
    Divisions(Vec<(String, i64)>),
}
