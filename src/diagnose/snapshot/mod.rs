//! Memory snapshots of PyTorch's caching allocator: `torch.cuda.memory._dump_snapshot`.
//!
//! A snapshot is a pickle of what the allocator holds (segments, and the blocks in them) and, if it was recorded, a
//! ring buffer of its latest actions. [`Snapshot::read`] reads a snapshot of any size as a stream: the pickle is never
//! held in memory, equal frames and stacks are stored once, and the events of the trace go to a temporary file.
//! Nothing in the pickle is imported or called.
//!
//! [`Snapshot::findings`] shows what the memory was used for at its peak, at each out-of-memory error and at the end;
//! how the segments are fragmented, by stream and pool; and which stacks only allocate. [`Snapshot::timeline`] and
//! [`Snapshot::flame_graph`] are data for pictures; [`Difference`] compares two snapshots.
//!
//! Invariants:
//! - Amounts of a trace are requested bytes; amounts of segments are blocks, which are rounded up.
//! - A trace is walked backward from the blocks in use at its end, so that memory older than its first entry counts.
//! - Memory that was freed while a stream still uses it (`active_pending_free`) is neither allocated nor free.
//! - Sums that disagree are reported ([`Broken`]), never corrected.

mod category;
mod difference;
mod error;
mod findings;
mod flame;
mod frames;
mod ingest;
mod intern;
mod keys;
mod model;
mod pickle;
mod read;
mod segments;
mod spool;
mod timeline;
mod trace;
mod walk;

pub use category::{Category, CategorySource};
pub use difference::{Difference, StackDifference};
pub use error::{InvalidSnapshot, SnapshotError};
pub use findings::{
    AllocatorSettings, Band, Broken, Culprit, DeviceFindings, Frame, LeakSuspect, MemoryState, Moment, OomFinding,
    OomVerdict, Point, SegmentFindings, SegmentGroup, SnapshotFindings, SnapshotFormat, TraceFindings,
};
pub use flame::FlameNode;
pub use model::BlockState;
pub use read::{Options, Snapshot, analyse};
pub use timeline::{Mark, MarkKind, Series, Timeline};
