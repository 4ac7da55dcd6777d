//! Ceilings on the counting allocator's figures other than live bytes.

use std::fmt;
use std::str::FromStr;

use crate::alloc::{HeapReadings, HeapScope};
use crate::bytes::ByteSize;
use crate::ceiling::CeilingStatus;

/// A figure of the counting allocator, other than live bytes, that a ceiling can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum HeapCounter {
    /// Calls of `alloc` and `alloc_zeroed`.
    Allocations,
    /// Calls of `realloc`, such as those of a growing vector.
    Reallocations,
    /// Bytes of all allocations, and the growth of all reallocated blocks.
    Allocated,
}

impl HeapCounter {
    /// Every counter.
    pub const ALL: [Self; 3] = [Self::Allocations, Self::Reallocations, Self::Allocated];

    /// Its name in macros, attributes and messages, such as `allocations`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allocations => "allocations",
            Self::Reallocations => "reallocations",
            Self::Allocated => "allocated",
        }
    }

    /// An example of a limit on it.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Self::Allocations | Self::Reallocations => "a number of calls, such as `10`",
            Self::Allocated => "an amount of bytes, such as `\"64 KiB\"`",
        }
    }

    /// Its value in a scope.
    pub const fn of(self, heap: &HeapReadings) -> u64 {
        match self {
            Self::Allocations => heap.allocations,
            Self::Reallocations => heap.reallocations,
            Self::Allocated => heap.allocated.bytes(),
        }
    }

    /// Formats a value: a number of calls, or bytes.
    pub fn show(self, figure: u64) -> String {
        match self {
            Self::Allocations | Self::Reallocations => figure.to_string(),
            Self::Allocated => ByteSize::new(figure).to_string(),
        }
    }
}

impl fmt::Display for HeapCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A maximum for a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HeapLimit {
    /// The limited counter.
    pub counter: HeapCounter,
    /// The limit: calls or bytes. An equal count passes.
    pub limit: u64,
}

impl fmt::Display for HeapLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.counter, self.counter.show(self.limit))
    }
}

/// The judgement of a [`HeapLimit`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HeapVerdict {
    /// The limited counter.
    pub counter: HeapCounter,
    /// The limit: calls or bytes.
    pub limit: u64,
    /// The result.
    pub status: CeilingStatus,
    /// The count; absent if unavailable.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub count: Option<u64>,
    /// The verdict on one line.
    pub message: String,
}

/// Judges every limit by what a scope counted, or by why there is no count.
pub fn judge_heap(heap: Result<&HeapReadings, &str>, limits: &[HeapLimit]) -> Vec<HeapVerdict> {
    let one = |limit: &HeapLimit| {
        let HeapLimit { counter, limit: most } = *limit;
        let (status, count, message) = match heap {
            Err(reason) => (CeilingStatus::NotMeasurable, None, format!("{limit} is not measurable: {reason}")),
            Ok(heap) => {
                let (count, scope) = (counter.of(heap), exact(heap.scope));
                let shown = counter.show(count);
                match count.checked_sub(most).filter(|&by| by > 0) {
                    Some(by) => {
                        let by = counter.show(by);
                        let message = format!("{limit} is broken: {shown}, {by} above the limit; {scope}");
                        (CeilingStatus::Broken, Some(count), message)
                    }
                    None => (CeilingStatus::Holds, Some(count), format!("{limit} holds: {shown}, {scope}")),
                }
            }
        };
        HeapVerdict { counter, limit: most, status, count, message }
    };
    limits.iter().map(one).collect()
}

/// The source of a figure of the counting allocator.
pub(crate) const fn counter_of(scope: HeapScope) -> &'static str {
    match scope {
        HeapScope::Thread => "allocator, this thread",
        HeapScope::Process => "allocator, all threads",
    }
}

/// How the scope is named as the source of an exact figure.
pub(crate) fn exact(scope: HeapScope) -> String {
    format!("exact ({})", counter_of(scope))
}

/// The error for a word that is not a counter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a counter of the heap: write allocations, reallocations or allocated")]
pub struct ParseHeapCounterError {
    name: String,
}

impl FromStr for HeapCounter {
    type Err = ParseHeapCounterError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|counter| counter.name() == name.trim());
        found.ok_or(ParseHeapCounterError { name: name.to_owned() })
    }
}
