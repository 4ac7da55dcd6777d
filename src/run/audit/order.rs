//! Elements in another order, drawn from others, or made to differ.

use std::hash::{DefaultHasher, Hasher};

use super::chance::Chance;
use super::floats::Format;
use super::taken::Taken;

/// How often half of the different elements is drawn, if it is none or all of them.
const HALVES: usize = 8;

/// Makes numbers differ from each other.
pub(super) fn set_apart(part: &mut [u8], format: Format) {
    let count = part.len() / format.bytes;
    let mut taken = Taken::with_room_for(count);
    for number in part.chunks_exact_mut(format.bytes) {
        let mut new = format.bits(number);
        if !format.stays(new) && !taken.insert(new) {
            // The next smaller one that is free, or next larger one at the lower end.
            let free = (1..=count as u64 + 1).flat_map(|by| [new.wrapping_sub(by), new + by]);
            let fits = |bits: u64| !format.stays(bits) && (bits ^ new) < 1 << (8 * format.bytes - 1);
            new = free.into_iter().find(|bits| fits(*bits) && !taken.contains(*bits)).unwrap_or(new);
            taken.insert(new);
            number.copy_from_slice(&new.to_le_bytes()[..format.bytes]);
        }
    }
}

/// As many as `count` of these, each as often as it comes.
pub(super) fn drawn(all: &[&[u8]], count: usize, chance: &mut Chance) -> Vec<u8> {
    (0..count).flat_map(|_| all[chance.below(all.len())]).copied().collect()
}

/// The elements that are one of about half of the different ones. Of two, that is one: whether any is there depends on it.
pub(super) fn half<'b>(bytes: &'b [u8], size: usize, chance: &mut Chance) -> Vec<&'b [u8]> {
    for _ in 0..HALVES {
        let key = chance.word();
        let is_of_half = |element: &&[u8]| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(key);
            hasher.write(element);
            hasher.finish().is_multiple_of(2)
        };
        let half: Vec<&[u8]> = bytes.chunks(size).filter(is_of_half).collect();
        if !half.is_empty() && half.len() * size < bytes.len() {
            return half;
        }
    }
    bytes.chunks(size).collect()
}

/// Parts of this size in another order.
pub(super) fn shuffled(bytes: &[u8], size: usize, chance: &mut Chance) -> Vec<u8> {
    let mut all: Vec<&[u8]> = bytes.chunks(size).collect();
    for at in 1..all.len() {
        all.swap(at, chance.below(at + 1));
    }
    all.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_two_different_elements_is_one() {
        let two: Vec<u8> = (0..64).map(|n| n % 2).collect();
        let mut chance = Chance::default();
        let is_of_both = |_: &usize| half(&two, 1, &mut chance).len() == two.len();
        assert!((0..100).filter(is_of_both).count() < 10);
        assert_eq!(half(&[7; 8], 1, &mut Chance::default()).len(), 8, "there is one alone");
    }
}
