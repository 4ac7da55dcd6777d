//! A trace, walked backward.
//!
//! The trace is a ring buffer: memory allocated before its first entry is only visible in the final state. So the walk
//! begins with the blocks of the segments at the end, and undoes one event after the other: undoing an allocation
//! removes its block, undoing a free restores it. What is left before the first event existed all the time.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::category::Category;
use super::ingest::{Device, Trace};
use super::intern::StackId;
use super::model::Action;
use super::spool::{Event, Spool};

/// Memory in use at a point of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) size: u64,
    pub(super) stack: StackId,
    pub(super) category: Option<Category>,
}

/// A change of the memory in use, when walking backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The block was in use before the event.
    Added(Live),
    /// The block was not in use before the event.
    Removed(Live),
    None,
}

/// The state of the allocator right after an event.
pub(super) struct Walk {
    pub(super) live: HashMap<u64, Live, RandomState>,
    pub(super) allocated: u64,
    pending: i128,
    reserved: i128,
    /// Allocations whose block is neither freed later nor present at the end.
    pub(super) lost: u64,
    /// Frees of memory that is still in use afterwards.
    pub(super) doubled: u64,
}

impl Walk {
    /// The state at the end of the trace.
    fn at_end(device: &Device, trace: &Trace) -> Self {
        let mut walk = Self {
            live: HashMap::default(),
            allocated: 0,
            pending: 0,
            reserved: i128::from(device.segments.state.reserved.bytes()),
            lost: 0,
            doubled: 0,
        };
        for block in &device.segments.live {
            if block.pending {
                walk.pending += i128::from(block.requested);
                continue;
            }
            let category = trace.categories.get(&block.address).copied();
            walk.live.insert(block.address, Live { size: block.requested, stack: block.stack, category });
        }
        walk.allocated = walk.live.values().fold(0u64, |sum, live| sum.saturating_add(live.size));
        walk
    }

    /// Memory that was freed and is not yet free.
    pub(super) fn pending(&self) -> u64 {
        u64::try_from(self.pending.max(0)).unwrap_or(u64::MAX)
    }

    /// Total size of the segments.
    pub(super) fn reserved(&self) -> u64 {
        u64::try_from(self.reserved.max(0)).unwrap_or(u64::MAX)
    }

    fn undo(&mut self, event: &Event, owner: StackId) -> Change {
        let size = i128::from(event.size);
        match event.action {
            Action::Alloc => match self.live.remove(&event.address) {
                Some(live) => {
                    self.allocated = self.allocated.saturating_sub(live.size);
                    return Change::Removed(live);
                }
                // A block whose free was requested is pending at the end, and was counted there.
                None => self.lost += 1,
            },
            Action::FreeRequested => {
                self.pending -= size;
                let live = Live { size: event.size, stack: owner, category: event.category };
                if let Some(other) = self.live.insert(event.address, live) {
                    self.live.insert(event.address, other);
                    self.doubled += 1;
                } else {
                    self.allocated = self.allocated.saturating_add(event.size);
                    return Change::Added(live);
                }
            }
            Action::FreeCompleted => self.pending += size,
            Action::SegmentAlloc | Action::SegmentMap => self.reserved -= size,
            Action::SegmentFree | Action::SegmentUnmap => self.reserved += size,
            Action::Snapshot | Action::Oom | Action::Unknown => {}
        }
        Change::None
    }
}

/// Calls `visit` with the state after each event, last event first, then with the state before the first, and `undone`
/// with each change in between. Returns the state before the first event.
pub(super) fn backward(
    spool: &mut Spool,
    device: &Device,
    trace: &Trace,
    mut visit: impl FnMut(Option<(u64, &Event)>, &Walk),
    mut undone: impl FnMut(&Event, Change),
) -> std::io::Result<Walk> {
    let mut walk = Walk::at_end(device, trace);
    let start = trace.events.start;
    spool.backward(trace.events.clone(), |index, event| {
        visit(Some((index - start, &event)), &walk);
        let change = walk.undo(&event, trace.owner(&event));
        undone(&event, change);
    })?;
    visit(None, &walk);
    Ok(walk)
}
