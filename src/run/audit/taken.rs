//! [`Taken`]: which numbers are in use, asked for every number of every draw.

/// Multiplied by it, numbers that lie close together are spread: 2^64 over the golden ratio (Knuth, The Art of Computer
/// Programming, volume 3, 6.4).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A set of numbers below `u64::MAX`, of a size that is known: open addressing, at most half full.
pub(super) struct Taken {
    /// A number plus 1; 0 in a free slot.
    slots: Vec<u64>,
}

impl Taken {
    pub(super) fn with_room_for(count: usize) -> Self {
        Self { slots: vec![0; (2 * count.max(1)).next_power_of_two()] }
    }

    /// Takes a number; false if it was taken.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let slot = self.slot(number);
        let free = self.slots[slot] == 0;
        self.slots[slot] = number + 1;
        free
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.slots[self.slot(number)] != 0
    }

    /// The slot that holds a number, or the free slot that it would be put into.
    fn slot(&self, number: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = (number.wrapping_mul(SPREAD) >> 32) as usize & last;
        while self.slots[slot] != 0 && self.slots[slot] != number + 1 {
            slot = (slot + 1) & last;
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_the_set_of_the_standard_library(numbers in prop::collection::vec(
            prop_oneof![0..64_u64, any::<u64>().prop_filter("below the greatest", |number| *number < u64::MAX)], 0..200,
        )) {
            let (mut taken, mut set) = (Taken::with_room_for(numbers.len()), HashSet::new());
            for number in &numbers {
                prop_assert_eq!(taken.contains(*number), set.contains(number));
                prop_assert_eq!(taken.insert(*number), set.insert(*number));
            }
            prop_assert!((0..64).all(|number| taken.contains(number) == set.contains(&number)));
        }
    }
}
