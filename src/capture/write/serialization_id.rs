//! The record `.data/serialization_id`: 20 digits that hash the record names, then 20 that hash their CRC-32s.
//!
//! torch combines `std::hash` of every name in the order in which an `std::unordered_set` walks them, and the CRC-32 of
//! every record that is not empty in the order of writing. Its Linux builds use libstdc++, whose hash (MurmurHash64A)
//! and order are reproduced here.

/// The 40 digits for the records written so far: names without the archive's folder, in order, and their CRC-32s
/// (`None` if the record is empty).
pub(super) fn serialization_id<'a>(records: impl Iterator<Item = (&'a str, Option<u32>)>) -> String {
    let mut names = UnorderedSet::default();
    let mut crcs = 0;
    for (name, crc) in records {
        names.insert(hash_bytes(name.as_bytes()));
        if let Some(crc) = crc {
            crcs = hash_combine(crcs, u64::from(crc));
        }
    }
    let names = names.iter().fold(0, hash_combine);
    format!("{names:020}{crcs:020}")
}

/// `c10::hash_combine`.
fn hash_combine(seed: u64, value: u64) -> u64 {
    seed ^ value.wrapping_add(0x9e37_79b9).wrapping_add(seed << 6).wrapping_add(seed >> 2)
}

/// `std::hash<std::string>` of libstdc++ on 64-bit machines.
fn hash_bytes(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0xc70f_6907;
    let shift_mix = |v: u64| v ^ (v >> 47);
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let data = shift_mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ data).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(MULTIPLIER);
    }
    shift_mix(shift_mix(hash).wrapping_mul(MULTIPLIER))
}

/// The order in which libstdc++'s `unordered_set` walks its elements: the bucket first used last comes first, and within
/// a bucket the element inserted last.
#[derive(Default)]
struct UnorderedSet {
    buckets: u64,
    /// The elements of each bucket in use, both in order of insertion.
    used: Vec<Vec<u64>>,
    /// The position in `used` of each bucket in use.
    place: std::collections::HashMap<u64, usize>,
    len: u64,
}

impl UnorderedSet {
    fn insert(&mut self, hash: u64) {
        if self.len + 1 > self.buckets {
            let elements: Vec<u64> = self.iter().collect();
            self.buckets = next_bucket_count(self.buckets);
            self.used.clear();
            self.place.clear();
            elements.into_iter().for_each(|element| self.link(element));
        }
        self.link(hash);
        self.len += 1;
    }

    fn link(&mut self, hash: u64) {
        let next = self.used.len();
        let place = *self.place.entry(hash % self.buckets).or_insert(next);
        if place == next {
            self.used.push(Vec::new());
        }
        self.used[place].push(hash);
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        self.used.iter().rev().flat_map(|bucket| bucket.iter().rev().copied())
    }
}

/// The next bucket count when libstdc++ grows a table: its first prime above the doubled count.
fn next_bucket_count(buckets: u64) -> u64 {
    const GROWTH: [u64; 17] =
        [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172_933, 351_061, 712_697, 1_447_153];
    // Beyond a million records the order is no longer torch's; the id stays deterministic.
    GROWTH.into_iter().find(|&n| n > buckets).unwrap_or(buckets.saturating_mul(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id that torch 2.11.0 wrote for an embedding entry of three storages.
    #[test]
    fn the_id_is_the_one_torch_writes() {
        let records = [
            ("data.pkl", 3_487_724_064),
            (".format_version", 2_212_294_583),
            (".storage_alignment", 3_916_527_423),
            ("byteorder", 434_322_821),
            ("data/0", 3_837_564_175),
            ("data/1", 1_051_607_551),
            ("data/2", 1_728_244_919),
            ("version", 1_432_854_225),
        ];
        let id = serialization_id(records.into_iter().map(|(name, crc)| (name, Some(crc))));
        assert_eq!(id, "0849488847965048735003491015676515524330");
    }
}
