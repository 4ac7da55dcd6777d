//! [`Layout`]: whether the output of each launch of an audit was there before the values of the next one were handed out.
//!
//! A kernel that has taken over its worker could ask for the values of all launches first, and compute everything in one
//! whose time does not count. Words of each output are therefore read before the next values are handed out, at places
//! that the worker cannot foresee. They must be those of the output that is judged.

use std::hash::{BuildHasher as _, RandomState};

use plimsoll::random::SplitMix64;
use plimsoll::run::{Output, OutputValue};

/// How many words of an output are read.
const WORDS: usize = 8;
/// The size of a word.
pub const WORD: usize = 8;

/// Where the outputs of a region are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The offset and the size of the outputs that were kept first, in bytes.
    first: Vec<(usize, usize)>,
    /// How far from them the outputs are that were kept next, in bytes.
    room: usize,
}

/// The offset and the size of each output.
fn places(outputs: &[Output]) -> Vec<(usize, usize)> {
    let tensors = outputs.iter().filter_map(|output| match &output.value {
        OutputValue::Tensor(placed) => Some((placed.offset, placed.bytes)),
        OutputValue::Value(_) => None,
    });
    tensors.collect()
}

/// The sizes of places.
fn sizes(places: &[(usize, usize)]) -> impl Iterator<Item = usize> {
    places.iter().map(|(_, bytes)| *bytes)
}

impl Layout {
    /// The layout of a region with these outputs; `None` if one launch has other sizes than the one before, or there is one
    /// launch only.
    ///
    /// # Errors
    /// Outputs of the same sizes lie elsewhere in their room.
    pub fn of(outputs: &[Vec<Output>]) -> Result<Option<Self>, String> {
        let all: Vec<_> = outputs.iter().map(|outputs| places(outputs)).collect();
        let [first, second, ..] = &all[..] else { return Ok(None) };
        if first.is_empty() || all.iter().any(|places| !sizes(places).eq(sizes(first))) {
            return Ok(None);
        }
        let room = second[0].0.checked_sub(first[0].0).ok_or("outputs that lie before those of an earlier launch")?;
        let layout = Self { first: first.clone(), room };
        match all.iter().enumerate().all(|(at, places)| layout.places(at).eq(places.iter().copied())) {
            true => Ok(Some(layout)),
            false => Err("outputs of the same sizes that lie elsewhere in their room".into()),
        }
    }

    /// Whether a region with outputs of these sizes must have this layout.
    pub fn is_for(&self, other: &Self) -> bool {
        sizes(&self.first).eq(sizes(&other.first))
    }

    fn places(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        self.first.iter().map(move |(offset, bytes)| (offset + at * self.room, *bytes))
    }

    /// Where to look at the outputs that are kept as number `at`: words of the largest one.
    pub fn words(&self, at: usize) -> Vec<usize> {
        let Some((offset, bytes)) = self.places(at).max_by_key(|(_, bytes)| *bytes) else { return Vec::new() };
        let mut random = SplitMix64::new(RandomState::new().hash_one(at));
        let words = bytes / WORD;
        (0..WORDS.min(words)).map(|_| offset + random.below(words) * WORD).collect()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll::capture::{Dtype, TensorSpec};
    use plimsoll::run::Placed;

    use super::*;

    fn kept(places: &[(usize, usize)]) -> Vec<Output> {
        let output = |&(offset, bytes): &(usize, usize)| {
            let spec = TensorSpec { dtype: Dtype::U8, shape: vec![bytes as u64] };
            Output {
                path: String::new(),
                value: OutputValue::Tensor(Placed { spec, offset, bytes, crc32: None, tolerances: None }),
            }
        };
        places.iter().map(output).collect()
    }

    #[test]
    fn outputs_of_the_same_sizes_have_one_layout() {
        let layout =
            |outputs: &[&[(usize, usize)]]| Layout::of(&outputs.iter().map(|places| kept(places)).collect::<Vec<_>>());
        let found = layout(&[&[(1024, 80), (1152, 8)], &[(1280, 80), (1408, 8)], &[(1536, 80), (1664, 8)]]);
        let found = found.unwrap().unwrap();
        assert_eq!(found, Layout { first: vec![(1024, 80), (1152, 8)], room: 256 });
        let words = found.words(2);
        assert_eq!(words.len(), WORDS);
        assert!(words.iter().all(|at| (1536..1536 + 80).contains(at) && at % WORD == 0), "{words:?}");
        assert_eq!(layout(&[&[(1024, 80)], &[(1152, 72)]]), Ok(None), "their sizes depend on the values");
        assert_eq!(layout(&[&[(1024, 80)]]), Ok(None));
        assert_eq!(layout(&[&[], &[]]), Ok(None));
        assert!(layout(&[&[(1024, 80)], &[(1152, 80)], &[(1344, 80)]]).is_err());
        assert!(layout(&[&[(1152, 80)], &[(1024, 80)]]).is_err());
        let empty = layout(&[&[(1024, 4)], &[(1088, 4)]]).unwrap().unwrap();
        assert!(empty.words(0).is_empty() && !empty.is_for(&found));
    }
}
