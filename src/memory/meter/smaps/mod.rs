//! What each mapping of a process holds: `/proc/PID/smaps` and its sum, `smaps_rollup`. Exact, and slow: the kernel walks
//! the page tables, some 9 ms a GiB of small pages, so that it is read seldom.
//!
//! Names of mappings tell files, shared memory, the main stack and the heap of `brk` apart. What has no name is told by
//! what is known of it: a task's stack pointer lies in it, it is laid out as glibc lays out stacks or arenas of `malloc`;
//! else it is called anonymous.

mod classify;
mod growth;
mod parse;
mod reader;
mod shared;
mod stacks;

pub use growth::{MappingGrowth, MappingKind};
pub(crate) use growth::{MappingTable, growth};
pub(crate) use reader::{SmapsPass, SmapsReader};
pub(crate) use shared::SharedReader;
