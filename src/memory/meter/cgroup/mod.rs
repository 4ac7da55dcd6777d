//! Control groups: the memory of all processes of a group, including page cache, and limits that the kernel enforces.
//! Versions 1 and 2.
//!
//! - The peak is the kernel's own mark. In version 1 writing 0 resets it for everyone who reads it, so only our own
//!   groups are reset; in version 2 (since Linux 6.12) a write to the descriptor that reads it resets it for that
//!   descriptor only.
//! - A group created here is named after the process that created it and is removed with its handle; the next process
//!   that creates one removes what a crash left behind.
//! - In version 2, a group with processes gives its children no controllers. A new group is therefore created below the
//!   nearest ancestor that does, beside our own, and only if that escapes no limit. If there is none, room can be made.

mod counters;
mod create;
mod group;
mod hierarchy;
mod limits;
mod peak;
mod reader;
mod room;

pub use counters::{CgroupEvents, CgroupStat};
pub use group::Cgroup;
pub use hierarchy::CgroupVersion;
pub use limits::CgroupLimits;
pub(crate) use reader::{CgroupMarks, CgroupReader};
