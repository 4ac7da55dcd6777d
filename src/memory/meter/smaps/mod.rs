//! The contents of each mapping of a process: `/proc/PID/smaps` and its sum, `smaps_rollup`. Exact but slow: the kernel
//! walks the page tables, some 9 ms per GiB of small pages, so they are read rarely.
//!
//! Names distinguish files, shared memory, the main stack and the `brk` heap. Unnamed mappings are recognized by other
//! facts: a task's stack pointer is in it, or it has the layout of glibc's stacks or `malloc` arenas. The rest is
//! anonymous.

mod classify;
mod growth;
mod parse;
mod reader;
mod shared;
mod stacks;

pub use growth::{MappingGrowth, MappingKind};
pub(crate) use growth::{MappingTable, growth};
pub(crate) use parse::{Mapping, mappings};
pub(crate) use reader::{SmapsPass, SmapsReader};
pub(crate) use shared::SharedReader;
