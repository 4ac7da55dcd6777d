//! The content of tables and indices: values that depend on a seed, a stream and a position alone.
//!
//! A storage is a row of 8-byte words, and each word is a hash of its position, so any range of bytes can be made by
//! itself, on any machine, by any thread. Floating-point elements are spread evenly over about [-0.5, 0.5): from the
//! bits of the word come integers, and every step from there to the element is exact, or cuts towards zero.

use plimsoll_statistics::random::SplitMix64;

use crate::Dtype;

/// A stream of random words: the wyrand generator at any of its positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    key: u64,
}

impl Stream {
    /// The stream with number `number` under `seed`: each seed and number has its own stream.
    pub fn new(seed: u64, number: u64) -> Self {
        let first = |seed| SplitMix64::new(seed).word();
        Self { key: first(first(seed).wrapping_add(number)) }
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

/// The content of a table of floating-point elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    stream: Stream,
    dtype: Dtype,
}

/// The number of bytes produced at once: first words, then elements in place, while they are in the first-level cache.
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
            Dtype::F16 => each(bytes, |b| pair(u32::from_le_bytes(b), f16_element).to_le_bytes()),
            Dtype::BF16 => each(bytes, |b| pair(u32::from_le_bytes(b), bf16_element).to_le_bytes()),
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

/// 2^-24, 2^-32, 2^-53 and 2^-112: multiplying by them is exact.
const P24: f32 = 1.0 / 16_777_216.0;
const P32: f32 = 1.0 / 4_294_967_296.0;
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

/// Two 16-bit elements from two 16-bit integers. `element` turns a number into the code of the 16-bit format, in the
/// upper half of its result: all work stays in 32-bit lanes, which is what makes it fast.
#[inline(always)]
fn pair(bits: u32, element: impl Fn(f32) -> u32) -> u32 {
    let number = |upper: u32| upper.cast_signed() as f32 * P32;
    let (low, high) = (element(number(bits << 16)), element(number(bits & 0xffff_0000)));
    (low >> 16) | (high & 0xffff_0000)
}

#[inline(always)]
fn bf16_element(x: f32) -> u32 {
    x.to_bits()
}

/// Converts by scaling with 2^-112: the exponent of the float32 is then that of the same number in float16, subnormal
/// ones included.
#[inline(always)]
fn f16_element(x: f32) -> u32 {
    (x.to_bits() & 0x8000_0000) | (((x * P112).to_bits() << 3) & 0x7fff_0000)
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

#[cfg(test)]
mod tests {
    use half::{bf16, f16};
    use proptest::prelude::*;

    use super::*;
    use crate::strategies::float_dtypes;

    fn bytes(dtype: Dtype, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        Table::new(Stream::new(1, 2), dtype).fill(offset, &mut bytes);
        bytes
    }

    /// Pins the content: a capture created elsewhere, or by a later version, must be equal.
    #[test]
    fn the_first_bytes_of_every_dtype_are_pinned() {
        let first = |dtype| {
            let bytes: [u8; 8] = bytes(dtype, 0, 8).try_into().unwrap();
            format!("{:016x}", u64::from_be_bytes(bytes))
        };
        let pins = [
            (Dtype::F64, "6a2b429d1dcfd9bf"),
            (Dtype::F32, "50da0abdee78cebe"),
            (Dtype::F16, "b03557a867b773b6"),
            (Dtype::BF16, "b63e0abdecbecebe"),
            (Dtype::F8E4M3FN, "afa1a32e1211281c"),
            (Dtype::F8E5M2, "b7b0b1372928342e"),
            (Dtype::F8E4M3FNUZ, "b7a9ab361a193024"),
            (Dtype::F8E5M2FNUZ, "bbb4b53b2d2c3832"),
            (Dtype::F8E8M0FNU, "7b79787d78777976"),
            (Dtype::F4E2M1FNX2, "055b52f78a89c398"),
        ];
        assert_eq!(pins.map(|(dtype, _)| (dtype, first(dtype))), pins.map(|(dtype, pin)| (dtype, pin.to_owned())));
    }

    /// An 8-bit floating-point code as a number, by the format's definition.
    fn float8(code: u8, mantissa: u32, bias: i32) -> f64 {
        let exponent = i32::from(code & 0x7f) >> mantissa;
        let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
        let magnitude =
            if exponent == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(exponent - bias) };
        if code & 0x80 == 0 { magnitude } else { -magnitude }
    }

    fn values(dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
        let lanes = bytes.chunks_exact(dtype.size() as usize);
        let value = |b: &[u8]| match dtype {
            Dtype::F64 => f64::from_le_bytes(b.try_into().unwrap()),
            Dtype::F32 => f32::from_le_bytes(b.try_into().unwrap()).into(),
            Dtype::F16 => f16::from_le_bytes(b.try_into().unwrap()).into(),
            Dtype::BF16 => bf16::from_le_bytes(b.try_into().unwrap()).into(),
            Dtype::F8E4M3FN => float8(b[0], 3, 7),
            Dtype::F8E5M2 => float8(b[0], 2, 15),
            Dtype::F8E4M3FNUZ => float8(b[0], 3, 8),
            Dtype::F8E5M2FNUZ => float8(b[0], 2, 16),
            other => unreachable!("{other} is not spread evenly"),
        };
        lanes.map(value).collect()
    }

    #[test]
    fn values_are_spread_evenly_from_minus_a_half_to_a_half() {
        use Dtype::*;
        for dtype in [F64, F32, F16, BF16, F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ] {
            let values = values(dtype, &bytes(dtype, 0, 1 << 20));
            let mut tenths = [0u64; 10];
            for &x in &values {
                assert!((-0.5..=0.5).contains(&x), "{dtype}: {x}");
                tenths[(((x + 0.5) * 10.0) as usize).min(9)] += 1;
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!(mean.abs() < 0.005, "{dtype}: mean {mean}");
            // 8-bit formats round whole ranges of numbers to one; the wider ones fill every tenth evenly.
            if dtype.size() > 1 {
                let expected = values.len() as f64 / 10.0;
                assert!(tenths.iter().all(|&n| (n as f64 / expected - 1.0).abs() < 0.04), "{dtype}: {tenths:?}");
            }
        }
    }

    /// Every 16-bit and 8-bit integer, against conversions made another way.
    #[test]
    fn conversions_cut_towards_zero() {
        for bits in 0..=u16::MAX {
            let x = f32::from(bits.cast_signed()) / 65_536.0;
            let [half, brain] = [f16_element, bf16_element as fn(f32) -> u32]
                .map(|element| (pair(u32::from(bits) << 16, element) >> 16) as u16);
            assert_eq!(pair(bits.into(), bf16_element) as u16, brain);
            assert_eq!(pair(bits.into(), f16_element) as u16, half);
            for (cut, next) in [
                (f32::from(f16::from_bits(half)), f32::from(f16::from_bits(half + 1))),
                (f32::from(bf16::from_bits(brain)), f32::from(bf16::from_bits(brain + 1))),
            ] {
                assert!(cut.abs() <= x.abs() && x.abs() < next.abs() && cut * x >= 0.0, "{x}: {cut}, {next}");
            }
        }
        for (table, mantissa, bias) in [(&E4M3FN, 3, 7), (&E5M2, 2, 15), (&E4M3FNUZ, 3, 8), (&E5M2FNUZ, 2, 16)] {
            for (byte, &code) in table.iter().enumerate() {
                let x = (byte as f64 - 128.0) / 256.0;
                let (cut, next) = (float8(code, mantissa, bias), float8(code + 1, mantissa, bias));
                assert!(cut.abs() <= x.abs() && x.abs() < next.abs() && cut * x >= 0.0, "{x}: {cut}, {next}");
                assert_ne!(code, 0x80, "NaN in the FNUZ formats");
            }
        }
    }

    #[test]
    fn seeds_and_streams_differ() {
        let words = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(seed, number)| Stream::new(seed, number).word(0));
        for (i, word) in words.iter().enumerate() {
            assert!(!words[..i].contains(word));
        }
        let indices: Vec<u64> = (0..1000).map(|i| Stream::new(0, 0).index(i, 7)).collect();
        assert!((0..7).all(|n| indices.contains(&n)) && indices.iter().all(|&n| n < 7));
    }

    proptest! {
        #[test]
        fn any_range_is_what_the_whole_has_there(dtype in float_dtypes(), start in 0usize..6000, length in 0usize..6000) {
            let whole = bytes(dtype, 0, start + length);
            prop_assert_eq!(&bytes(dtype, start as u64, length), &whole[start..]);
        }
    }
}
