//! Scans of blocks of floats: full statistics of both sides and of their differences, in one loop.
//!
//! The first loop that a block takes does not test elements for Inf and NaN: if there is one, the ranges show it at
//! their ends, and the block is scanned again, from the L1 cache, by a loop that does. Blocks of equal bytes have no
//! errors to compute.

use std::ops::{Add, Div, Mul, Sub};

use super::outcome::{Elements, Range, Side};
use super::rule::Limits;
use super::simd::Scan;

/// A float dtype, as the scans see its elements.
pub(super) trait Lane {
    /// The bits of an element.
    type Raw: Copy + PartialEq;
    /// The float in which elements are judged.
    type Wide: Wide;
    /// The smallest magnitude that [`Lane::widen`] gives for an element that is not finite.
    const NOT_FINITE: Self::Wide;

    /// The value of an element, right for finite ones only.
    fn widen(raw: Self::Raw) -> Self::Wide;
    /// The value of any element; NaNs with distinct bits stay distinct.
    fn widen_any(raw: Self::Raw) -> Self::Wide;
    /// The elements in `bytes`, which holds whole elements only.
    fn elements(bytes: &[u8]) -> &[Self::Raw];
}

/// The float types in which elements are judged.
pub(super) trait Wide:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The bits as a signed integer, which orders floats that are not negative as their values.
    type Bits: Copy + Ord;
    /// The bits as an unsigned integer, which orders negative floats by magnitude, above all others.
    type Unsigned: Copy + Ord;
    const ZERO: Self;
    const INFINITY: Self;
    /// The smallest and the largest of `Bits`.
    const LEAST: Self::Bits;
    const MOST: Self::Bits;
    fn abs(self) -> Self;
    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    fn unsigned(bits: Self::Bits) -> Self::Unsigned;
    fn from_unsigned(bits: Self::Unsigned) -> Self;
    /// `bits` if `condition` holds, else `other`.
    fn select(condition: bool, bits: Self::Bits, other: Self::Bits) -> Self::Bits;
    /// A tolerance in this type.
    fn tolerance(value: f64) -> Self;
    fn double(self) -> f64;
    fn is_nan(self) -> bool;
}

macro_rules! wide {
    ($float:ty, $bits:ty, $unsigned:ty, $tolerance:expr) => {
        impl Wide for $float {
            type Bits = $bits;
            type Unsigned = $unsigned;
            const ZERO: Self = 0.0;
            const INFINITY: Self = <$float>::INFINITY;
            const LEAST: $bits = <$bits>::MIN;
            const MOST: $bits = <$bits>::MAX;
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
            #[inline(always)]
            fn unsigned(bits: $bits) -> $unsigned {
                bits as $unsigned
            }
            #[inline(always)]
            fn from_unsigned(bits: $unsigned) -> Self {
                <$float>::from_bits(bits)
            }
            #[inline(always)]
            fn select(condition: bool, bits: $bits, other: $bits) -> $bits {
                // With `if`, LLVM no longer recognizes the minimum that a loop computes, and does not vectorize it.
                let mask = -<$bits>::from(condition);
                bits & mask | other & !mask
            }
            #[inline(always)]
            fn tolerance(value: f64) -> Self {
                $tolerance(value)
            }
            #[inline(always)]
            fn double(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    };
}

wide!(f32, i32, u32, super::element::single);
wide!(f64, i64, u64, std::convert::identity);

macro_rules! lane {
    ($name:ident, $dtype:literal, $size:literal, $wide:ty, $limit:expr, $widen:expr, $widen_any:expr) => {
        #[doc = concat!("`", $dtype, "`.")]
        pub(super) struct $name;

        impl Lane for $name {
            type Raw = [u8; $size];
            type Wide = $wide;
            const NOT_FINITE: $wide = $limit;
            #[inline(always)]
            fn widen(raw: Self::Raw) -> $wide {
                $widen(raw)
            }
            #[inline(always)]
            fn widen_any(raw: Self::Raw) -> $wide {
                $widen_any(raw)
            }
            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }
        }
    };
}

lane!(F64, "float64", 8, f64, f64::INFINITY, f64::from_le_bytes, f64::from_le_bytes);
lane!(F32, "float32", 4, f32, f32::INFINITY, f32::from_le_bytes, f32::from_le_bytes);
lane!(BF16, "bfloat16", 2, f32, f32::INFINITY, widen_bfloat, widen_bfloat);
lane!(F16, "float16", 2, f32, 65536.0, widen_half, widen_any_half);

#[inline(always)]
fn widen_bfloat(raw: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(raw)) << 16)
}

/// Widens a 16-bit float exactly if it is finite, subnormal numbers included: exponent and mantissa take their places
/// in an f32, whose exponent is then too small by the difference of the biases, 127 - 15. Inf and NaN become numbers
/// from 65536 on.
#[inline(always)]
fn widen_half(raw: [u8; 2]) -> f32 {
    const BIAS: f32 = f32::from_bits((127 + 127 - 15) << 23);
    f32::from_bits((i32::from(i16::from_le_bytes(raw)) << 13) as u32 & 0x8fff_e000) * BIAS
}

/// Widens a 16-bit float as [`widen_half`] does, with the exponent of Inf and NaN corrected.
#[inline(always)]
fn widen_any_half(raw: [u8; 2]) -> f32 {
    let x = widen_half(raw);
    f32::from_bits(x.to_bits() | if x.abs() >= F16::NOT_FINITE { f32::INFINITY.to_bits() } else { 0 })
}

/// A block of floats to be scanned; both sides have the same number of elements.
pub(super) struct FloatBlock<'a, L: Lane> {
    expected: &'a [L::Raw],
    actual: &'a [L::Raw],
    limits: &'a Limits,
}

impl<'a, L: Lane> FloatBlock<'a, L> {
    /// A block of `expected` and `actual`, which are whole elements, fewer than 2^32.
    pub fn new(expected: &'a [u8], actual: &'a [u8], limits: &'a Limits) -> Self {
        Self { expected: L::elements(expected), actual: L::elements(actual), limits }
    }
}

impl<L: Lane> Scan for FloatBlock<'_, L> {
    /// `None` if an error exceeds the range of [`Lane::Wide`]: the block must then be judged element by element.
    type Output = Option<Elements>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { expected, actual, limits } = self;
        let count = expected.len() as u64;
        if expected == actual {
            let side = span::<L>(expected).side();
            let finite = count - side.nan - side.inf;
            return Some(Elements {
                count,
                mismatches: if limits.bitwise || limits.equal_nan { 0 } else { side.nan },
                first_mismatch: None,
                max_abs_error: (finite > 0).then_some(0.0),
                max_rel_error: any_nonzero(&side).then_some(0.0),
                expected: side,
                actual: side,
            });
        }
        let mut found = differences::<L, false>(expected, actual, limits);
        if !(found.expected.within(L::NOT_FINITE) && found.actual.within(L::NOT_FINITE)) {
            found = differences::<L, true>(expected, actual, limits);
        }
        if found.max_abs == L::Wide::INFINITY || found.max_rel == L::Wide::INFINITY {
            return None;
        }
        let mismatches = if limits.bitwise { differing::<L>(expected, actual) } else { found.mismatches };
        Some(Elements {
            count,
            mismatches: mismatches.into(),
            first_mismatch: None,
            max_abs_error: (found.finite > 0).then(|| found.max_abs.double()),
            max_rel_error: (found.nonzero > 0).then(|| found.max_rel.double()),
            expected: found.expected.side(),
            actual: found.actual.side(),
        })
    }
}

/// Whether the side has a finite element that is not zero.
fn any_nonzero(side: &Side) -> bool {
    side.range.is_some_and(|range| range.min != 0.0 || range.max != 0.0)
}

/// The number of elements whose bits differ.
#[inline(always)]
fn differing<L: Lane>(expected: &[L::Raw], actual: &[L::Raw]) -> u32 {
    let bits = |raw| L::widen_any(raw).bits();
    expected.iter().zip(actual).map(|(&e, &a)| u32::from(bits(e) != bits(a))).sum()
}

/// The figures of one side.
///
/// Three maxima of integers give the range of floats of both signs. Bits of one sign are ordered by magnitude; as
/// signed integers, floats that are not negative are above the negative ones, and as unsigned integers below them.
struct Span<W: Wide> {
    /// The smallest bits: the element nearest to zero if all have one sign. [`Wide::MOST`], a NaN, for no elements.
    least: W::Bits,
    /// The largest bits: the largest element that is not negative, if there is one.
    most: W::Bits,
    /// The largest unsigned bits: the smallest element, if there is a negative one.
    outermost: W::Unsigned,
    nan: u32,
    inf: u32,
}

impl<W: Wide> Span<W> {
    #[inline(always)]
    fn empty() -> Self {
        Self { least: W::MOST, most: W::LEAST, outermost: W::unsigned(W::ZERO.bits()), nan: 0, inf: 0 }
    }

    /// Adds an element; without `SPECIAL`, every element is assumed to be finite.
    #[inline(always)]
    fn add<const SPECIAL: bool>(&mut self, x: W) {
        let bits = x.bits();
        if SPECIAL {
            let magnitude = x.abs();
            let finite = magnitude < W::INFINITY;
            self.nan += u32::from(magnitude.is_nan());
            self.inf += u32::from(magnitude == W::INFINITY);
            self.least = self.least.min(W::select(finite, bits, W::MOST));
            self.most = self.most.max(W::select(finite, bits, W::LEAST));
            self.outermost = self.outermost.max(W::unsigned(W::select(finite, bits, W::ZERO.bits())));
        } else {
            self.least = self.least.min(bits);
            self.most = self.most.max(bits);
            self.outermost = self.outermost.max(W::unsigned(bits));
        }
    }

    /// The smallest and the largest element.
    #[inline(always)]
    fn ends(&self) -> Option<(W, W)> {
        let zero = W::ZERO.bits();
        let nearest = W::from_bits(self.least);
        let outermost = W::from_unsigned(self.outermost);
        let min = if outermost.bits() < zero { outermost } else { nearest };
        let max = if self.most >= zero { W::from_bits(self.most) } else { nearest };
        (self.least != W::MOST).then_some((min, max))
    }

    /// Whether there are elements and all of them have a magnitude below `limit`.
    #[inline(always)]
    fn within(&self, limit: W) -> bool {
        self.ends().is_some_and(|(min, max)| min.abs() < limit && max.abs() < limit)
    }

    #[inline(always)]
    fn side(&self) -> Side {
        // Adding zero turns -0 into 0.
        let range = self.ends().map(|(min, max)| Range { min: min.double() + 0.0, max: max.double() + 0.0 });
        Side { nan: self.nan.into(), inf: self.inf.into(), range }
    }
}

/// The figures of one side alone.
#[inline(always)]
fn span<L: Lane>(elements: &[L::Raw]) -> Span<L::Wide> {
    let mut span = Span::empty();
    for &raw in elements {
        span.add::<false>(L::widen(raw));
    }
    if !span.within(L::NOT_FINITE) {
        span = Span::empty();
        for &raw in elements {
            span.add::<true>(L::widen_any(raw));
        }
    }
    span
}

/// The result of [`differences`]. A maximum is 0 if there is no pair of its kind.
struct Differences<W: Wide> {
    mismatches: u32,
    /// Pairs of finite elements.
    finite: u32,
    /// Pairs of finite elements with expected != 0.
    nonzero: u32,
    max_abs: W,
    max_rel: W,
    expected: Span<W>,
    actual: Span<W>,
}

/// The figures of both sides and of their differences; without `SPECIAL`, every element is assumed to be finite.
#[inline(always)]
fn differences<L: Lane, const SPECIAL: bool>(
    expected: &[L::Raw],
    actual: &[L::Raw],
    limits: &Limits,
) -> Differences<L::Wide> {
    let rtol = L::Wide::tolerance(limits.rtol);
    let atol = L::Wide::tolerance(limits.atol);
    let zero = L::Wide::ZERO.bits();
    let widen = |raw| if SPECIAL { L::widen_any(raw) } else { L::widen(raw) };
    let (mut expected_span, mut actual_span) = (Span::empty(), Span::empty());
    let (mut mismatches, mut finite_pairs, mut nonzero, mut max_abs, mut max_rel) = (0u32, 0u32, 0u32, zero, zero);
    for (&expected, &actual) in expected.iter().zip(actual) {
        let (expected, actual) = (widen(expected), widen(actual));
        let magnitude = expected.abs();
        let mut error = (actual - expected).abs();
        let close = error <= atol + rtol * magnitude;
        if SPECIAL {
            let finite = (magnitude < L::Wide::INFINITY) & (actual.abs() < L::Wide::INFINITY);
            let nan = expected.is_nan() & actual.is_nan() & limits.equal_nan;
            mismatches += u32::from(!((close & finite) | (expected == actual) | nan));
            finite_pairs += u32::from(finite);
            nonzero += u32::from(finite & (magnitude > L::Wide::ZERO));
            error = L::Wide::from_bits(L::Wide::select(finite, error.bits(), zero));
        } else {
            mismatches += u32::from(!close);
        }
        max_abs = max_abs.max(error.bits());
        let divisor = if magnitude > L::Wide::ZERO { magnitude } else { L::Wide::INFINITY };
        max_rel = max_rel.max((error / divisor).bits());
        expected_span.add::<SPECIAL>(expected);
        actual_span.add::<SPECIAL>(actual);
    }
    if !SPECIAL {
        finite_pairs = expected.len() as u32;
        nonzero = u32::from(any_nonzero(&expected_span.side()));
    }
    Differences {
        mismatches,
        finite: finite_pairs,
        nonzero,
        max_abs: L::Wide::from_bits(max_abs),
        max_rel: L::Wide::from_bits(max_rel),
        expected: expected_span,
        actual: actual_span,
    }
}
