//! What the tables and indices hold: values that follow from a seed, a stream and a position alone.
//!
//! A storage is a row of 8-byte words, and each word is a hash of its position, so that any range of bytes can be made by
//! itself, on any machine, by any thread. Floating-point elements are spread evenly over about [-0.5, 0.5): from the bits
//! of the word come integers, and every step from there to the element is exact, or cuts towards zero.

use crate::capture::Dtype;

/// A stream of random words: the wyrand generator at any of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of number `number` under `seed`: another stream for another seed or number.
    pub fn new(seed: u64, number: u64) -> Self {
        Self { key: split_mix(split_mix(seed).wrapping_add(number)) }
    }

    /// The word at `position`.
    #[inline(always)]
    pub fn word(self, position: u64) -> u64 {
        let state = self.key.wrapping_add(position.wrapping_mul(0xa076_1d64_78bd_642f));
        let wide = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
        (wide >> 64) as u64 ^ wide as u64
    }

    /// An index below `bound`, evenly spread.
    pub fn index(self, position: u64, bound: u64) -> u64 {
        ((u128::from(self.word(position)) * u128::from(bound)) >> 64) as u64
    }
}

/// The finalizer of SplitMix64.
fn split_mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The content of a table of floating-point elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    stream: Stream,
    dtype: Dtype,
}

/// The bytes made at a time: words first, then elements in their place, while they are in the first-level cache.
const BLOCK: usize = 4096;

impl Table {
    /// The table of `dtype`, a floating-point one, whose words come from `stream`.
    pub fn new(stream: Stream, dtype: Dtype) -> Self {
        debug_assert!(dtype.is_float());
        Self { stream, dtype }
    }

    /// Fills `into` with the table's bytes from `offset` on.
    pub fn fill(&self, offset: u64, into: &mut [u8]) {
        let skip = (offset % 8) as usize;
        let (first, rest) = into.split_at_mut(into.len().min((8 - skip) % 8));
        if !first.is_empty() {
            first.copy_from_slice(&self.one(offset / 8)[skip..][..first.len()]);
        }
        let mut position = offset.div_ceil(8);
        let (words, last) = rest.as_chunks_mut::<8>();
        for block in words.chunks_mut(BLOCK / 8) {
            self.block(position, block);
            position += block.len() as u64;
        }
        if !last.is_empty() {
            last.copy_from_slice(&self.one(position)[..last.len()]);
        }
    }

    /// The word at `position`, as elements.
    fn one(&self, position: u64) -> [u8; 8] {
        let mut word = [[0; 8]];
        self.block(position, &mut word);
        word[0]
    }

    fn block(&self, position: u64, words: &mut [[u8; 8]]) {
        for (i, word) in (0..).zip(words.iter_mut()) {
            *word = self.stream.word(position.wrapping_add(i)).to_le_bytes();
        }
        let bytes = words.as_flattened_mut();
        match self.dtype {
            Dtype::F64 => each(bytes, |b| f64_element(u64::from_le_bytes(b)).to_le_bytes()),
            Dtype::F32 => each(bytes, |b| f32_element(u32::from_le_bytes(b)).to_le_bytes()),
            Dtype::F16 => each(bytes, |b| f16_element(u16::from_le_bytes(b)).to_le_bytes()),
            Dtype::BF16 => each(bytes, |b| bf16_element(u16::from_le_bytes(b)).to_le_bytes()),
            Dtype::F8E4M3FN => look_up(bytes, &E4M3FN),
            Dtype::F8E5M2 => look_up(bytes, &E5M2),
            Dtype::F8E4M3FNUZ => look_up(bytes, &E4M3FNUZ),
            Dtype::F8E5M2FNUZ => look_up(bytes, &E5M2FNUZ),
            // Powers of two from 2^-9 to 2^-2: the format has neither sign nor zero.
            Dtype::F8E8M0FNU => each(bytes, |[b]| [118 + b % 8]),
            // Every code of float4_e2m1fn is finite, from -6 to 6, and they are too few to choose among.
            _ => {}
        }
    }
}

#[inline(always)]
fn each<const N: usize>(bytes: &mut [u8], element: impl Fn([u8; N]) -> [u8; N]) {
    for lane in bytes.as_chunks_mut::<N>().0 {
        *lane = element(*lane);
    }
}

fn look_up(bytes: &mut [u8], codes: &[u8; 256]) {
    each(bytes, |[b]| [codes[usize::from(b)]]);
}

/// 2^-16, 2^-24, 2^-53 and 2^-112: multiplying by them is exact.
const P16: f32 = 1.0 / 65_536.0;
const P24: f32 = 1.0 / 16_777_216.0;
const P53: f64 = 1.0 / 9_007_199_254_740_992.0;
const P112: f32 = f32::from_bits((127 - 112) << 23);

#[inline(always)]
fn f64_element(bits: u64) -> f64 {
    (bits.cast_signed() >> 11) as f64 * P53
}

#[inline(always)]
fn f32_element(bits: u32) -> f32 {
    (bits.cast_signed() >> 8) as f32 * P24
}

#[inline(always)]
fn bf16_element(bits: u16) -> u16 {
    let x = f32::from(bits.cast_signed()) * P16;
    (x.to_bits().cast_signed() >> 16) as u16
}

/// Scaled by 2^-112, the exponent of a float32 is that of the same number in float16, subnormal ones included.
#[inline(always)]
fn f16_element(bits: u16) -> u16 {
    let scaled = (f32::from(bits.cast_signed()) * P16 * P112).to_bits();
    ((scaled >> 16) & 0x8000) as u16 | ((scaled & 0x7fff_ffff) >> 13) as u16
}

static E4M3FN: [u8; 256] = codes(3, 7);
static E5M2: [u8; 256] = codes(2, 15);
static E4M3FNUZ: [u8; 256] = codes(3, 8);
static E5M2FNUZ: [u8; 256] = codes(2, 16);

/// For each byte `b`, the code of (b - 128) / 256, cut towards zero, in the 8-bit format of this many mantissa bits and
/// this exponent bias. No magnitude but zero itself is cut to zero, so that no format sees its code 0x80.
const fn codes(mantissa: u32, bias: u32) -> [u8; 256] {
    let mut codes = [0; 256];
    let mut b = 0;
    while b < 256 {
        // The value is m * 2^-8.
        let m = (b as i32 - 128).unsigned_abs();
        if m != 0 {
            let log2 = m.ilog2();
            let exponent = log2 + bias;
            let magnitude = if exponent > 8 {
                // 1.f * 2^(log2 - 8): the leading bit goes, `mantissa` bits below it stay.
                let fraction = ((m << 8) >> (log2 + 8 - mantissa)) & ((1 << mantissa) - 1);
                ((exponent - 8) << mantissa) | fraction
            } else {
                // Subnormal: units of 2^(1 - bias - mantissa).
                (m << (bias + mantissa - 1)) >> 8
            };
            codes[b] = magnitude as u8 | if b < 128 { 0x80 } else { 0 };
        }
        b += 1;
    }
    codes
}
