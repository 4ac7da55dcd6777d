//! Control groups: what all processes of a group take together, page cache included, and the limits that the kernel
//! itself enforces. Versions 1 and 2.
//!
//! - The peak is the kernel's own mark. It is reset in version 1 by writing 0, for everyone who reads it, so that this is
//!   done to groups of our own alone; in version 2 by a write to the descriptor that reads it (since Linux 6.12), for that
//!   descriptor alone.
//! - A group that is created here is named after the process that made it and is removed with its handle; what a crash
//!   left behind is removed by the next that creates one.
//! - In version 2 a group with processes gives its children no controllers: a new group is made below the nearest one above
//!   that does, beside our own, and only if no limit is escaped that way. If there is none, room for one can be made.

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
