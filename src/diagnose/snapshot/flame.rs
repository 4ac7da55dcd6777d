//! The memory in use as a tree of calls, for a flame graph.

use std::collections::HashMap;

use super::frames::Frames;
use super::intern::{FrameId, Interner, StackId};
use plimsoll_memory::bytes::ByteSize;

/// A call, with the memory allocated in it and below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameNode {
    /// The frame, or a name for the root or for memory without a stack.
    pub name: String,
    /// Bytes in use that the call and its callees requested.
    pub bytes: ByteSize,
    /// Number of allocations.
    pub count: u64,
    /// The callees, largest first.
    pub children: Vec<FlameNode>,
}

/// Calls with less than one 4000th of all bytes are not drawn: a picture has no room for them.
const SMALLEST_SHARE: u64 = 4000;

/// The deepest nesting of calls that is drawn.
const DEEPEST_CALL: usize = 256;

/// The sums of one call, before its node is made.
#[derive(Default)]
struct Sum {
    bytes: u64,
    count: u64,
    children: HashMap<FrameId, usize>,
}

/// The tree of `stacks`, outermost call first.
pub(super) fn tree(stacks: &[(StackId, u64, u64)], interner: &Interner, frames: &Frames<'_>) -> FlameNode {
    let total = stacks.iter().fold(0u64, |sum, &(_, bytes, _)| sum.saturating_add(bytes));
    let mut sums = vec![Sum::default()];
    let mut unknown = (0u64, 0u64);
    let add = |sum: &mut Sum, bytes, count| {
        (sum.bytes, sum.count) = (sum.bytes.saturating_add(bytes), sum.count + count);
    };
    for &(stack, bytes, count) in stacks {
        add(&mut sums[0], bytes, count);
        let mut path: Vec<FrameId> = interner.frames(stack).filter(|&id| frames.frame(id).is_some()).collect();
        if path.is_empty() {
            unknown = (unknown.0.saturating_add(bytes), unknown.1 + count);
        }
        // Stacks are ordered by their bytes, so only small ones are left out of the tree.
        if bytes < total / SMALLEST_SHARE / 16 {
            continue;
        }
        path.reverse();
        path.truncate(DEEPEST_CALL);
        let mut at = 0;
        for frame in path {
            let next = sums.len();
            let child = *sums[at].children.entry(frame).or_insert(next);
            if child == next {
                sums.push(Sum::default());
            }
            add(&mut sums[child], bytes, count);
            at = child;
        }
    }
    let mut root = node(&sums, 0, "all".to_owned(), total / SMALLEST_SHARE, frames);
    if unknown.1 > 0 {
        root.children.push(FlameNode {
            name: "(no stack recorded)".to_owned(),
            bytes: ByteSize::new(unknown.0),
            count: unknown.1,
            children: Vec::new(),
        });
    }
    root
}

/// The node of sum `at`; no deeper than [`DEEPEST_CALL`].
fn node(sums: &[Sum], at: usize, name: String, smallest: u64, frames: &Frames<'_>) -> FlameNode {
    let sum = &sums[at];
    let mut children: Vec<FlameNode> = sum
        .children
        .iter()
        .filter(|&(_, &child)| sums[child].bytes > smallest)
        .map(|(&frame, &child)| {
            let name = frames.frame(frame).map(|frame| frame.to_string()).unwrap_or_default();
            node(sums, child, name, smallest, frames)
        })
        .collect();
    children.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    FlameNode { name, bytes: ByteSize::new(sum.bytes), count: sum.count, children }
}
