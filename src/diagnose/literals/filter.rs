//! [`Filter`]: which of 32 positions may begin a text, by the nibbles of four bytes.
//!
//! The idea is that of Teddy (Hyperscan, `aho-corasick`): each text belongs to a bucket, each bucket is a bit, and for
//! each of the first four bytes two tables of 16 entries say which buckets have a text with that low and that high
//! nibble there. A shuffle looks 32 nibbles up at once. Sixteen buckets, put together by how often logs have each byte,
//! keep a hundred and fifty texts apart: of a log without any of them, about one position in ten passes.

use std::collections::BTreeSet;

/// How many positions are looked at together.
pub(super) const BLOCK: usize = 32;
/// How many bytes of a position are looked at.
const DEPTH: usize = 4;
/// How many bytes must follow the beginning of a block: words of eight bytes are read from each position.
pub(super) const READ: usize = BLOCK + size_of::<u64>();
/// How many buckets the bits of a byte make, and how many such sets there are.
const BUCKETS: usize = u8::BITS as usize;
const SETS: usize = 2;

/// How often logs have each byte from the blank to the tilde, in parts of 4000.
const FREQUENCIES: [u16; 95] = [
    479, 1, 19, 1, 1, 1, 1, 2, 8, 8, 3, 1, 33, 94, 102, 31, 258, 139, 108, 67, 62, 58, 56, 37, 71, 36, 93, 1, 1, 38, 1,
    1, //
    1, 5, 11, 6, 3, 6, 20, 12, 1, 21, 1, 2, 3, 11, 20, 24, 9, 1, 6, 4, 6, 6, 1, 3, 1, 1, 1, 11, 1, 7, 1, 35, //
    1, 111, 15, 51, 65, 204, 22, 52, 57, 90, 2, 32, 95, 63, 107, 167, 82, 2, 197, 144, 169, 62, 17, 9, 6, 43, 2, 2, 6,
    2, 1,
];

/// How often logs have `byte`.
fn frequency(byte: usize) -> f32 {
    let parts = match byte {
        0x20..0x7f => f32::from(FREQUENCIES[byte - 0x20]),
        0x0a => 60.0,
        _ => 0.2,
    };
    parts / 4000.0
}
/// The buckets, as bits, by the nibble of a byte.
type Table = [u8; 16];

#[derive(Debug, Default)]
pub(super) struct Filter {
    /// By set and byte of the position.
    low: [[Table; DEPTH]; SETS],
    high: [[Table; DEPTH]; SETS],
}

/// Texts that share a bit, and the nibbles that they have at each position, as bits.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    low: [u16; DEPTH],
    high: [u16; DEPTH],
    /// How often a position passes, by the frequencies of logs.
    passes: f32,
}

/// How often a byte of a log has one of these low nibbles, for each high one: by the lower and the upper half of them.
struct Frequencies(Vec<[[f32; 256]; 2]>);

impl Frequencies {
    fn new() -> Self {
        let row = |high: usize| {
            [0, 8].map(|half| {
                let mut sums = [0.0; 256];
                for bits in 1..256usize {
                    let low = bits.trailing_zeros() as usize;
                    sums[bits] = sums[bits & (bits - 1)] + frequency(high * 16 + half + low);
                }
                sums
            })
        };
        Self((0..16).map(row).collect())
    }

    fn passes(&self, low: u16, mut high: u16) -> f32 {
        let [lower, upper] = low.to_le_bytes().map(usize::from);
        let mut sum = 0.0;
        while high != 0 {
            let row = &self.0[high.trailing_zeros() as usize];
            sum += row[0][lower] + row[1][upper];
            high &= high - 1;
        }
        sum
    }
}

impl Bucket {
    /// The bucket of `text` alone. A text that is shorter than the filter is deep may be followed by any byte.
    fn of(text: &[u8], frequencies: &Frequencies) -> Self {
        let nibbles = |nibble: fn(u8) -> u8| {
            std::array::from_fn(|place| text.get(place).map_or(u16::MAX, |byte| 1 << nibble(*byte)))
        };
        Self { low: nibbles(|byte| byte & 15), high: nibbles(|byte| byte >> 4), passes: 0.0 }.weighed(frequencies)
    }

    fn weighed(mut self, frequencies: &Frequencies) -> Self {
        self.passes = (0..DEPTH).map(|place| frequencies.passes(self.low[place], self.high[place])).product();
        self
    }

    fn with(&self, other: &Self, frequencies: &Frequencies) -> Self {
        let low = std::array::from_fn(|place| self.low[place] | other.low[place]);
        let high = std::array::from_fn(|place| self.high[place] | other.high[place]);
        Self { low, high, passes: 0.0 }.weighed(frequencies)
    }
}

/// Puts `buckets` together until there are at most `most`: always the two that make the fewest more positions pass.
fn grouped(buckets: impl Iterator<Item = Bucket>, most: usize, frequencies: &Frequencies) -> Vec<Bucket> {
    let mut buckets: Vec<Option<Bucket>> = buckets.map(Some).collect();
    let more = |a: &Option<Bucket>, b: &Option<Bucket>| match (a, b) {
        (Some(a), Some(b)) => a.with(b, frequencies).passes - a.passes - b.passes,
        _ => f32::INFINITY,
    };
    // The best partner of a bucket among those before it.
    let partner = |buckets: &[Option<Bucket>], at: usize| {
        let all = (0..at).map(|other| (more(&buckets[at], &buckets[other]), other));
        all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f32::INFINITY, 0))
    };
    let mut partners: Vec<(f32, usize)> = (0..buckets.len()).map(|at| partner(&buckets, at)).collect();
    for _ in most..buckets.len() {
        let Some(gone) = (0..buckets.len()).min_by(|a, b| partners[*a].0.total_cmp(&partners[*b].0)) else { break };
        let into = partners[gone].1;
        buckets[into] = buckets[into].zip(buckets[gone].take()).map(|(a, b)| a.with(&b, frequencies));
        for at in 0..buckets.len() {
            if at == gone || at == into || [gone, into].contains(&partners[at].1) {
                partners[at] = partner(&buckets, at);
            } else if into < at {
                partners[at] = [partners[at], (more(&buckets[at], &buckets[into]), into)]
                    .into_iter()
                    .min_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap_or(partners[at]);
            }
        }
    }
    buckets.into_iter().flatten().collect()
}

impl Filter {
    /// A filter for texts of at least one byte.
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let frequencies = Frequencies::new();
        let begin: BTreeSet<&[u8]> = texts.map(|text| &text[..text.len().min(DEPTH)]).collect();
        let alone = begin.into_iter().map(|text| Bucket::of(text, &frequencies));
        let mut filter = Self::default();
        for (at, bucket) in grouped(alone, SETS * BUCKETS, &frequencies).iter().enumerate() {
            let (set, own) = (at / BUCKETS, 1 << (at % BUCKETS));
            for place in 0..DEPTH {
                for nibble in 0..16 {
                    let of = |bits: u16| if bits >> nibble & 1 != 0 { own } else { 0 };
                    filter.low[set][place][nibble] |= of(bucket.low[place]);
                    filter.high[set][place][nibble] |= of(bucket.high[place]);
                }
            }
        }
        filter
    }

    /// The first block in `bytes`, from `at` in steps of [`BLOCK`] and before `to`, with a position that passes: where
    /// it begins, and its positions as bits. Otherwise, the first block that is not read: it begins at `to` or later,
    /// or fewer than [`READ`] bytes follow. `None` if this processor has no vectors to do it with.
    pub(super) fn next(&self, bytes: &[u8], at: usize, to: usize) -> Option<(usize, u32)> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the check above found AVX2, which is all that the function needs.
            return Some(unsafe { self.next_with_avx2(bytes, at, to) });
        }
        let _ = (bytes, at, to);
        None
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn next_with_avx2(&self, bytes: &[u8], mut at: usize, to: usize) -> (usize, u32) {
        use std::arch::x86_64::{
            __m128i, __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
            _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256,
            _mm256_shuffle_epi8, _mm256_srli_epi16,
        };
        // Loops, not closures: a closure is compiled without AVX2, and its vectors travel through memory.
        let mut low = [[_mm256_setzero_si256(); DEPTH]; SETS];
        let mut high = low;
        for set in 0..SETS {
            for depth in 0..DEPTH {
                let (lower, upper) = (&self.low[set][depth], &self.high[set][depth]);
                // SAFETY: a table has the 16 bytes that a load reads; it needs no alignment.
                let lower = unsafe { _mm_loadu_si128(lower.as_ptr().cast::<__m128i>()) };
                // SAFETY: as above.
                let upper = unsafe { _mm_loadu_si128(upper.as_ptr().cast::<__m128i>()) };
                low[set][depth] = _mm256_broadcastsi128_si256(lower);
                high[set][depth] = _mm256_broadcastsi128_si256(upper);
            }
        }
        let nibble = _mm256_set1_epi8(15);
        while at < to && bytes.len() >= at + READ {
            let block = &bytes[at..at + READ];
            let mut passes = [_mm256_set1_epi8(-1); SETS];
            for depth in 0..DEPTH {
                // SAFETY: `block` has READ bytes, of which the load reads BLOCK from `depth`, less than DEPTH, on; it
                // needs no alignment.
                let read = unsafe { _mm256_loadu_si256(block.as_ptr().add(depth).cast::<__m256i>()) };
                let lower = _mm256_and_si256(read, nibble);
                let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(read), nibble);
                for set in 0..SETS {
                    let both = _mm256_and_si256(
                        _mm256_shuffle_epi8(low[set][depth], lower),
                        _mm256_shuffle_epi8(high[set][depth], upper),
                    );
                    passes[set] = _mm256_and_si256(passes[set], both);
                }
            }
            let none = _mm256_cmpeq_epi8(_mm256_or_si256(passes[0], passes[1]), _mm256_setzero_si256());
            let found = !(_mm256_movemask_epi8(none) as u32);
            if found != 0 {
                return (at, found);
            }
            at += BLOCK;
        }
        (at, 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether the position at the beginning of `bytes` passes, by the tables alone.
    fn passes(filter: &Filter, bytes: &[u8]) -> bool {
        let pass = |set: usize| {
            (0..DEPTH).fold(u8::MAX, |buckets, depth| {
                let byte = usize::from(bytes[depth]);
                buckets & filter.low[set][depth][byte & 15] & filter.high[set][depth][byte >> 4]
            })
        };
        (0..SETS).any(|set| pass(set) != 0)
    }

    proptest! {
        #[test]
        fn a_block_passes_as_its_positions_do_and_none_that_begins_a_text_is_missed(
            texts in prop::collection::vec(prop::collection::vec(0x1eu8..0x24, 1..6), 1..40),
            bytes in prop::collection::vec(0x1eu8..0x24, 0..300),
            at in 0usize..70,
            to in 0usize..300,
        ) {
            let filter = Filter::new(texts.iter().map(Vec::as_slice));
            let mut at = at;
            while let Some((block, found)) = filter.next(&bytes, at, to) {
                for begun in at..block + if found == 0 { 0 } else { BLOCK } {
                    let here = begun >= block && found >> (begun - block) & 1 != 0;
                    prop_assert_eq!(here, passes(&filter, &bytes[begun..]));
                    prop_assert!(here || !texts.iter().any(|text| bytes[begun..].starts_with(text)));
                }
                if found == 0 {
                    prop_assert!(block >= to || block + READ > bytes.len());
                    break;
                }
                at = block + BLOCK;
            }
        }
    }
}
