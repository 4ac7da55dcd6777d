//! Scans of blocks of integers.

use super::outcome::{Elements, Range, Side};
use super::rule::Limits;
use super::simd::Scan;

/// An integer dtype, as the scans see its elements.
pub(super) trait Integer: Copy + Ord {
    /// The bytes of an element.
    type Raw: Copy + PartialEq;
    /// The type of |self - other| and |self|, exact.
    type Magnitude: Copy + Ord;
    const ZERO: Self;
    const NONE: Self::Magnitude;

    fn value(raw: Self::Raw) -> Self;
    fn distance(self, other: Self) -> Self::Magnitude;
    fn magnitude(self) -> Self::Magnitude;
    /// The magnitude, rounded to the nearest f64.
    fn double(magnitude: Self::Magnitude) -> f64;
    /// The value, rounded to the nearest f64.
    fn to_f64(self) -> f64;
    /// The elements in `bytes`, which holds whole elements only.
    fn elements(bytes: &[u8]) -> &[Self::Raw];
}

macro_rules! integer {
    ($($integer:ty, $size:literal, $unsigned:ty;)*) => {
        $(impl Integer for $integer {
            type Raw = [u8; $size];
            type Magnitude = $unsigned;
            const ZERO: Self = 0;
            const NONE: $unsigned = 0;
            #[inline(always)]
            fn value(raw: Self::Raw) -> Self {
                Self::from_le_bytes(raw)
            }
            #[inline(always)]
            fn distance(self, other: Self) -> $unsigned {
                self.abs_diff(other)
            }
            #[inline(always)]
            fn magnitude(self) -> $unsigned {
                self.abs_diff(0)
            }
            #[inline(always)]
            fn double(magnitude: $unsigned) -> f64 {
                magnitude as f64
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn elements(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }
        })*
    };
}

integer! {
    i8, 1, u8;
    i16, 2, u16;
    i32, 4, u32;
    i64, 8, u64;
    u8, 1, u8;
    u16, 2, u16;
    u32, 4, u32;
    u64, 8, u64;
}

/// A block of integers to be scanned; both sides have the same number of elements.
pub(super) struct IntegerBlock<'a, I: Integer> {
    expected: &'a [I::Raw],
    actual: &'a [I::Raw],
    limits: &'a Limits,
}

impl<'a, I: Integer> IntegerBlock<'a, I> {
    /// A block of `expected` and `actual`, which are whole elements, fewer than 2^32.
    pub fn new(expected: &'a [u8], actual: &'a [u8], limits: &'a Limits) -> Self {
        Self { expected: I::elements(expected), actual: I::elements(actual), limits }
    }
}

impl<I: Integer> Scan for IntegerBlock<'_, I> {
    type Output = Elements;

    #[inline(always)]
    fn run(self) -> Elements {
        let Self { expected, actual, limits } = self;
        let expected_side = side::<I>(expected);
        let nonzero = expected_side.range.is_some_and(|range| range.min != 0.0 || range.max != 0.0);
        let equal = expected == actual;
        let (mismatches, max_abs, max_rel) =
            if equal { (0, I::NONE, 0.0) } else { errors::<I>(expected, actual, limits) };
        Elements {
            count: expected.len() as u64,
            mismatches: mismatches.into(),
            first_mismatch: None,
            max_abs_error: (!expected.is_empty()).then(|| I::double(max_abs)),
            max_rel_error: nonzero.then_some(max_rel),
            expected: expected_side,
            actual: if equal { expected_side } else { side::<I>(actual) },
        }
    }
}

/// The range of one side.
#[inline(always)]
fn side<I: Integer>(elements: &[I::Raw]) -> Side {
    let Some(&first) = elements.first() else { return Side::default() };
    let (mut least, mut most) = (I::value(first), I::value(first));
    for &raw in elements {
        least = least.min(I::value(raw));
        most = most.max(I::value(raw));
    }
    Side { nan: 0, inf: 0, range: Some(Range { min: least.to_f64(), max: most.to_f64() }) }
}

/// The number of mismatches, the largest absolute and the largest relative error.
#[inline(always)]
fn errors<I: Integer>(expected: &[I::Raw], actual: &[I::Raw], limits: &Limits) -> (u32, I::Magnitude, f64) {
    // Bitwise equality is equality of values for integers, which a tolerance of 0 expresses.
    let (rtol, atol) = (limits.rtol, limits.atol);
    let (mut mismatches, mut max_abs, mut max_rel) = (0u32, I::NONE, 0i64);
    for (&expected, &actual) in expected.iter().zip(actual) {
        let (expected, actual) = (I::value(expected), I::value(actual));
        let distance = actual.distance(expected);
        let magnitude = I::double(expected.magnitude());
        mismatches += u32::from(I::double(distance) > atol + rtol * magnitude);
        max_abs = max_abs.max(distance);
        let divisor = if expected == I::ZERO { f64::INFINITY } else { magnitude };
        // Floats that are not negative are ordered as their bits are.
        max_rel = max_rel.max((I::double(distance) / divisor).to_bits() as i64);
    }
    (mismatches, max_abs, f64::from_bits(max_rel as u64))
}
