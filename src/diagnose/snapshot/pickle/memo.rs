//! The memo of a pickle: values that it may refer back to.
//!
//! A pickle stores every text, list and dictionary under a number, and most are never referenced. An entry takes four
//! bytes: its kind, and its number in the interner. Trace entries, blocks and segments have been emitted by then and
//! are not kept.

use std::collections::HashMap;

use super::value::{PairId, Value};
use crate::snapshot::intern::{FrameId, StackId, TextId};
use foldhash::fast::RandomState;

/// How many entries a page has: a pickle with a few numbers far apart takes one page for each.
const PAGE: usize = 1 << 10;
const BITS: u32 = 29;
const PAYLOAD: u32 = (1 << BITS) - 1;

/// The content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// A complete value.
    Value(Value),
    /// A container that is still being filled, by its slot.
    Open(u32),
    /// A record that was emitted.
    Gone,
}

#[derive(Default)]
pub(super) struct Memo {
    /// The contiguous pages from number 0 on.
    pages: Vec<Box<[u32; PAGE]>>,
    /// The other pages.
    far: HashMap<u32, Box<[u32; PAGE]>, RandomState>,
    /// How many numbers MEMOIZE has given.
    count: u32,
}

impl Memo {
    /// The next number for MEMOIZE.
    pub(super) fn next(&self) -> u32 {
        self.count
    }

    pub(super) fn set(&mut self, index: u32, kept: Kept) {
        let (number, at) = (index as usize / PAGE, index as usize % PAGE);
        let page = if number < self.pages.len() {
            &mut self.pages[number]
        } else if number == self.pages.len() {
            let page = self.far.remove(&(number as u32)).unwrap_or_else(|| Box::new([0; PAGE]));
            self.pages.push(page);
            &mut self.pages[number]
        } else {
            self.far.entry(number as u32).or_insert_with(|| Box::new([0; PAGE]))
        };
        if page[at] == 0 {
            self.count = self.count.saturating_add(1);
        }
        page[at] = encode(kept);
    }

    pub(super) fn get(&self, index: u32) -> Option<Kept> {
        let (number, at) = (index as usize / PAGE, index as usize % PAGE);
        let page = self.pages.get(number).or_else(|| self.far.get(&(number as u32)))?;
        decode(page[at])
    }

    /// The bytes in use.
    pub(super) fn taken(&self) -> u64 {
        (self.pages.len() + 2 * self.far.len()) as u64 * (size_of::<[u32; PAGE]>() as u64 + 32)
    }
}

/// Three bits of kind, then the number. A number that does not fit is not kept.
fn encode(kept: Kept) -> u32 {
    let (kind, number) = match kept {
        Kept::Open(slot) => (1, slot),
        Kept::Value(Value::Text(TextId(id))) => (2, id),
        Kept::Value(Value::Frame(FrameId(id))) => (3, id),
        Kept::Value(Value::Stack(StackId(id))) => (4, id),
        Kept::Value(Value::Pair(PairId(id))) => (5, id),
        Kept::Value(Value::Rebuild) => (6, 1),
        Kept::Value(_) => (6, 0),
        Kept::Gone => (7, 0),
    };
    if number > PAYLOAD { 7 << BITS } else { kind << BITS | number }
}

fn decode(entry: u32) -> Option<Kept> {
    let number = entry & PAYLOAD;
    Some(match entry >> BITS {
        0 => return None,
        1 => Kept::Open(number),
        2 => Kept::Value(Value::Text(TextId(number))),
        3 => Kept::Value(Value::Frame(FrameId(number))),
        4 => Kept::Value(Value::Stack(StackId(number))),
        5 => Kept::Value(Value::Pair(PairId(number))),
        6 if number == 1 => Kept::Value(Value::Rebuild),
        6 => Kept::Value(Value::Opaque),
        _ => Kept::Gone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept() -> impl Strategy<Value = Kept> {
        prop_oneof![
            (0..PAYLOAD).prop_map(Kept::Open),
            (0..PAYLOAD).prop_map(|id| Kept::Value(Value::Text(TextId(id)))),
            (0..PAYLOAD).prop_map(|id| Kept::Value(Value::Stack(StackId(id)))),
            Just(Kept::Value(Value::Opaque)),
            Just(Kept::Gone),
        ]
    }

    proptest! {
        #[test]
        fn what_is_stored_comes_back(entries in prop::collection::vec((prop_oneof![0u32..3000, any::<u32>()], kept()), 0..60)) {
            let (mut memo, mut model) = (Memo::default(), HashMap::new());
            for (index, kept) in entries {
                memo.set(index, kept);
                model.insert(index, kept);
            }
            prop_assert_eq!(memo.next() as usize, model.len());
            for (&index, &kept) in &model {
                prop_assert_eq!(memo.get(index), Some(kept));
            }
            prop_assert_eq!(memo.get(4000), model.get(&4000).copied());
        }
    }
}
