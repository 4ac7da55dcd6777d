//! Scans of blocks of floats: full statistics of both sides and of their differences.
//!
//! A block of a few KiB lies in the L1 cache, so that it may be passed over several times: equality of bytes; the range
//! of each side as integers that are ordered as the floats are, which shows Inf and NaN at its ends; then, only where the
//! sides differ, the errors. Blocks without Inf and NaN take a loop that does not ask for them at each element.

use std::ops::{Add, Div, Mul, Sub};

use super::outcome::{Elements, Range, Side};
use super::rule::Limits;
use super::simd::Scan;

/// A float dtype as its elements are scanned.
pub(super) trait Lane {
    /// The bytes of an element.
    type Raw: Copy + PartialEq;
    /// The bits of an element as a signed integer.
    type Bits: Copy + Ord;
    /// The float in which elements are judged.
    type Wide: Wide;
    /// The smallest and the largest of `Bits`.
    const LEAST: Self::Bits;
    const MOST: Self::Bits;
    /// The bits of Inf.
    const INFINITY: Self::Bits;
    /// [`Lane::order`] of -Inf.
    const NEGATIVE_INFINITY: Self::Bits;

    fn bits(raw: Self::Raw) -> Self::Bits;
    /// The bits without the sign.
    fn magnitude(raw: Self::Raw) -> Self::Bits;
    /// Ordered as the floats are (-0 before +0), and its own inverse.
    fn order(bits: Self::Bits) -> Self::Bits;
    /// The value, right for finite elements only.
    fn widen(bits: Self::Bits) -> Self::Wide;
    /// The elements of whole `bytes`.
    fn elements(bytes: &[u8]) -> &[Self::Raw];
}

/// The float types in which elements are judged.
pub(super) trait Wide:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The bits, signed: ordered as the floats are for those that are not negative.
    type Bits: Copy + Ord;
    const ZERO: Self;
    const INFINITY: Self;
    fn abs(self) -> Self;
    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    fn tolerance(value: f64) -> Self;
    fn double(self) -> f64;
}

macro_rules! wide {
    ($float:ty, $bits:ty, $unsigned:ty, $tolerance:expr) => {
        impl Wide for $float {
            type Bits = $bits;
            const ZERO: Self = 0.0;
            const INFINITY: Self = <$float>::INFINITY;
            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits() as $bits
            }
            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                <$float>::from_bits(bits as $unsigned)
            }
            fn tolerance(value: f64) -> Self {
                $tolerance(value)
            }
            fn double(self) -> f64 {
                self.into()
            }
        }
    };
}

wide!(f32, i32, u32, super::element::single);
wide!(f64, i64, u64, std::convert::identity);

macro_rules! lane {
    ($name:ident, $dtype:literal, $size:literal, $bits:ty, $wide:ty, $infinity:literal, $widen:expr) => {
        #[doc = concat!("`", $dtype, "`.")]
        pub(super) struct $name;

        impl Lane for $name {
            type Raw = [u8; $size];
            type Bits = $bits;
            type Wide = $wide;
            const LEAST: $bits = <$bits>::MIN;
            const MOST: $bits = <$bits>::MAX;
            const INFINITY: $bits = $infinity;
            const NEGATIVE_INFINITY: $bits = !$infinity;
            #[inline(always)]
            fn bits(raw: Self::Raw) -> $bits {
                <$bits>::from_le_bytes(raw)
            }
            #[inline(always)]
            fn magnitude(raw: Self::Raw) -> $bits {
                Self::bits(raw) & <$bits>::MAX
            }
            #[inline(always)]
            fn order(bits: $bits) -> $bits {
                bits ^ ((bits >> (<$bits>::BITS - 1)) & <$bits>::MAX)
            }
            #[inline(always)]
            fn widen(bits: $bits) -> $wide {
                $widen(bits)
            }
            fn elements(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }
        }
    };
}

lane!(F64, "float64", 8, i64, f64, 0x7ff0_0000_0000_0000, |bits| f64::from_bits(bits as u64));
lane!(F32, "float32", 4, i32, f32, 0x7f80_0000, |bits| f32::from_bits(bits as u32));
lane!(BF16, "bfloat16", 2, i16, f32, 0x7f80, |bits| f32::from_bits((bits as u16 as u32) << 16));
lane!(F16, "float16", 2, i16, f32, 0x7c00, widen_half);

/// Exact for finite elements, subnormal ones included: exponent and mantissa take their places in an f32, whose exponent
/// is then too small by the difference of the biases, 127 - 15.
#[inline(always)]
fn widen_half(bits: i16) -> f32 {
    const BIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    f32::from_bits((i32::from(bits) << 13) as u32 & 0x8fff_e000) * BIAS
}

/// A block of floats to be scanned; both sides have the same number of elements.
pub(super) struct FloatBlock<'a, L: Lane> {
    expected: &'a [L::Raw],
    actual: &'a [L::Raw],
    limits: &'a Limits,
}

impl<'a, L: Lane> FloatBlock<'a, L> {
    /// `expected` and `actual` are whole elements, fewer than 2^32.
    pub fn new(expected: &'a [u8], actual: &'a [u8], limits: &'a Limits) -> Self {
        Self { expected: L::elements(expected), actual: L::elements(actual), limits }
    }
}

impl<L: Lane> Scan for FloatBlock<'_, L> {
    /// `None` where an error exceeds the range of [`Lane::Wide`]: the block is then to be judged element by element.
    type Output = Option<Elements>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { expected, actual, limits } = self;
        let count = expected.len() as u64;
        let expected_side = side::<L>(expected);
        if expected == actual {
            let finite = count - expected_side.nan - expected_side.inf;
            let nonzero = expected_side.range.is_some_and(|range| range.min != 0.0 || range.max != 0.0);
            return Some(Elements {
                count,
                mismatches: if limits.bitwise || limits.equal_nan { 0 } else { expected_side.nan },
                first_mismatch: None,
                max_abs_error: (finite > 0).then_some(0.0),
                max_rel_error: nonzero.then_some(0.0),
                expected: expected_side,
                actual: expected_side,
            });
        }
        let actual_side = side::<L>(actual);
        let special = [expected_side, actual_side].iter().any(|side| side.nan + side.inf > 0);
        let errors = if special {
            errors::<L, true>(expected, actual, limits)
        } else {
            errors::<L, false>(expected, actual, limits)
        };
        if errors.max_abs == L::Wide::INFINITY || errors.max_rel == L::Wide::INFINITY {
            return None;
        }
        let mismatches = if limits.bitwise { differing::<L>(expected, actual) } else { errors.mismatches };
        Some(Elements {
            count,
            mismatches: mismatches.into(),
            first_mismatch: None,
            max_abs_error: (errors.finite > 0).then(|| errors.max_abs.double()),
            max_rel_error: (errors.nonzero > 0).then(|| errors.max_rel.double()),
            expected: expected_side,
            actual: actual_side,
        })
    }
}

/// The elements whose bits differ.
#[inline(always)]
fn differing<L: Lane>(expected: &[L::Raw], actual: &[L::Raw]) -> u32 {
    expected.iter().zip(actual).map(|(&e, &a)| u32::from(L::bits(e) != L::bits(a))).sum()
}

/// The figures of one side.
#[inline(always)]
fn side<L: Lane>(elements: &[L::Raw]) -> Side {
    let (mut least, mut most) = (L::MOST, L::LEAST);
    for &raw in elements {
        let order = L::order(L::bits(raw));
        least = least.min(order);
        most = most.max(order);
    }
    if L::NEGATIVE_INFINITY < least && most < L::INFINITY {
        return Side { nan: 0, inf: 0, range: range::<L>(least, most) };
    }
    let (mut least, mut most, mut nan, mut inf) = (L::MOST, L::LEAST, 0u32, 0u32);
    for &raw in elements {
        let order = L::order(L::bits(raw));
        let magnitude = L::magnitude(raw);
        nan += u32::from(magnitude > L::INFINITY);
        inf += u32::from(magnitude == L::INFINITY);
        let finite = magnitude < L::INFINITY;
        least = least.min(if finite { order } else { L::MOST });
        most = most.max(if finite { order } else { L::LEAST });
    }
    Side { nan: nan.into(), inf: inf.into(), range: range::<L>(least, most) }
}

/// The range between two finite elements given by [`Lane::order`]; `None` where there was none.
fn range<L: Lane>(least: L::Bits, most: L::Bits) -> Option<Range> {
    // Adding zero turns -0 into 0.
    let value = |order| L::widen(L::order(order)).double() + 0.0;
    (least <= most).then(|| Range { min: value(least), max: value(most) })
}

/// What [`errors`] finds. The maxima are 0 where there is no pair of their kind.
struct Errors<W> {
    mismatches: u32,
    /// Pairs of finite elements.
    finite: u32,
    /// Those of them with expected != 0.
    nonzero: u32,
    max_abs: W,
    max_rel: W,
}

/// The errors of `actual`. Without `SPECIAL`, all elements are finite.
#[inline(always)]
fn errors<L: Lane, const SPECIAL: bool>(expected: &[L::Raw], actual: &[L::Raw], limits: &Limits) -> Errors<L::Wide> {
    let rtol = L::Wide::tolerance(limits.rtol);
    let atol = L::Wide::tolerance(limits.atol);
    let zero = L::Wide::ZERO.bits();
    let (mut mismatches, mut finite_pairs, mut nonzero, mut max_abs, mut max_rel) = (0u32, 0u32, 0u32, zero, zero);
    for (&raw_expected, &raw_actual) in expected.iter().zip(actual) {
        let finite = !SPECIAL | ((L::magnitude(raw_expected) < L::INFINITY) & (L::magnitude(raw_actual) < L::INFINITY));
        // A pair that is not finite counts as (0, 0) in the errors.
        let value = |raw| if finite { L::widen(L::bits(raw)) } else { L::Wide::ZERO };
        let expected = value(raw_expected);
        let error = (value(raw_actual) - expected).abs();
        let magnitude = expected.abs();
        let close = error <= atol + rtol * magnitude;
        let is_zero = magnitude == L::Wide::ZERO;
        if SPECIAL {
            let nan = (L::magnitude(raw_expected) > L::INFINITY) & (L::magnitude(raw_actual) > L::INFINITY);
            let same_infinity =
                (L::bits(raw_expected) == L::bits(raw_actual)) & (L::magnitude(raw_expected) == L::INFINITY);
            let matches = (finite & close) | (nan & limits.equal_nan) | same_infinity;
            mismatches += u32::from(!matches);
            finite_pairs += u32::from(finite);
        } else {
            mismatches += u32::from(!close);
        }
        nonzero += u32::from(!is_zero);
        max_abs = max_abs.max(error.bits());
        max_rel = max_rel.max((error / if is_zero { L::Wide::INFINITY } else { magnitude }).bits());
    }
    Errors {
        mismatches,
        finite: if SPECIAL { finite_pairs } else { expected.len() as u32 },
        nonzero,
        max_abs: L::Wide::from_bits(max_abs),
        max_rel: L::Wide::from_bits(max_rel),
    }
}
