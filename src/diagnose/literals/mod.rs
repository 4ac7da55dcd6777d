//! [`Literals`]: a search for many short texts at once, in one pass.
//!
//! A packed search (Teddy of `aho-corasick`) gives up at 64 texts. Here, a filter of the processor's vectors passes
//! one position in ten, and what passes is looked up by its first four bytes in a bit table that stays in the
//! first-level cache. Processors without such vectors look every position up.

mod filter;

use std::ops::Range;

use filter::{BLOCK, Filter, READ};

/// The bits of the table, as a power of two: 8 KiB.
const BITS: u32 = 16;
/// How many bytes of a position are looked up.
const KEY: usize = 4;
/// The bytes of the shortest text: the texts are grouped by their first ones.
const SHORTEST: usize = 3;
/// How many positions one load of eight bytes covers.
const PLACES: usize = size_of::<u64>() - KEY + 1;
/// The bit of a text that ends with a digit: it does not match inside a longer number.
pub(super) const WHOLE: u8 = 1 << 7;

/// Texts to search for, each with the bit of its kind.
#[derive(Debug)]
pub(super) struct Literals {
    filter: Filter,
    bits: Vec<u64>,
    /// By the hash of the first bytes: the range of its texts in `order`.
    groups: Vec<(u8, u8)>,
    order: Vec<(&'static [u8], u8)>,
}

/// The position in a table for `key`.
fn hash(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS)) as usize
}

/// The first bytes of `text`; one that is missing is 0.
fn key(text: &[u8]) -> u32 {
    text.first_chunk()
        .map_or_else(|| u32::from_le_bytes([text[0], text[1], text[2], 0]), |four| u32::from_le_bytes(*four))
}

/// The group of the texts that begin as `key` does.
fn group(key: u32) -> usize {
    hash(key & (u32::MAX >> (u8::BITS as usize * (KEY - SHORTEST))))
}

impl Literals {
    /// Builds the search for the texts of each kind; each has 3 to 255 bytes.
    pub(super) fn new(kinds: &[(u8, &[&'static str])]) -> Self {
        let all = kinds.iter().flat_map(|(kind, texts)| texts.iter().map(move |text| (text.as_bytes(), *kind)));
        let mut order: Vec<(&'static [u8], u8)> = all.collect();
        debug_assert!(order.len() <= 255 && order.iter().all(|(text, _)| text.len() >= SHORTEST));
        order.sort_by_key(|(text, _)| group(key(text)));
        let filter = Filter::new(order.iter().map(|(text, _)| *text));
        let mut found = Self { filter, bits: vec![0; 1 << (BITS - 6)], groups: vec![(0, 0); 1 << BITS], order };
        for (at, (text, _)) in found.order.iter().enumerate() {
            let key = key(text);
            // Any byte may follow a text of three.
            let longer = (0..=u32::from(u8::MAX)).map(|next| key | next << (u8::BITS as usize * SHORTEST));
            for key in longer.filter(|_| text.len() < KEY).chain([key]) {
                found.bits[hash(key) >> 6] |= 1 << (hash(key) & 63);
            }
            let group = &mut found.groups[group(key)];
            *group = (if group.1 == 0 { at as u8 } else { group.0 }, group.1 + 1);
        }
        found
    }

    fn may(&self, key: u32) -> u64 {
        let hash = hash(key);
        self.bits[hash >> 6] >> (hash & 63) & 1
    }

    /// A search in `bytes`, from its beginning.
    pub(super) fn search<'a>(&'a self, bytes: &'a [u8]) -> Search<'a> {
        Search { literals: self, bytes, block: 0, passed: 0, seen: 0 }
    }

    /// What [`Filter::next`] does, without vectors: by the table of first bytes.
    fn next_plain(&self, bytes: &[u8], mut at: usize, to: usize) -> (usize, u32) {
        while let Some(block) = bytes.get(at..at + READ).filter(|_| at < to) {
            let mut found = 0;
            for place in (0..BLOCK).step_by(PLACES) {
                let eight = block[place..].first_chunk().expect("a block is read beyond its positions");
                let word = u64::from_le_bytes(*eight);
                found |= (0..PLACES).fold(0, |any, next| any | self.may((word >> (8 * next)) as u32) << next) << place;
            }
            // The last bits are those of the next block.
            if found as u32 != 0 {
                return (at, found as u32);
            }
            at += BLOCK;
        }
        (at, 0)
    }

    fn next(&self, bytes: &[u8], at: usize, to: usize) -> (usize, u32) {
        self.filter.next(bytes, at, to).unwrap_or_else(|| self.next_plain(bytes, at, to))
    }

    /// The kinds of the texts that begin at `place`.
    fn begin(&self, bytes: &[u8], place: usize) -> u8 {
        let rest = &bytes[place..];
        if rest.len() < SHORTEST || self.may(key(rest)) == 0 {
            return 0;
        }
        let (first, count) = self.groups[group(key(rest))];
        let group = &self.order[usize::from(first)..usize::from(first) + usize::from(count)];
        let longer = |text: &[u8]| rest.get(text.len()).is_some_and(u8::is_ascii_digit);
        let begin = group.iter().filter(|(text, kind)| rest.starts_with(text) && (kind & WHOLE == 0 || !longer(text)));
        begin.fold(0, |kinds, (_, kind)| kinds | kind) & !WHOLE
    }
}

/// A search that keeps its block between calls, so that no block is filtered twice.
#[derive(Debug)]
pub(super) struct Search<'a> {
    literals: &'a Literals,
    bytes: &'a [u8],
    /// Where the last block with a position that passed the filter begins, and those of its positions.
    block: usize,
    passed: u32,
    /// Blocks up to here were filtered.
    seen: usize,
}

impl Search<'_> {
    /// The first position in `span` where texts of `kinds` begin that end within it, and those kinds. A span begins
    /// after what was found before, or at the end of the span before.
    pub(super) fn find(&mut self, span: Range<usize>, kinds: u8) -> Option<(usize, u8)> {
        let to = span.end.min(self.bytes.len());
        let within = &self.bytes[..to];
        loop {
            self.passed &= match span.start.saturating_sub(self.block) {
                before @ 0..BLOCK => u32::MAX << before,
                _ => 0,
            };
            while self.passed != 0 {
                let place = self.block + self.passed.trailing_zeros() as usize;
                if place >= to {
                    return None;
                }
                let found = self.literals.begin(within, place) & kinds;
                if found != 0 {
                    return Some((place, found));
                }
                self.passed &= self.passed - 1;
            }
            let from = self.seen.max(span.start);
            if from >= to {
                return None;
            }
            self.filter(from, to);
        }
    }

    /// Goes on to the next block with a position that passes, or to the end.
    fn filter(&mut self, from: usize, to: usize) {
        (self.block, self.passed) = self.literals.next(self.bytes, from, to);
        if self.passed == 0 && self.block < to {
            // The last bytes are fewer than are read of a block.
            let (mut last, rest) = ([0; READ], &self.bytes[self.block..]);
            last[..rest.len()].copy_from_slice(rest);
            (_, self.passed) = self.literals.next(&last, 0, BLOCK);
            self.seen = self.block + BLOCK;
        } else {
            self.seen = self.block + if self.passed == 0 { 0 } else { BLOCK };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What [`Search::find`] finds, by comparing every text at every position.
    fn plainly(texts: &[(u8, &[&str])], text: &[u8], span: Range<usize>, wanted: u8) -> Option<(usize, u8)> {
        let to = span.end.min(text.len());
        span.take_while(|place| *place < to).find_map(|place| {
            let begins = |one: &str, whole: bool| {
                let longer = text[..to].get(place + one.len()).is_some_and(u8::is_ascii_digit);
                text[place..to].starts_with(one.as_bytes()) && !(whole && longer)
            };
            let found = texts.iter().filter(|(kind, own)| own.iter().any(|one| begins(one, kind & WHOLE != 0)));
            let kinds = found.fold(0, |kinds, (kind, _)| kinds | kind) & wanted & !WHOLE;
            (kinds != 0).then_some((place, kinds))
        })
    }

    #[test]
    fn a_number_is_not_found_within_a_longer_one() {
        let literals = Literals::new(&[(1 | WHOLE, &[" 137"]), (2, &[" 13"])]);
        for (text, kinds) in [("exit 137", 3), ("exit 137.", 3), ("port 1370", 2)] {
            let found = literals.search(text.as_bytes()).find(0..text.len(), 3);
            assert_eq!(found, text.find(" 13").map(|place| (place, kinds)), "{text}");
        }
    }

    const TEXTS: [(u8, &[&str]); 3] =
        [(1, &["emory", "mem", "OOM"]), (2, &["memory", "oom_", "OOM", "ut of\n"]), (4 | WHOLE, &[" -9", "rno 12"])];

    proptest! {
        #[test]
        fn what_is_found_is_what_a_plain_search_finds(
            parts in prop::collection::vec((0usize..12, "[a-mo-r 0-9\\n]{0,12}"), 0..30),
            steps in prop::collection::vec((0usize..60, 0u8..8), 1..12),
        ) {
            let all: Vec<&str> = TEXTS.iter().flat_map(|(_, texts)| texts.iter().copied()).collect();
            let text: String = parts.iter().flat_map(|(at, rest)| [*all.get(*at).unwrap_or(&""), rest.as_str()]).collect();
            let (text, literals) = (text.as_bytes(), Literals::new(&TEXTS));
            let (mut search, mut from) = (literals.search(text), 0);
            for (length, kinds) in steps {
                let span = from..from + length;
                let found = search.find(span.clone(), kinds);
                prop_assert_eq!(found, plainly(&TEXTS, text, span.clone(), kinds));
                from = found.map_or(span.end, |(place, _)| place + 1);
            }
        }

        #[test]
        fn a_block_is_filtered_by_the_table_without_missing_a_text(
            bytes in prop::collection::vec(prop::sample::select(b"emoryOMut of\n -912".as_slice()), 0..200),
            at in 0usize..40,
            to in 0usize..200,
        ) {
            let literals = Literals::new(&TEXTS);
            let mut at = at;
            loop {
                let (block, passed) = literals.next_plain(&bytes, at, to);
                for place in at..block + if passed == 0 { 0 } else { BLOCK } {
                    let begins = literals.begin(&bytes, place) != 0;
                    prop_assert!(!begins || (place >= block && passed >> (place - block) & 1 != 0));
                }
                if passed == 0 {
                    prop_assert!(block >= to || block + READ > bytes.len());
                    break;
                }
                at = block + BLOCK;
            }
        }
    }
}
