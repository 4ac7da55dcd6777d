//! What a container is, known from where it is opened.

use crate::snapshot::intern::{FrameId, TextId};
use crate::snapshot::keys;
use crate::snapshot::model::{Block, Setting};

/// What a list or dictionary of a snapshot is.
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
    /// A list that no record needs. Frames in it may be referred to from elsewhere.
    OtherList,
    /// A dictionary that no record needs, unless it proves to be a frame.
    OtherDict,
}

impl Role {
    pub(super) fn is_list(self) -> bool {
        use Role::*;
        matches!(self, Segments | Blocks | Histories | Frames | Traces | Trace | Annotations | OtherList)
    }

    /// What the items of a list are.
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

    /// What an item of a list is, which is opened as a list or a dictionary.
    pub(super) fn item_as(self, list: bool) -> Option<Self> {
        self.item().filter(|item| item.is_list() == list)
    }

    /// What the value of `key` is, which is opened as a list or a dictionary.
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

    /// A container of no known meaning.
    pub(super) fn other(list: bool) -> Self {
        if list { Self::OtherList } else { Self::OtherDict }
    }

    /// Whether records are handed over at the end of each item, so that the list itself holds nothing.
    pub(super) fn streams(self) -> bool {
        matches!(self, Self::Segments | Self::Blocks | Self::Histories | Self::Trace | Self::Annotations)
    }

    /// The key or list that errors name.
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
    /// The list that it is an item of, if its role comes from that.
    pub(super) parent: u32,
    /// The memo entry that names it.
    pub(super) memo: Option<u32>,
    pub(super) data: Data,
}

/// What a container that is being filled holds so far.
#[derive(Debug)]
pub(super) enum Data {
    Nothing,
    Frames(Vec<FrameId>),
    Blocks(Vec<Block>),
    /// The first block of an old list: what the memory is used for now.
    History(Option<(u64, super::value::Value)>),
    /// The devices of `device_traces` so far, or the device of a trace.
    Device(u32),
    Divisions(Vec<(String, i64)>),
    /// The settings so far.
    Settings(Vec<(String, Setting)>),
    /// Whether `segments` was there.
    Root(bool),
    /// What a container is that was referred to, and so is complete.
    Sealed(super::value::Value),
    /// A list that holds something else than frames.
    NotFrames,
}
