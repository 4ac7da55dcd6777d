//! Segments and blocks: how the allocator's memory is divided at the end.

use std::collections::BTreeMap;

use super::findings::{Broken, MemoryState, SegmentFindings, SegmentGroup};
use super::intern::StackId;
use super::model::{Block, BlockState, Segment};
use plimsoll_memory::bytes::ByteSize;

/// How many segments are listed individually.
const SHOWN: usize = 16;

/// How many parts the map of a segment has.
const PARTS: u64 = 32;

/// A block in use at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveBlock {
    pub(super) address: u64,
    pub(super) requested: u64,
    pub(super) stack: StackId,
    pub(super) pending: bool,
}

/// What determines the segments that serve a request: stream, pool, large or small, expandable.
type GroupKey = (u64, Option<(u64, u64)>, Option<bool>, bool);

/// The segments of one device.
#[derive(Default)]
pub(super) struct Segments {
    pub(super) state: MemoryState,
    pub(super) groups: BTreeMap<GroupKey, MemoryState>,
    pub(super) fragmented: Vec<SegmentFindings>,
    pub(super) live: Vec<LiveBlock>,
}

impl Segments {
    pub(super) fn add(&mut self, segment: &Segment, broken: &mut Broken) {
        let state = state_of(segment);
        check(segment, &state, broken);
        merge(&mut self.state, &state);
        let pool = segment.pool.filter(|&pool| pool != (0, 0));
        let key = (segment.stream, pool, segment.large, segment.expandable);
        merge(self.groups.entry(key).or_default(), &state);
        self.fragmented(segment, pool, &state);

        let mut offset = 0u64;
        for block in &segment.blocks {
            let address = block.address.unwrap_or_else(|| segment.address.unwrap_or(0).wrapping_add(offset));
            offset = offset.saturating_add(block.size);
            if block.state != BlockState::Inactive {
                self.live.push(LiveBlock {
                    address,
                    requested: block.requested,
                    stack: block.stack,
                    pending: block.state == BlockState::ActivePendingFree,
                });
            }
        }
    }

    /// Keeps the segment if it is among those with the most free memory next to memory in use.
    fn fragmented(&mut self, segment: &Segment, pool: Option<(u64, u64)>, state: &MemoryState) {
        let stuck = |state: &MemoryState| state.free.saturating_sub(state.releasable);
        if stuck(state) == ByteSize::ZERO {
            return;
        }
        let at = self.fragmented.partition_point(|other| stuck(&other.state) >= stuck(state));
        if at < SHOWN {
            self.fragmented.truncate(SHOWN - 1);
            self.fragmented.insert(
                at,
                SegmentFindings {
                    address: segment.address.map(|address| format!("0x{address:x}")),
                    stream: segment.stream,
                    pool,
                    expandable: segment.expandable,
                    state: *state,
                    map: map(&segment.blocks),
                },
            );
        }
    }

    /// The groups, largest first.
    pub(super) fn grouped(&self) -> Vec<SegmentGroup> {
        let mut groups: Vec<SegmentGroup> = self
            .groups
            .iter()
            .map(|(&(stream, pool, large, expandable), &state)| SegmentGroup { stream, pool, large, expandable, state })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.state.reserved));
        groups
    }

    /// Memory held by private pools.
    pub(super) fn private(&self) -> ByteSize {
        self.groups.iter().filter(|((_, pool, ..), _)| pool.is_some()).map(|(_, state)| state.reserved).sum()
    }

    /// The largest free block that can serve a request of `size` outside of private pools.
    pub(super) fn largest_free_for(&self, size: ByteSize) -> ByteSize {
        let large = size > ByteSize::mib(1);
        let fits = |&(_, pool, kind, _): &GroupKey| pool.is_none() && kind.is_none_or(|kind| kind == large);
        let largest = self.groups.iter().filter(|(key, _)| fits(key)).map(|(_, state)| state.largest_free).max();
        largest.unwrap_or_default()
    }

    /// The bytes in use.
    pub(super) fn taken(&self) -> u64 {
        // The sum is taken while the vector may be growing.
        3 * (self.live.capacity() * size_of::<LiveBlock>()) as u64 + self.groups.len() as u64 * 256
    }
}

fn state_of(segment: &Segment) -> MemoryState {
    let mut state = MemoryState { reserved: ByteSize::new(segment.total), segments: 1, ..MemoryState::default() };
    for block in &segment.blocks {
        let size = ByteSize::new(block.size);
        match block.state {
            BlockState::Inactive => {
                state.free += size;
                state.free_blocks += 1;
                state.largest_free = state.largest_free.max(size);
                continue;
            }
            BlockState::ActiveAllocated => state.allocated += size,
            BlockState::ActivePendingFree => state.pending_free += size,
        }
        state.active_blocks += 1;
        state.requested += ByteSize::new(block.requested);
        state.rounding += size.saturating_sub(ByteSize::new(block.requested));
    }
    if state.active_blocks == 0 {
        state.releasable = state.free;
    }
    state
}

fn merge(sum: &mut MemoryState, state: &MemoryState) {
    sum.reserved += state.reserved;
    sum.allocated += state.allocated;
    sum.pending_free += state.pending_free;
    sum.requested += state.requested;
    sum.free += state.free;
    sum.rounding += state.rounding;
    sum.largest_free = sum.largest_free.max(state.largest_free);
    sum.releasable += state.releasable;
    sum.segments += state.segments;
    sum.active_blocks += state.active_blocks;
    sum.free_blocks += state.free_blocks;
}

/// Compares the sums in the segment with those of its blocks.
fn check(segment: &Segment, state: &MemoryState, broken: &mut Broken) {
    let name = || segment.address.map_or("a segment".to_owned(), |address| format!("segment 0x{address:x}"));
    let active = state.allocated + state.pending_free;
    let sums = [
        ("total_size", Some(segment.total), active + state.free),
        ("allocated_size", segment.allocated, state.allocated),
        ("active_size", segment.active, active),
        ("requested_size", segment.requested, state.requested),
    ];
    for (field, stated, found) in sums {
        if let Some(stated) = stated
            && stated != found.bytes()
        {
            broken.add(|| format!("{}: {field} is {stated}, its blocks sum to {}", name(), found.bytes()));
        }
    }
    let mut next = segment.address;
    for block in &segment.blocks {
        if let (Some(expected), Some(address)) = (next, block.address)
            && expected != address
        {
            broken.add(|| format!("{}: a block begins at 0x{address:x} instead of 0x{expected:x}", name()));
        }
        next = block.address.or(next).map(|address| address.wrapping_add(block.size));
    }
}

/// The map of the segment in [`PARTS`] parts: how much of each is in use.
fn map(blocks: &[Block]) -> String {
    let total: u128 = blocks.iter().map(|block| u128::from(block.size)).sum();
    let mut used = [0u128; PARTS as usize];
    // In units of 1 / PARTS byte, the borders of the parts are integers.
    let (part, mut start) = (total.max(1), 0u128);
    for block in blocks {
        let end = start + u128::from(block.size) * u128::from(PARTS);
        if block.state != BlockState::Inactive {
            let mut at = start;
            while at < end {
                let index = (at / part) as usize;
                let border = ((at / part) + 1) * part;
                used[index] += border.min(end) - at;
                at = border.min(end);
            }
        }
        start = end;
    }
    used.iter()
        .map(|&used| match used * 10 / part {
            0 if used == 0 => '.',
            10.. => '#',
            tenths => char::from(b'0' + tenths.max(1) as u8),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(size: u64, requested: u64, state: BlockState) -> Block {
        Block { address: None, size, requested, state, stack: StackId::EMPTY }
    }

    fn segment(blocks: Vec<Block>) -> Segment {
        Segment {
            address: Some(0x1000),
            total: blocks.iter().map(|block| block.size).sum(),
            blocks,
            ..Segment::default()
        }
    }

    #[test]
    fn pending_memory_is_neither_allocated_nor_free() {
        let mut segments = Segments::default();
        let mut broken = Broken::default();
        let blocks = vec![
            block(1 << 20, 1_000_000, BlockState::ActiveAllocated),
            block(2 << 20, 2 << 20, BlockState::ActivePendingFree),
            block(5 << 20, 7, BlockState::Inactive),
        ];
        segments.add(&segment(blocks), &mut broken);
        let state = segments.state;
        assert_eq!(state.allocated, ByteSize::mib(1));
        assert_eq!(state.pending_free, ByteSize::mib(2));
        assert_eq!(state.free, ByteSize::mib(5));
        assert_eq!(state.rounding.bytes(), (1 << 20) - 1_000_000);
        assert_eq!(state.releasable, ByteSize::ZERO);
        assert_eq!(broken, Broken::default());
        assert_eq!(segments.fragmented[0].map, "####".to_owned() + "########" + "....................");
        assert_eq!(segments.live.iter().map(|block| block.address).collect::<Vec<_>>(), [0x1000, 0x1000 + (1 << 20)]);
    }

    #[test]
    fn sums_that_do_not_agree_are_told() {
        let mut broken = Broken::default();
        let mut wrong =
            segment(vec![block(512, 512, BlockState::ActiveAllocated), block(512, 0, BlockState::Inactive)]);
        wrong.total = 2048;
        wrong.active = Some(1024);
        wrong.allocated = Some(512);
        wrong.blocks[1].address = Some(0x1400);
        Segments::default().add(&wrong, &mut broken);
        assert_eq!(broken.count, 3);
        assert_eq!(
            broken.first,
            [
                "segment 0x1000: total_size is 2048, its blocks sum to 1024",
                "segment 0x1000: active_size is 1024, its blocks sum to 512",
                "segment 0x1000: a block begins at 0x1400 instead of 0x1200",
            ]
        );
    }

    #[test]
    fn a_private_pool_serves_no_common_request() {
        let mut segments = Segments::default();
        let mut private = segment(vec![block(64 << 20, 0, BlockState::Inactive)]);
        (private.pool, private.large) = (Some((0, 1)), Some(true));
        let mut common = segment(vec![block(4 << 20, 0, BlockState::Inactive)]);
        (common.pool, common.large) = (Some((0, 0)), Some(true));
        for segment in [&private, &common] {
            segments.add(segment, &mut Broken::default());
        }
        assert_eq!(segments.largest_free_for(ByteSize::mib(32)), ByteSize::mib(4));
        assert_eq!(segments.largest_free_for(ByteSize::new(512)), ByteSize::ZERO);
        assert_eq!(segments.private(), ByteSize::mib(64));
        assert_eq!(segments.state.fragmentation(), Some(1.0 - 64.0 / 68.0));
    }
}
