//! CRC-32 of mapped bytes, on every thread.

use std::ops::Range;

use rayon::prelude::*;

use super::map::MappedFile;

/// The bytes that a thread reads at once, which stay resident until it has.
const CHUNK: usize = 4 << 20;

/// The CRC-32 of `range` of `map`, whose pages do not stay resident.
pub(super) fn crc_of(map: &MappedFile, range: Range<usize>) -> u32 {
    hasher_of(map, range).finalize()
}

/// The CRC-32 state of `range` of `map`, to be combined or finished.
pub(super) fn hasher_of(map: &MappedFile, range: Range<usize>) -> crc32fast::Hasher {
    let chunks: Vec<_> = split(range).collect();
    let summed: Vec<_> = chunks.into_par_iter().map(|range| sum(map, range)).collect();
    let mut whole = crc32fast::Hasher::new();
    summed.iter().for_each(|sum| whole.combine(sum));
    whole
}

/// Splits `range` into chunks.
pub(super) fn split(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(CHUNK).map(move |at| at..(at + CHUNK).min(end))
}

/// The CRC-32 of one chunk, whose pages leave the resident memory.
pub(super) fn sum(map: &MappedFile, range: Range<usize>) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&map[range.clone()]);
    map.release_pages(range);
    hasher
}
