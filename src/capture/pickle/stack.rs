//! The stack of the machine, and the accounting of the graph's memory.

use super::document::NodeId;
use crate::error::PickleErrorKind;

/// The most memory that the values of one pickle may take, in bytes.
pub(super) const GRAPH_LIMIT: u64 = 128 << 20;

/// The most memory that one item and one box take, growth of their vectors included.
pub(super) const ITEM: u64 = 2 * size_of::<NodeId>() as u64;
pub(super) const BOX: u64 = 32;

type Outcome<T> = Result<T, PickleErrorKind>;

/// The values that opcodes work on; values below the last mark cannot be reached.
#[derive(Default)]
pub(super) struct Stack {
    values: Vec<NodeId>,
    /// The heights of the stack at its marks.
    marks: Vec<u32>,
    taken: u64,
}

impl Stack {
    pub(super) fn mark(&mut self) -> Outcome<()> {
        self.charge(ITEM)?;
        self.marks.push(self.values.len() as u32);
        Ok(())
    }

    /// Drops the top, or the mark right below it.
    pub(super) fn drop_top(&mut self) -> Outcome<()> {
        if self.values.len() == self.floor() && self.marks.pop().is_some() {
            return Ok(());
        }
        self.pop().map(drop)
    }

    /// Takes everything down to the last mark.
    pub(super) fn drop_to_mark(&mut self) -> Outcome<()> {
        let mark = self.pop_mark()?;
        self.values.truncate(mark);
        Ok(())
    }

    /// The height of the stack below which nothing can be taken.
    fn floor(&self) -> usize {
        self.marks.last().map_or(0, |&mark| mark as usize)
    }

    pub(super) fn top(&self) -> Outcome<NodeId> {
        if self.values.len() > self.floor() {
            Ok(self.values[self.values.len() - 1])
        } else {
            Err(PickleErrorKind::StackUnderflow)
        }
    }

    pub(super) fn pop(&mut self) -> Outcome<NodeId> {
        let top = self.top()?;
        self.values.pop();
        Ok(top)
    }

    pub(super) fn pop_many(&mut self, count: usize) -> Outcome<Vec<NodeId>> {
        match self.values.len().checked_sub(count) {
            Some(start) if start >= self.floor() => self.take(start),
            _ => Err(PickleErrorKind::StackUnderflow),
        }
    }

    pub(super) fn pop_array<const N: usize>(&mut self) -> Outcome<[NodeId; N]> {
        match self.values.len().checked_sub(N) {
            Some(start) if start >= self.floor() => {
                let items = self.values[start..].try_into().expect("as many as asked for");
                self.values.truncate(start);
                Ok(items)
            }
            _ => Err(PickleErrorKind::StackUnderflow),
        }
    }

    fn pop_mark(&mut self) -> Outcome<usize> {
        self.marks.pop().map(|mark| mark as usize).ok_or(PickleErrorKind::NoMark)
    }

    pub(super) fn pop_to_mark(&mut self) -> Outcome<Vec<NodeId>> {
        let mark = self.pop_mark()?;
        self.take(mark)
    }

    fn take(&mut self, start: usize) -> Outcome<Vec<NodeId>> {
        self.charge((self.values.len() - start) as u64 * ITEM + BOX)?;
        // `split_off` would give the vector the capacity of the whole stack.
        Ok(self.values.drain(start..).collect())
    }

    pub(super) fn push(&mut self, node: NodeId) -> Outcome<()> {
        if self.values.len() == self.values.capacity() {
            self.charge(self.values.len() as u64 * ITEM)?;
        }
        self.values.push(node);
        Ok(())
    }

    /// Counts bytes that the graph takes. Sums are upper bounds: memory that is freed is not subtracted.
    pub(super) fn charge(&mut self, bytes: u64) -> Outcome<()> {
        self.taken += bytes;
        if self.taken > GRAPH_LIMIT { Err(PickleErrorKind::TooLarge { limit: GRAPH_LIMIT }) } else { Ok(()) }
    }
}
