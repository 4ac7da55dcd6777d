//! [`HeapReadings`]: what a scope ends in.

use crate::bytes::ByteSize;

/// What a scope counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum HeapScope {
    /// What the thread that opened it does.
    Thread,
    /// What every thread of the process does, but for the meter's own.
    Process,
}

/// What was allocated while a scope was open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HeapReadings {
    /// Whose allocations they are.
    pub scope: HeapScope,
    /// The most bytes that were live at one time, beyond those that were live when the scope was opened.
    pub peak: ByteSize,
    /// The bytes that are live at the end, beyond those that were when it was opened; 0 if there are fewer.
    pub retained: ByteSize,
    /// Calls of `alloc` and `alloc_zeroed`.
    pub allocations: u64,
    /// Calls of `realloc`.
    pub reallocations: u64,
    /// Calls of `dealloc`.
    pub deallocations: u64,
    /// The bytes of all allocations, and those by which reallocations grew a block.
    pub allocated: ByteSize,
    /// The bytes of all deallocations, and those by which reallocations shrank a block.
    pub freed: ByteSize,
    /// Of a scope over the process: its threads, those that allocated most bytes first.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub threads: Vec<ThreadAllocations>,
}

/// What one thread allocated while a scope over the process was open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ThreadAllocations {
    /// The id that the kernel gave it; absent for what further threads than fit did together.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub id: Option<u32>,
    /// Its name when it was first seen, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Calls of `alloc` and `alloc_zeroed`.
    pub allocations: u64,
    /// The bytes that it allocated, as in [`HeapReadings::allocated`].
    pub allocated: ByteSize,
    /// The bytes that it freed.
    pub freed: ByteSize,
}
