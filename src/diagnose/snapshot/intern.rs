//! Texts, frames and stacks, each stored once.
//!
//! A stack is a path in a tree: a node is its outer stack plus one frame. Stacks of one program share their outer
//! frames, so a million stacks take little more space than one, and a flame graph is the tree itself.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;

/// A text of the interner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct TextId(pub(super) u32);

/// A frame of the interner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FrameId(pub(super) u32);

/// A stack of the interner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StackId(pub(super) u32);

impl StackId {
    /// No frames: the stack was not recorded, or was empty.
    pub(super) const EMPTY: Self = Self(0);
}

/// A frame: a function and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameParts {
    pub(super) file: TextId,
    pub(super) function: TextId,
    pub(super) line: u32,
}

/// The most bytes that one entry of each table takes, including its share of the hash table and growth.
const TEXT: u64 = 128;
const FRAME: u64 = 96;
const NODE: u64 = 64;

/// The tables. Two snapshots under comparison share one, so that equal stacks have equal numbers.
pub(super) struct Interner {
    texts: Vec<Rc<str>>,
    text_ids: HashMap<Rc<str>, TextId, RandomState>,
    frames: Vec<FrameParts>,
    frame_ids: HashMap<FrameParts, FrameId, RandomState>,
    nodes: Vec<(StackId, FrameId)>,
    node_ids: HashMap<(StackId, FrameId), StackId, RandomState>,
    /// The last requested stack, outermost frame first, with the node of each frame: the next stack usually shares a
    /// part.
    last: Vec<(FrameId, StackId)>,
    taken: u64,
}

impl Interner {
    /// Creates tables that begin with `known` texts, in this order.
    pub(super) fn new<'a>(known: impl IntoIterator<Item = &'a str>) -> Self {
        let mut interner = Self {
            texts: Vec::new(),
            text_ids: HashMap::default(),
            frames: Vec::new(),
            frame_ids: HashMap::default(),
            nodes: vec![(StackId::EMPTY, FrameId(0))],
            node_ids: HashMap::default(),
            last: Vec::new(),
            taken: 0,
        };
        for text in known {
            interner.text(text);
        }
        interner
    }

    /// An upper bound on the bytes of the tables.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn text(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.text_ids.get(text) {
            return id;
        }
        let id = TextId(self.texts.len() as u32);
        let shared: Rc<str> = text.into();
        self.texts.push(Rc::clone(&shared));
        self.text_ids.insert(shared, id);
        self.taken += TEXT + text.len() as u64;
        id
    }

    /// The number of a text that is already stored.
    pub(super) fn find(&self, text: &str) -> Option<TextId> {
        self.text_ids.get(text).copied()
    }

    pub(super) fn frame(&mut self, frame: FrameParts) -> FrameId {
        let (frames, taken) = (&mut self.frames, &mut self.taken);
        *self.frame_ids.entry(frame).or_insert_with(|| {
            *taken += FRAME;
            frames.push(frame);
            FrameId(frames.len() as u32 - 1)
        })
    }

    /// The stack of `frames`, innermost first as in the snapshot.
    pub(super) fn stack(&mut self, frames: &[FrameId]) -> StackId {
        let shared = frames.iter().rev().zip(&self.last).take_while(|(frame, (last, _))| *frame == last).count();
        self.last.truncate(shared);
        let mut stack = self.last.last().map_or(StackId::EMPTY, |&(_, node)| node);
        for &frame in frames.iter().rev().skip(shared) {
            let (nodes, taken) = (&mut self.nodes, &mut self.taken);
            stack = *self.node_ids.entry((stack, frame)).or_insert_with(|| {
                *taken += NODE;
                nodes.push((stack, frame));
                StackId(nodes.len() as u32 - 1)
            });
            self.last.push((frame, stack));
        }
        stack
    }

    pub(super) fn text_of(&self, id: TextId) -> &str {
        &self.texts[id.0 as usize]
    }

    pub(super) fn frame_of(&self, id: FrameId) -> FrameParts {
        self.frames[id.0 as usize]
    }

    /// The stack without its innermost frame, and that frame. `None` for the empty stack.
    pub(super) fn split(&self, stack: StackId) -> Option<(StackId, FrameId)> {
        (stack != StackId::EMPTY).then(|| self.nodes[stack.0 as usize])
    }

    /// The frames of a stack, innermost first.
    pub(super) fn frames(&self, stack: StackId) -> impl Iterator<Item = FrameId> {
        std::iter::successors(self.split(stack), |&(outer, _)| self.split(outer)).map(|(_, frame)| frame)
    }

    /// The number of stacks, prefixes of stacks included.
    pub(super) fn stacks(&self) -> usize {
        self.nodes.len()
    }

    /// The number of distinct frames.
    pub(super) fn frame_count(&self) -> usize {
        self.frames.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stacks_are_equal_where_their_frames_are(stacks in prop::collection::vec(prop::collection::vec(0u32..4, 0..8), 0..40)) {
            let mut interner = Interner::new([]);
            for line in 0..4 {
                interner.frame(FrameParts { file: TextId(0), function: TextId(0), line });
            }
            let ids: Vec<StackId> = stacks.iter().map(|stack| {
                let frames: Vec<FrameId> = stack.iter().map(|&frame| FrameId(frame)).collect();
                interner.stack(&frames)
            }).collect();
            for (stack, &id) in stacks.iter().zip(&ids) {
                prop_assert_eq!(&interner.frames(id).map(|frame| frame.0).collect::<Vec<_>>(), stack);
                for (other, &other_id) in stacks.iter().zip(&ids) {
                    prop_assert_eq!(stack == other, id == other_id);
                }
            }
        }
    }
}
