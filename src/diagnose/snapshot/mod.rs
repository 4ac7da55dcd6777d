//! Memory snapshots of PyTorch's caching allocator: `torch.cuda.memory._dump_snapshot`.
//!
//! A snapshot is a pickle of what the allocator holds (segments, and the blocks in them) and, if it was recorded, a
//! ring buffer of what it did last. [`Snapshot::read`] reads one of any size as a stream: the pickle is never held,
//! equal frames and stacks are kept once, and the events of the trace stand in a temporary file. Nothing of the pickle
//! is imported or called.
//!
//! [`Snapshot::findings`] tells what the memory was used for at its peak, at each OOM and at the end; how the segments
//! are fragmented, by stream and pool; and which stacks only allocate. [`Snapshot::timeline`] and
//! [`Snapshot::flame_graph`] are data for pictures, [`Difference`] is what changed between two.
//!
//! Invariants:
//! - Amounts of a trace are what was asked for; amounts of segments are blocks, which are rounded up.
//! - A trace is walked backward from the blocks in use at its end, so that memory older than its first entry counts.
//! - Memory that was freed and is still worked on by a stream (`active_pending_free`) is neither allocated nor free.
//! - Sums that do not agree are told ([`Broken`]), never evened out.

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
