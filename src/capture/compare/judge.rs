//! The judge of blocks of elements, of any dtype.

use super::element::{Element, values_per_element};
use super::float::{BF16, F16, F32, F64, FloatBlock, Lane};
use super::integer::{Integer, IntegerBlock};
use super::minifloat;
use super::outcome::{Elements, Range, Side};
use super::rule::Limits;
use super::simd;
use crate::Dtype;

/// The bytes of one side of a block: a multiple of every dtype's size, and small enough for two blocks to fit in the L1
/// cache, both widened to f32 if they are 8-bit floats.
pub(super) const BLOCK: usize = 8 << 10;

/// 8-bit floats are widened in runs of this many values.
const WIDENED: usize = BLOCK / size_of::<f32>();

/// Judges elements of one dtype.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judge {
    pub dtype: Dtype,
    pub limits: Limits,
}

impl Judge {
    /// The figures of a block, without the first mismatch. Both sides are the same number of whole elements, at most
    /// [`BLOCK`] bytes.
    pub fn block(&self, expected: &[u8], actual: &[u8]) -> Elements {
        match self.dtype {
            Dtype::F64 => self.floats::<F64>(expected, actual),
            Dtype::F32 => self.floats::<F32>(expected, actual),
            Dtype::F16 => self.floats::<F16>(expected, actual),
            Dtype::BF16 => self.floats::<BF16>(expected, actual),
            Dtype::I64 => self.integers::<i64>(expected, actual),
            Dtype::I32 => self.integers::<i32>(expected, actual),
            Dtype::I16 => self.integers::<i16>(expected, actual),
            Dtype::I8 => self.integers::<i8>(expected, actual),
            Dtype::U64 => self.integers::<u64>(expected, actual),
            Dtype::U32 => self.integers::<u32>(expected, actual),
            Dtype::U16 => self.integers::<u16>(expected, actual),
            Dtype::U8 => self.integers::<u8>(expected, actual),
            Dtype::Bool => self.bools(expected, actual),
            Dtype::F4E2M1FNX2 => self.widened(expected, actual, |byte| {
                [minifloat::E2M1FN[usize::from(byte & 0xf)], minifloat::E2M1FN[usize::from(byte >> 4)]]
            }),
            other => match minifloat::table(other) {
                Some(table) => self.widened(expected, actual, |byte| [table[usize::from(byte)]]),
                None if other.is_complex() => self.one_by_one(expected, actual),
                None => self.bits(expected, actual),
            },
        }
    }

    /// The first value of a block that does not match.
    pub fn first_mismatch(&self, expected: &[u8], actual: &[u8]) -> Option<usize> {
        self.pairs(expected, actual).position(|(expected, actual)| !actual.matches(&expected, &self.limits))
    }

    fn pairs<'a>(&self, expected: &'a [u8], actual: &'a [u8]) -> impl Iterator<Item = (Element, Element)> + use<'a> {
        let dtype = self.dtype;
        let values = expected.len() / dtype.size() as usize * values_per_element(dtype) as usize;
        (0..values).map(move |i| (Element::at(dtype, expected, i), Element::at(dtype, actual, i)))
    }

    fn floats<L: Lane>(&self, expected: &[u8], actual: &[u8]) -> Elements {
        simd::run(FloatBlock::<L>::new(expected, actual, &self.limits))
            .unwrap_or_else(|| self.one_by_one(expected, actual))
    }

    fn integers<I: Integer>(&self, expected: &[u8], actual: &[u8]) -> Elements {
        simd::run(IntegerBlock::<I>::new(expected, actual, &self.limits))
    }

    /// Truth values are scanned as integers 0 and 1; the bytes matter only if the rule is bitwise.
    fn bools(&self, expected: &[u8], actual: &[u8]) -> Elements {
        let truth = |bytes: &[u8]| {
            let mut truth = [0; BLOCK];
            truth.iter_mut().zip(bytes).for_each(|(truth, &byte)| *truth = u8::from(byte != 0));
            truth
        };
        let count = expected.len();
        let mut elements = self.integers::<u8>(&truth(expected)[..count], &truth(actual)[..count]);
        if self.limits.bitwise {
            elements.mismatches = differing(expected, actual);
        }
        elements
    }

    /// Small floats are scanned as f32, to which `values` widens a byte; distinct codes have distinct bits there.
    fn widened<const N: usize>(&self, expected: &[u8], actual: &[u8], values: impl Fn(u8) -> [f32; N]) -> Elements {
        let widen = |bytes: &[u8]| {
            let mut wide = [[0; 4]; WIDENED];
            for (wide, &byte) in wide.chunks_exact_mut(N).zip(bytes) {
                wide.copy_from_slice(&values(byte).map(f32::to_le_bytes));
            }
            wide
        };
        let mut elements = Elements::default();
        for (expected, actual) in expected.chunks(WIDENED / N).zip(actual.chunks(WIDENED / N)) {
            let bytes = expected.len() * N * size_of::<f32>();
            let (expected, actual) = (widen(expected), widen(actual));
            let judge = Self { dtype: Dtype::F32, limits: self.limits };
            elements.merge(&judge.floats::<F32>(&expected.as_flattened()[..bytes], &actual.as_flattened()[..bytes]));
        }
        elements
    }

    /// Judges every element on its own: complex numbers, and floats whose errors leave their arithmetic's range.
    fn one_by_one(&self, expected: &[u8], actual: &[u8]) -> Elements {
        let mut elements = Elements::default();
        for (expected, actual) in self.pairs(expected, actual) {
            let (e, a) = (expected.real(), actual.real());
            elements.count += 1;
            elements.mismatches += u64::from(!actual.matches(&expected, &self.limits));
            elements.expected.add(e);
            elements.actual.add(a);
            if e.is_finite() && a.is_finite() {
                let error = actual.distance(&expected);
                let relative = (e != 0.0).then(|| (error / e.abs()).min(f64::MAX));
                elements.max_abs_error = larger(elements.max_abs_error, Some(error));
                elements.max_rel_error = larger(elements.max_rel_error, relative);
            }
        }
        elements
    }

    /// Judges opaque bits: equal or not.
    fn bits(&self, expected: &[u8], actual: &[u8]) -> Elements {
        let size = self.dtype.size() as usize;
        let pairs = expected.chunks_exact(size).zip(actual.chunks_exact(size));
        let count = (expected.len() / size) as u64;
        Elements { count, mismatches: pairs.map(|(e, a)| u64::from(e != a)).sum(), ..Elements::default() }
    }
}

/// The number of bytes that differ.
fn differing(expected: &[u8], actual: &[u8]) -> u64 {
    expected.iter().zip(actual).map(|(e, a)| u64::from(e != a)).sum()
}

impl Elements {
    /// Adds the figures of the elements that follow these.
    pub(super) fn merge(&mut self, next: &Self) {
        self.count += next.count;
        self.mismatches += next.mismatches;
        self.max_abs_error = larger(self.max_abs_error, next.max_abs_error);
        self.max_rel_error = larger(self.max_rel_error, next.max_rel_error);
        self.expected.merge(&next.expected);
        self.actual.merge(&next.actual);
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

impl Side {
    /// Adds an element.
    fn add(&mut self, x: f64) {
        if x.is_nan() {
            self.nan += 1;
        } else if x.is_infinite() {
            self.inf += 1;
        } else {
            // Adding zero turns -0 into 0.
            self.merge(&Self { nan: 0, inf: 0, range: Some(Range { min: x + 0.0, max: x + 0.0 }) });
        }
    }

    fn merge(&mut self, next: &Self) {
        self.nan += next.nan;
        self.inf += next.inf;
        self.range = match (self.range, next.range) {
            (Some(a), Some(b)) => Some(Range { min: a.min.min(b.min), max: a.max.max(b.max) }),
            (a, b) => a.or(b),
        };
    }
}
