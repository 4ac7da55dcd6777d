//! [`Chance`]: numbers that nobody can foresee.

use std::hash::{BuildHasher, RandomState};

/// Unpredictable numbers: earlier numbers do not reveal the next one.
#[derive(Default)]
pub struct Chance {
    key: RandomState,
    drawn: u64,
}

impl Chance {
    pub fn word(&mut self) -> u64 {
        self.drawn += 1;
        self.key.hash_one(self.drawn)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % (bound as u64).max(1)) as usize
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
    use super::*;

    #[test]
    fn a_choice_has_as_many_different_numbers_as_there_are() {
        let mut chance = Chance::default();
        assert_eq!(chance.some(3, 9), [0, 1, 2]);
        let some = chance.some(100, 10);
        assert!(some.len() == 10 && some.windows(2).all(|pair| pair[0] < pair[1]) && some[9] < 100);
    }
}
