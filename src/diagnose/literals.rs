//! [`Literals`]: a search for many short texts at once, in one pass.
//!
//! A packed search (Teddy) puts its texts into 16 buckets, and drops to a quarter of its speed with a hundred texts
//! because the letters of a bucket mix. Here, the first three bytes at every position are looked up in a bit table that
//! stays in the first-level cache; few positions pass, and only those are compared.

use std::ops::Range;

/// The bits of the table, as a power of two: 8 KiB.
const BITS: u32 = 16;
/// How many bytes of a position are looked up.
const KEY: usize = 3;
/// How many positions one load of eight bytes covers.
const PLACES: usize = size_of::<u64>() - KEY + 1;
/// The bit of a text that ends with a digit: it does not match inside a longer number.
pub(super) const WHOLE: u8 = 1 << 7;

/// Texts to search for, each with the bit of its kind.
#[derive(Debug)]
pub(super) struct Literals {
    bits: Vec<u64>,
    /// By the hash of the first bytes: the range of its texts in `order`.
    groups: Vec<(u8, u8)>,
    order: Vec<(&'static [u8], u8)>,
}

/// The position in the table for the first three bytes of `word`.
fn hash(word: u64) -> usize {
    let key = (word as u32) & 0x00ff_ffff;
    (key.wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS)) as usize
}

fn key(text: &[u8]) -> u64 {
    text[..KEY].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Literals {
    /// Builds the search for the texts of each kind; each has 3 to 255 bytes.
    pub(super) fn new(kinds: &[(u8, &[&'static str])]) -> Self {
        let all = kinds.iter().flat_map(|(kind, texts)| texts.iter().map(move |text| (text.as_bytes(), *kind)));
        let mut order: Vec<(&'static [u8], u8)> = all.collect();
        debug_assert!(order.len() <= 255 && order.iter().all(|(text, _)| text.len() >= KEY));
        order.sort_by_key(|(text, _)| hash(key(text)));
        let mut found = Self { bits: vec![0; 1 << (BITS - 6)], groups: vec![(0, 0); 1 << BITS], order };
        for (at, (text, _)) in found.order.iter().enumerate() {
            let hash = hash(key(text));
            found.bits[hash >> 6] |= 1 << (hash & 63);
            let group = &mut found.groups[hash];
            *group = (if group.1 == 0 { at as u8 } else { group.0 }, group.1 + 1);
        }
        found
    }

    fn may(&self, word: u64) -> u64 {
        let hash = hash(word);
        self.bits[hash >> 6] >> (hash & 63) & 1
    }

    /// The first position in `span` of `bytes` where texts begin that end within it, and their kinds.
    pub(super) fn find(&self, bytes: &[u8], span: Range<usize>) -> Option<(usize, u8)> {
        let bytes = &bytes[..span.end.min(bytes.len())];
        let mut at = span.start;
        while let Some(eight) = bytes.get(at..at + size_of::<u64>()) {
            let word = u64::from_le_bytes(eight.try_into().ok()?);
            let any = (0..PLACES).fold(0, |any, place| any | self.may(word >> (8 * place)));
            if any != 0 {
                let found = (0..PLACES).filter(|place| self.may(word >> (8 * place)) != 0);
                if let Some(found) = found.map(|place| at + place).find_map(|place| self.begins(bytes, place)) {
                    return Some(found);
                }
            }
            at += PLACES;
        }
        (at..bytes.len().saturating_sub(KEY - 1)).find_map(|place| self.begins(bytes, place))
    }

    /// The kinds of the texts that begin at `place`.
    fn begins(&self, bytes: &[u8], place: usize) -> Option<(usize, u8)> {
        let rest = &bytes[place..];
        let (first, count) = self.groups[hash(key(rest))];
        let group = &self.order[usize::from(first)..usize::from(first) + usize::from(count)];
        let longer = |text: &[u8]| rest.get(text.len()).is_some_and(u8::is_ascii_digit);
        let begin = group.iter().filter(|(text, kind)| rest.starts_with(text) && (kind & WHOLE == 0 || !longer(text)));
        let kinds = begin.fold(0, |kinds, (_, kind)| kinds | kind) & !WHOLE;
        (kinds != 0).then_some((place, kinds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_not_found_within_a_longer_one() {
        let literals = Literals::new(&[(1 | WHOLE, &[" 137"]), (2, &[" 13"])]);
        for (text, kinds) in [("exit 137", 3), ("exit 137.", 3), ("port 1370", 2)] {
            let place = text.find(" 13");
            assert_eq!(literals.find(text.as_bytes(), 0..text.len()), place.map(|place| (place, kinds)), "{text}");
        }
    }

    #[test]
    fn what_is_found_is_what_a_plain_search_finds_first() {
        const TEXTS: [(u8, &[&str]); 2] = [(1, &["emory", "mem", "OOM"]), (2, &["memory", "oom_", "OOM", " -9"])];
        let literals = Literals::new(&TEXTS);
        let text = b"no OO or me; the memory -9 oom_kill OOM mem";
        for from in 0..text.len() {
            for to in from..=text.len() {
                let plain = (from..to).find_map(|place| {
                    let begins = |texts: &[&str]| texts.iter().any(|one| text[place..to].starts_with(one.as_bytes()));
                    let kinds =
                        TEXTS.iter().filter(|(_, texts)| begins(texts)).fold(0, |kinds, (kind, _)| kinds | kind);
                    (kinds != 0).then_some((place, kinds))
                });
                assert_eq!(literals.find(text, from..to), plain, "{from}..{to}");
            }
        }
    }
}
