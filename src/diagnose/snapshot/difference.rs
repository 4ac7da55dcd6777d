//! What changed between two snapshots.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::category::Category;
use super::findings::{Frame, MemoryState};
use plimsoll_memory::bytes::ByteSize;

/// What changed in the memory in use, by stack, between two snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The snapshot to compare with.
    pub baseline: String,
    /// The snapshot under examination.
    pub name: String,
    /// The total size of segments, before and after.
    pub reserved: (ByteSize, ByteSize),
    /// Requested memory in use, before and after.
    pub allocated: (ByteSize, ByteSize),
    /// The stacks that changed most, in bytes, growing or shrinking.
    pub stacks: Vec<StackDifference>,
    /// Number of stacks that changed.
    pub changed: u64,
    /// Number of stacks that did not change.
    pub unchanged: u64,
}

/// A stack whose memory changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackDifference {
    /// Bytes in use, before and after.
    pub bytes: (ByteSize, ByteSize),
    /// Allocations in use, before and after.
    pub count: (u64, u64),
    /// What the memory is used for.
    pub category: Category,
    /// The frames, innermost first.
    pub stack: Vec<Frame>,
}

impl StackDifference {
    /// The growth in bytes.
    pub fn growth(&self) -> i128 {
        i128::from(self.bytes.1.bytes()) - i128::from(self.bytes.0.bytes())
    }
}

/// The memory in use at the end of a snapshot, by stack in words.
pub(super) struct LiveStacks {
    name: String,
    reserved: ByteSize,
    stacks: HashMap<Vec<Frame>, (Category, u64, u64)>,
}

impl LiveStacks {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), reserved: ByteSize::ZERO, stacks: HashMap::new() }
    }

    pub(super) fn reserve(&mut self, state: MemoryState) {
        self.reserved += state.reserved;
    }

    pub(super) fn add(&mut self, stack: Vec<Frame>, category: Category, bytes: u64, count: u64) {
        let sum = self.stacks.entry(stack).or_insert((category, 0, 0));
        (sum.1, sum.2) = (sum.1.saturating_add(bytes), sum.2 + count);
    }

    fn allocated(&self) -> ByteSize {
        self.stacks.values().map(|&(_, bytes, _)| ByteSize::new(bytes)).sum()
    }
}

impl Difference {
    pub(super) fn between(before: &LiveStacks, after: &LiveStacks, top: usize) -> Self {
        let mut stacks = Vec::new();
        let mut unchanged = 0;
        for (stack, &(category, bytes, count)) in &after.stacks {
            let (_, bytes_before, count_before) = before.stacks.get(stack).copied().unwrap_or((category, 0, 0));
            if (bytes_before, count_before) == (bytes, count) {
                unchanged += 1;
            } else {
                stacks.push((stack, category, (bytes_before, bytes), (count_before, count)));
            }
        }
        for (stack, &(category, bytes, count)) in &before.stacks {
            if !after.stacks.contains_key(stack) {
                stacks.push((stack, category, (bytes, 0), (count, 0)));
            }
        }
        stacks.sort_by_key(|&(stack, _, (before, after), _)| (std::cmp::Reverse(before.abs_diff(after)), stack));
        Self {
            baseline: before.name.clone(),
            name: after.name.clone(),
            reserved: (before.reserved, after.reserved),
            allocated: (before.allocated(), after.allocated()),
            changed: stacks.len() as u64,
            unchanged,
            stacks: stacks
                .into_iter()
                .take(top)
                .map(|(stack, category, (before, after), count)| StackDifference {
                    bytes: (ByteSize::new(before), ByteSize::new(after)),
                    count,
                    category,
                    stack: stack.clone(),
                })
                .collect(),
        }
    }
}
