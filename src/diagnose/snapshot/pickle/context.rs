//! The role of a container, known when it is opened.

use crate::snapshot::intern::{FrameId, TextId};
use crate::snapshot::keys;
use crate::snapshot::model::{Block, Setting};

/// The role of a list or dictionary in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Segments,
    Segment,
    Blocks,
    Block,
    Histories,
    History,
    Frames,
    Frame,
    Traces,
    /// The trace of one device.
    Trace,
    Entry,
    Settings,
    Divisions,
    Annotations,
    Annotation,
    /// A list that no record needs. Frames in it may be referenced from elsewhere.
    OtherList,
    /// A dictionary that no record needs, unless it turns out to be a frame.
    OtherDict,
}

impl Role {
    pub(super) fn is_list(self) -> bool {
        use Role::*;
        matches!(self, Segments | Blocks | Histories | Frames | Traces | Trace | Annotations | OtherList)
    }

    /// The role of a list's items.
    fn item(self) -> Option<Self> {
        Some(match self {
            Self::Segments => Self::Segment,
            Self::Blocks => Self::Block,
            Self::Histories => Self::History,
            Self::Frames => Self::Frame,
            Self::Traces => Self::Trace,
            Self::Trace => Self::Entry,
            Self::Annotations => Self::Annotation,
            _ => return None,
        })
    }

    /// The role of a list's item that is opened as a list or a dictionary.
    pub(super) fn item_as(self, list: bool) -> Option<Self> {
        self.item().filter(|item| item.is_list() == list)
    }

    /// The role of the value of `key` that is opened as a list or a dictionary.
    pub(super) fn value_as(self, key: TextId, list: bool) -> Self {
        let role = match (self, key) {
            (Self::Root, keys::SEGMENTS) => Self::Segments,
            (Self::Root, keys::DEVICE_TRACES) => Self::Traces,
            (Self::Root, keys::ALLOCATOR_SETTINGS) => Self::Settings,
            (Self::Root, keys::EXTERNAL_ANNOTATIONS) => Self::Annotations,
            (Self::Segment, keys::BLOCKS) => Self::Blocks,
            (Self::Block, keys::HISTORY) => Self::Histories,
            (Self::Segment | Self::Block | Self::History | Self::Entry, keys::FRAMES | keys::FORWARD_FRAMES) => {
                Self::Frames
            }
            (Self::Settings, keys::ROUNDUP_POWER2_DIVISIONS) => Self::Divisions,
            _ => Self::other(list),
        };
        if role.is_list() == list { role } else { Self::other(list) }
    }

    /// A container without a known meaning.
    pub(super) fn other(list: bool) -> Self {
        if list { Self::OtherList } else { Self::OtherDict }
    }

    /// Whether records are emitted at the end of each item, so that the list itself holds nothing.
    pub(super) fn streams(self) -> bool {
        matches!(self, Self::Segments | Self::Blocks | Self::Histories | Self::Trace | Self::Annotations)
    }

    /// The key or list to name in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Root => "the snapshot",
            Self::Segments => "segments",
            Self::Segment => "a segment",
            Self::Blocks => "blocks",
            Self::Block => "a block",
            Self::Histories => "history",
            Self::History => "an item of history",
            Self::Frames => "frames",
            Self::Frame => "a frame",
            Self::Traces => "device_traces",
            Self::Trace => "the trace of a device",
            Self::Entry => "a trace entry",
            Self::Settings => "allocator_settings",
            Self::Divisions => "roundup_power2_divisions",
            Self::Annotations => "external_annotations",
            Self::Annotation => "an annotation",
            Self::OtherList => "a list",
            Self::OtherDict => "a dict",
        }
    }
}

/// A container that is being filled.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) role: Role,
    /// The list that contains it, if its role comes from that list.
    pub(super) parent: u32,
    /// The memo entry that refers to it.
    pub(super) memo: Option<u32>,
    pub(super) data: Data,
}

/// The content so far of a container that is being filled.
#[derive(Debug)]
pub(super) enum Data {
    Nothing,
    Frames(Vec<FrameId>),
    Blocks(Vec<Block>),
    /// The first block of an old list: the current use of the memory.
    History(Option<(u64, super::value::Value)>),
    /// The number of devices in `device_traces` so far, or the device of a trace.
    Device(u32),
    Divisions(Vec<(String, i64)>),
    /// The settings so far.
    Settings(Vec<(String, Setting)>),
    /// Whether `segments` was present.
    Root(bool),
    /// The value of a referenced container, which is therefore complete.
    Sealed(super::value::Value),
    /// A list that holds something other than frames.
    NotFrames,
}
