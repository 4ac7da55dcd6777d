//! [`HeapReadings`]: the result of a scope.

use crate::bytes::ByteSize;

/// Whose calls a scope counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum HeapScope {
    /// The calls of the thread that opened it.
    Thread,
    /// The calls of every thread of the process, except the meter's own.
    Process,
}

/// What was allocated while a scope was open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct HeapReadings {
    /// Whose allocations they are.
    pub scope: HeapScope,
    /// The most bytes that were live at one time, beyond those live at the opening of the scope.
    pub peak: ByteSize,
    /// The bytes live at the end, beyond those live at the opening; 0 if there are fewer.
    pub retained: ByteSize,
    /// Calls of `alloc` and `alloc_zeroed`.
    pub allocations: u64,
    /// Calls of `realloc`.
    pub reallocations: u64,
    /// Calls of `dealloc`.
    pub deallocations: u64,
    /// The bytes of all allocations, and the growth of all reallocated blocks.
    pub allocated: ByteSize,
    /// The bytes of all deallocations, and the shrinkage of all reallocated blocks.
    pub freed: ByteSize,
    /// The threads of a scope over the process, those that allocated the most first.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub threads: Vec<ThreadAllocations>,
}

/// What one thread allocated while a scope over the process was open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct ThreadAllocations {
    /// The kernel's id for it; absent for the sum of the threads beyond the maximum.
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
