//! [`RangeSet`]: the bytes of a file that are here.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of bytes, as ranges that neither overlap nor touch.
#[derive(Debug, Default)]
pub struct RangeSet {
    /// The end of each range, by its start.
    ends: BTreeMap<u64, u64>,
    bytes: u64,
}

impl RangeSet {
    /// The number of bytes in the set.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The ranges, in order.
    pub fn into_ranges(self) -> Vec<Range<u64>> {
        self.ends.into_iter().map(|(start, end)| start..end).collect()
    }

    /// Whether every byte of `range` is in the set.
    pub fn holds(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.ends.range(..=range.start).next_back().is_some_and(|(_, &end)| end >= range.end)
    }

    /// Adds the bytes of `range`.
    pub fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let (mut start, mut end) = (range.start, range.end);
        while let Some((&from, &to)) = self.ends.range(..=end).next_back().filter(|&(_, &to)| to >= start) {
            self.ends.remove(&from);
            self.bytes -= to - from;
            (start, end) = (start.min(from), end.max(to));
        }
        self.ends.insert(start, end);
        self.bytes += end - start;
    }

    /// The parts of `range` that are not in the set, in order.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        let before = self.ends.range(..=range.start).next_back().map(|(_, &end)| end);
        at = before.map_or(at, |end| end.max(at));
        for (&start, &end) in self.ends.range(range.start..range.end) {
            if start > at {
                missing.push(at..start);
            }
            at = at.max(end);
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_ranges_is_the_set_of_their_bytes(
            added in prop::collection::vec((0u64..60, 0u64..20), 0..12), asked in (0u64..70, 0u64..20),
        ) {
            let (mut set, mut bytes) = (RangeSet::default(), [false; 100]);
            for (start, length) in added {
                set.add(start..start + length);
                bytes[start as usize..(start + length) as usize].fill(true);
            }
            let asked = asked.0..asked.0 + asked.1;
            prop_assert_eq!(set.bytes(), bytes.iter().filter(|&&here| here).count() as u64);
            prop_assert_eq!(set.holds(&asked), asked.clone().all(|at| bytes[at as usize]));
            let missing = set.missing(asked.clone());
            prop_assert!(missing.iter().all(|range| !range.is_empty()));
            prop_assert!(missing.windows(2).all(|pair| pair[0].end < pair[1].start));
            let missing: Vec<u64> = missing.into_iter().flatten().collect();
            prop_assert_eq!(missing, asked.filter(|&at| !bytes[at as usize]).collect::<Vec<_>>());
        }
    }
}
