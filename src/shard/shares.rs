//! [`Shares`]: the entries of a capture, divided by their bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use plimsoll_memory::bytes::ByteSize;

/// The entries of a capture in `count` shares of whole entries.
///
/// The largest entries are assigned first, each to the share with the fewest bytes (longest processing time first). The
/// largest share is then at most 4/3 of the mean, unless it is one entry, or two or three that are each larger than a
/// third of the mean: then every division into whole entries has a share of at least 3/4 of that size. Equal entries
/// are ordered by name, and equal shares by number: every process with the same names, bytes and count computes the
/// same shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The shares that have entries, by number.
    shares: Vec<Share>,
    count: NonZeroU32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Share {
    places: Vec<usize>,
    bytes: ByteSize,
}

impl Shares {
    /// Divides entries of these names and bytes.
    ///
    /// # Panics
    /// If there are not as many names as bytes.
    pub fn of(names: &[impl AsRef<str>], bytes: &[ByteSize], count: NonZeroU32) -> Self {
        assert_eq!(names.len(), bytes.len(), "every entry has a name and bytes");
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| bytes[b].cmp(&bytes[a]).then_with(|| names[a].as_ref().cmp(names[b].as_ref())));
        // If there are more shares than entries, the rest stay empty.
        let used = (count.get() as usize).min(names.len());
        let mut shares = vec![Share::default(); used];
        let mut least: BinaryHeap<Reverse<(ByteSize, usize, usize)>> =
            (0..used).map(|share| Reverse((ByteSize::ZERO, 0, share))).collect();
        for place in order {
            let Some(Reverse((_, _, number))) = least.pop() else { break };
            let share = &mut shares[number];
            share.places.push(place);
            share.bytes += bytes[place];
            least.push(Reverse((share.bytes, share.places.len(), number)));
        }
        shares.iter_mut().for_each(|share| share.places.sort_unstable());
        Self { shares, count }
    }

    /// How many shares there are.
    pub fn count(&self) -> NonZeroU32 {
        self.count
    }

    /// The indices of the entries of share `number`, from 1, in order. Empty if there are more shares than entries.
    pub fn places(&self, number: u32) -> &[usize] {
        self.share(number).map_or(&[], |share| &share.places)
    }

    /// The bytes of share `number`, from 1.
    pub fn bytes(&self, number: u32) -> ByteSize {
        self.share(number).map_or(ByteSize::ZERO, |share| share.bytes)
    }

    /// The bytes of the largest share.
    pub fn largest(&self) -> ByteSize {
        self.shares.iter().map(|share| share.bytes).max().unwrap_or(ByteSize::ZERO)
    }

    fn share(&self, number: u32) -> Option<&Share> {
        self.shares.get((number as usize).checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(bytes: &[u64], count: u32) -> Shares {
        let names: Vec<String> = (0..bytes.len()).map(|number| format!("entry_{number:06}.pt")).collect();
        let bytes: Vec<ByteSize> = bytes.iter().copied().map(ByteSize::new).collect();
        Shares::of(&names, &bytes, NonZeroU32::new(count).unwrap())
    }

    /// The bytes of the largest share of the best division, by trying all.
    fn best(bytes: &[u64], loads: &mut [u64]) -> u64 {
        let Some((first, rest)) = bytes.split_first() else { return loads.iter().copied().max().unwrap_or(0) };
        let mut least = u64::MAX;
        for at in 0..loads.len() {
            loads[at] += first;
            least = least.min(best(rest, loads));
            loads[at] -= first;
        }
        least
    }

    /// Sizes as captures have them: over many orders of magnitude, all equal, or a few shapes that recur.
    fn sizes() -> impl Strategy<Value = Vec<u64>> {
        let wide = prop::collection::vec((6u32..36, 1u64..1000).prop_map(|(bits, part)| part << bits >> 6), 1..300);
        let alike = (1u64..1 << 30, 1usize..300).prop_map(|(bytes, entries)| vec![bytes; entries]);
        let shapes = prop::collection::vec(1u64..1 << 34, 1..6);
        let again = (shapes, 1usize..60).prop_map(|(shapes, times)| shapes.repeat(times));
        prop_oneof![wide, alike, again]
    }

    /// In KiB: an operator of 40 layers at seven lengths of prompts, 500 steps of decoding, and both in one capture.
    #[test]
    fn of_captures_as_they_are_taken_no_share_is_a_third_above_the_mean() {
        let prefill: Vec<u64> = (1..=40).map(|layer| 4_096 * (1 + layer % 7) + 512).collect();
        let decode: Vec<u64> = (0..500).map(|step| 640 + step / 4).collect();
        let mixed: Vec<u64> = [&prefill[..], &decode[..]].concat();
        for (bytes, counts) in [(&prefill, 1..=8), (&decode, 1..=64), (&mixed, 1..=32)] {
            for count in counts {
                let (largest, sum) = (shares(bytes, count).largest().bytes(), bytes.iter().sum::<u64>());
                assert!(3 * largest * u64::from(count) <= 4 * sum, "{count} shares: {largest} of {sum}");
            }
        }
    }

    #[test]
    fn equal_entries_are_dealt_out_evenly_and_in_order() {
        let dealt = shares(&[8; 5], 2);
        assert_eq!([dealt.places(1), dealt.places(2)], [&[0, 2, 4][..], &[1, 3]]);
        assert_eq!((dealt.bytes(1), dealt.largest()), (ByteSize::new(24), ByteSize::new(24)));
        // Entries without bytes are spread by their number.
        assert_eq!(shares(&[0; 4], 4).places(3), [2]);
    }

    #[test]
    fn more_shares_than_entries_stay_empty_however_many() {
        let dealt = shares(&[3, 9], u32::MAX);
        assert_eq!([dealt.places(1), dealt.places(2), dealt.places(3)], [&[1][..], &[0], &[]]);
        assert!(dealt.places(u32::MAX).is_empty() && dealt.places(0).is_empty());
        assert_eq!(dealt.count().get(), u32::MAX);
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_share(bytes in prop::collection::vec(0u64..1 << 40, 0..200), count in 1u32..40) {
            let dealt = shares(&bytes, count);
            let mut all: Vec<usize> = (1..=count).flat_map(|number| dealt.places(number).to_vec()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..bytes.len()).collect::<Vec<_>>());
            for number in 1..=count {
                let sum: u64 = dealt.places(number).iter().map(|&place| bytes[place]).sum();
                prop_assert_eq!(dealt.bytes(number).bytes(), sum);
            }
        }

        #[test]
        fn the_order_of_the_files_changes_no_share(
            bytes in prop::collection::vec(0u64..50, 1..60), count in 1u32..9, seed in any::<u64>(),
        ) {
            let names: Vec<String> = (0..bytes.len()).map(|number| format!("entry_{number:06}.pt")).collect();
            let mut shuffled: Vec<usize> = (0..bytes.len()).collect();
            shuffled.sort_by_key(|&at| (at as u64 + 1).wrapping_mul(seed | 1).rotate_left(17));
            let of = |order: &[usize]| {
                let names: Vec<&str> = order.iter().map(|&at| &*names[at]).collect();
                let sizes: Vec<ByteSize> = order.iter().map(|&at| ByteSize::new(bytes[at])).collect();
                let dealt = Shares::of(&names, &sizes, NonZeroU32::new(count).unwrap());
                let named = |number| {
                    let mut share: Vec<&str> = dealt.places(number).iter().map(|&place| names[place]).collect();
                    share.sort_unstable();
                    share.join(" ")
                };
                (1..=count).map(named).collect::<Vec<_>>()
            };
            prop_assert_eq!(of(&(0..bytes.len()).collect::<Vec<_>>()), of(&shuffled));
        }

        #[test]
        fn the_largest_share_is_at_most_a_third_above_the_mean_or_the_best(
            bytes in prop::collection::vec(1u64..1000, 1..9), count in 1u32..5,
        ) {
            let largest = shares(&bytes, count).largest().bytes();
            prop_assert!(3 * largest <= 4 * best(&bytes, &mut vec![0; count as usize]));
        }

        #[test]
        fn the_largest_share_is_at_most_a_third_above_the_mean_or_a_few_large_entries(
            bytes in sizes(), count in 1u32..40,
        ) {
            let dealt = shares(&bytes, count);
            let (sum, count) = (bytes.iter().sum::<u64>(), u64::from(count));
            for number in 1..=count as u32 {
                let places = dealt.places(number);
                let least = places.iter().map(|&place| bytes[place]).min().unwrap_or(0);
                let holds = 3 * dealt.bytes(number).bytes() * count <= 4 * sum;
                prop_assert!(holds || places.len() == 1 || (places.len() <= 3 && 3 * least * count > sum));
            }
        }

        #[test]
        fn of_many_small_entries_no_share_is_a_third_above_the_mean(
            bytes in prop::collection::vec(600u64..1000, 60..200), count in 1u32..12,
        ) {
            let (largest, sum) = (shares(&bytes, count).largest().bytes(), bytes.iter().sum::<u64>());
            prop_assert!(3 * largest * u64::from(count) <= 4 * sum);
        }
    }
}
