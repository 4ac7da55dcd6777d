//! [`Chance`]: numbers that nobody can foresee.

use std::hash::{BuildHasher, RandomState};

use blake3::OutputReader;

/// How many words are made at once.
const WORDS: usize = 512;

/// Unpredictable numbers: earlier numbers do not reveal the next one.
pub struct Chance {
    numbers: OutputReader,
    words: Box<[u8; 8 * WORDS]>,
    /// How many of `words` were drawn.
    drawn: usize,
}

impl Default for Chance {
    /// Keyed by the system.
    fn default() -> Self {
        let mut keyed = blake3::Hasher::new();
        for part in 0..4_u64 {
            keyed.update(&RandomState::new().hash_one(part).to_le_bytes());
        }
        Self { numbers: keyed.finalize_xof(), words: Box::new([0; 8 * WORDS]), drawn: WORDS }
    }
}

impl Chance {
    pub fn word(&mut self) -> u64 {
        if self.drawn == WORDS {
            self.numbers.fill(&mut self.words[..]);
            self.drawn = 0;
        }
        let word = self.words[8 * self.drawn..].first_chunk().expect("a word is left");
        self.drawn += 1;
        u64::from_le_bytes(*word)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        // The upper half of a product: a division takes longer.
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    /// Bytes that no word shares.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.numbers.fill(&mut bytes);
        bytes
    }

    /// At most `count` different numbers below `bound`, in order.
    pub fn some(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut some = self.any(bound, count);
        some.sort_unstable();
        some
    }

    /// At most `count` different numbers below `bound`, in any order.
    pub fn any(&mut self, bound: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for at in 0..count.min(bound) {
            let other = at + self.below(bound - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_word_is_drawn_twice() {
        let (mut one, mut other) = (Chance::default(), Chance::default());
        let words: HashSet<u64> = (0..3 * WORDS).flat_map(|_| [one.word(), other.word()]).collect();
        assert_eq!(words.len(), 6 * WORDS);
    }

    #[test]
    fn a_choice_has_as_many_different_numbers_as_there_are() {
        let mut chance = Chance::default();
        assert_eq!(chance.some(3, 9), [0, 1, 2]);
        let some = chance.some(100, 10);
        assert!(some.len() == 10 && some.windows(2).all(|pair| pair[0] < pair[1]) && some[9] < 100);
    }
}
