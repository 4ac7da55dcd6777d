//! The number of bytes of a storage that its tensors reach.

use std::ops::Range;

/// The number of bytes in at least one of `ranges`.
pub(super) fn covered(mut ranges: Vec<Range<u64>>) -> u64 {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut covered = 0;
    let mut end = 0;
    for range in ranges {
        covered += range.end.saturating_sub(range.start.max(end));
        end = end.max(range.end);
    }
    covered
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_byte_counts_once(ranges in prop::collection::vec((0u64..60, 0u64..20), 0..8)) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, bytes)| start..start + bytes).collect();
            let expected = (0..80).filter(|byte| ranges.iter().any(|range| range.contains(byte))).count();
            prop_assert_eq!(covered(ranges), expected as u64);
        }
    }
}
