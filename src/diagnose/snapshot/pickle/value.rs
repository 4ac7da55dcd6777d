//! The values on the machine's stack.

use crate::snapshot::intern::{FrameId, StackId, TextId};

/// A pair of integers: the identity of a memory pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairId(pub(super) u32);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// An integer from 2^63 to 2^64 - 1: an address.
    Large(u64),
    Float(f64),
    Text(TextId),
    Frame(FrameId),
    Stack(StackId),
    Pair(PairId),
    /// A container that is being filled, by its slot.
    Open(u32),
    /// A record that was emitted, by the slot of its list.
    Done(u32),
    /// A known function of torch's Pickler that returns its argument.
    Rebuild,
    /// A value that no record needs.
    Opaque,
}

// Only tests compare floats, and they write no NaN.
impl Eq for Value {}

impl Value {
    /// An amount or a count.
    pub(super) fn unsigned(self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(value).ok(),
            Self::Large(value) => Some(value),
            _ => None,
        }
    }

    /// An address: torch's own Pickler writes addresses from 2^63 on as negative numbers.
    pub(super) fn address(self) -> Option<u64> {
        match self {
            Self::Int(value) => Some(value as u64),
            Self::Large(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn bool(self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(value) if value < 0 => "a negative int",
            Self::Int(_) | Self::Large(_) => "an int",
            Self::Float(_) => "a float",
            Self::Text(_) => "a str",
            Self::Frame(_) => "a frame",
            Self::Stack(_) => "a list of frames",
            Self::Pair(_) => "a pair of ints",
            Self::Open(_) => "a list or dict",
            Self::Done(_) => "a record of another list",
            Self::Rebuild => "a function",
            Self::Opaque => "a value of another kind",
        }
    }
}
