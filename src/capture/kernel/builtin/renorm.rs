//! [`Renorm`]: rows of a weight renormalised as `torch.embedding_renorm_` does on the CPU.
//!
//! If the `norm_type`-norm of a row exceeds `max_norm`, the row is multiplied by `max_norm / (norm + 1e-7)`
//! (ATen/native/Embedding.cpp). The last bit of the result depends on the order in which PyTorch sums, so the same
//! order is used here (ATen/native/cpu/ReduceOpsKernel.cpp): float32 and smaller types are summed in float32, float64
//! in float64; 2-norms of contiguous rows of float64, float32 and bfloat16 in the lanes of one 256-bit vector, which
//! are added at the end, the last few elements with fused multiply-adds as the compiler of its releases for x86-64 left
//! them; everything else one element after the other. The norm is rounded to the row's dtype before it is compared, and
//! the scale before the multiplication. Rows of 32768 elements and more are summed by PyTorch in parts, one per thread,
//! and can differ in the last bit.

use std::ops::{Add, Div, Mul};

use half::{bf16, f16};

use crate::kernel::KernelError;
use crate::{Dtype, Layout};

/// A small number that keeps the scale finite for a row of zeros.
const EPSILON: f64 = 1e-7;

/// A renormalisation of rows, for one dtype and one kind of row.
pub(super) struct Renorm {
    max_norm: f64,
    norm_type: f64,
    apply: fn(&Renorm, &mut [u8]),
    /// Whether the rows have no gaps in the weight.
    contiguous: bool,
}

impl Renorm {
    /// A renormalisation of the rows of `weight`.
    ///
    /// # Errors
    /// [`KernelError`] if PyTorch has no norm for the dtype, or rows share elements: PyTorch then renormalises one row
    /// after the other, and the result depends on the order.
    pub(super) fn new(
        max_norm: f64,
        norm_type: f64,
        weight: &Layout,
        kernel: &'static str,
    ) -> Result<Self, KernelError> {
        let apply = match weight.dtype {
            Dtype::F64 => apply::<f64>,
            Dtype::F32 => apply::<f32>,
            Dtype::F16 => apply::<f16>,
            Dtype::BF16 => apply::<bf16>,
            found => {
                let what = format!("max_norm for a weight of {found} (only of float64, float32, float16 or bfloat16)");
                return Err(KernelError::Unsupported { kernel, what });
            }
        };
        if rows_share_elements(weight) {
            let what = "max_norm for a weight whose rows share elements".to_owned();
            return Err(KernelError::Unsupported { kernel, what });
        }
        let contiguous = weight.strides[1] == 1 || weight.shape[1] == 1;
        Ok(Self { max_norm, norm_type, apply, contiguous })
    }

    /// Renormalises `row`, elements of the weight's dtype without gaps.
    pub(super) fn apply(&self, row: &mut [u8]) {
        (self.apply)(self, row);
    }
}

/// Whether an element may belong to two rows: the larger of the two strides is shorter than the span of the other.
fn rows_share_elements(weight: &Layout) -> bool {
    let ([rows, columns], [down, across]) = (&weight.shape[..], &weight.strides[..]) else { return true };
    if *rows <= 1 || *columns == 0 {
        return false;
    }
    let row_span = (columns - 1).saturating_mul(*across);
    let column_span = (rows - 1).saturating_mul(*down);
    *down <= row_span && (*down == 0 || *across <= column_span)
}

/// The type in which PyTorch sums the norm of a row, and scales it.
trait Sum: Copy + PartialOrd + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// How many values fill a vector of 256 bits.
    const LANES: usize;
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    fn from_f64(value: f64) -> Self;
    fn is_nan(self) -> bool;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn powf(self, exponent: Self) -> Self;
    fn mul_add(self, factor: Self, addend: Self) -> Self;
}

macro_rules! sum {
    ($float:ident, $lanes:literal) => {
        impl Sum for $float {
            const LANES: usize = $lanes;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = Self::INFINITY;
            fn from_f64(value: f64) -> Self {
                value as Self
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn powf(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
        }
    };
}

sum!(f32, 8);
sum!(f64, 4);

/// The type of a row's elements.
trait Element: Copy {
    type Sum: Sum;
    const SIZE: usize = size_of::<Self>();
    /// Whether PyTorch sums the squares of a contiguous row in the lanes of a vector.
    const IN_LANES: bool;
    fn read(bytes: &[u8]) -> Self;
    fn widen(self) -> Self::Sum;
    fn round(value: Self::Sum) -> Self;
    fn write(self, bytes: &mut [u8]);
    fn to_f64(self) -> f64;
}

macro_rules! element {
    ($element:ident, $sum:ident, $in_lanes:literal, $round:expr) => {
        impl Element for $element {
            type Sum = $sum;
            const IN_LANES: bool = $in_lanes;
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("a chunk of one element"))
            }
            fn widen(self) -> $sum {
                $sum::from(self)
            }
            fn round(value: $sum) -> Self {
                $round(value)
            }
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}

element!(f64, f64, true, std::convert::identity);
element!(f32, f32, true, std::convert::identity);
element!(f16, f32, false, f16::from_f32);
element!(bf16, f32, true, bf16::from_f32);

fn apply<E: Element>(renorm: &Renorm, row: &mut [u8]) {
    let norm = E::round(norm::<E>(row, renorm.norm_type, renorm.contiguous)).to_f64();
    if norm > renorm.max_norm {
        let scale = E::round(E::Sum::from_f64(renorm.max_norm / (norm + EPSILON))).widen();
        for element in row.chunks_exact_mut(E::SIZE) {
            E::round(E::read(element).widen() * scale).write(element);
        }
    }
}

/// The elements of a row, as they are summed.
fn elements<E: Element>(row: &[u8]) -> impl Iterator<Item = E::Sum> + Clone {
    row.chunks_exact(E::SIZE).map(|element| E::read(element).widen())
}

/// The `p`-norm of a row, before it is rounded to the row's dtype.
fn norm<E: Element>(row: &[u8], p: f64, contiguous: bool) -> E::Sum {
    let elements = elements::<E>(row);
    let magnitudes = elements.clone().map(Sum::abs);
    let (zero, one) = (E::Sum::ZERO, E::Sum::ONE);
    // A NaN is kept once it is met, as in PyTorch's maximum and minimum.
    let keep = |a: E::Sum, b: E::Sum, replace: bool| if !a.is_nan() && (b.is_nan() || replace) { b } else { a };
    if p == 2.0 {
        let squares = if contiguous && E::IN_LANES {
            squares_in_lanes::<E>(row)
        } else {
            elements.fold(zero, |sum, x| sum + x * x)
        };
        squares.sqrt()
    } else if p == 1.0 {
        magnitudes.fold(zero, |sum, x| sum + x)
    } else if p == 0.0 {
        magnitudes.fold(zero, |sum, x| if x == zero { sum } else { sum + one })
    } else if p == f64::INFINITY {
        magnitudes.fold(zero, |a, b| keep(a, b, b > a))
    } else if p == f64::NEG_INFINITY {
        magnitudes.fold(E::Sum::INFINITY, |a, b| keep(a, b, b < a))
    } else {
        let exponent = E::Sum::from_f64(p);
        magnitudes.fold(zero, |sum, x| sum + x.powf(exponent)).powf(one / exponent)
    }
}

/// The sum of squares in PyTorch's order for a contiguous row: whole vectors by lane, then the lanes, then the rest: by
/// fours with separate rounding of the squares, and the last three at most without it.
fn squares_in_lanes<E: Element>(row: &[u8]) -> E::Sum {
    let mut lanes = [E::Sum::ZERO; 8];
    let lanes = &mut lanes[..E::Sum::LANES];
    let vectors = row.chunks_exact(E::Sum::LANES * E::SIZE);
    let fours = vectors.remainder().chunks_exact(4 * E::SIZE);
    let last = elements::<E>(fours.remainder());
    for vector in vectors {
        for (lane, x) in lanes.iter_mut().zip(elements::<E>(vector)) {
            *lane = *lane + x * x;
        }
    }
    let sum = lanes.iter().fold(E::Sum::ZERO, |sum, &lane| sum + lane);
    let sum = fours.flat_map(elements::<E>).fold(sum, |sum, x| sum + x * x);
    last.fold(sum, |sum, x| x.mul_add(x, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &serde_json::Value) -> Vec<u8> {
        let hex = hex.as_str().unwrap();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    /// Rows 2, 0, 2, 1 of a recorded table of three rows, renormalised.
    fn renormalised(case: &serde_json::Value) -> Vec<u8> {
        let dtype: Dtype = case["dtype"].as_str().unwrap().parse().unwrap();
        let columns = case["columns"].as_u64().unwrap();
        let size = dtype.size() as usize;
        let mut layout = Layout::contiguous(dtype, &[3, columns]);
        if case["transposed"].as_bool().unwrap() {
            layout.strides = vec![1, 3];
        }
        let norm_type = case["norm_type"].as_str().unwrap().parse().unwrap();
        let renorm = Renorm::new(case["max_norm"].as_f64().unwrap(), norm_type, &layout, "test").unwrap();
        let table = bytes(&case["table"]);
        let mut output = Vec::new();
        for row in [2, 0, 2, 1] {
            let element = |c| ((row * layout.strides[0] + c * layout.strides[1]) as usize) * size;
            let mut gathered: Vec<u8> =
                (0..columns).flat_map(|c| table[element(c)..element(c) + size].iter().copied()).collect();
            renorm.apply(&mut gathered);
            output.extend(gathered);
        }
        output
    }

    /// Elements as text, for a message that shows the difference, and with all NaN alike: their bits are not defined.
    fn values(dtype: &str, bytes: &[u8]) -> Vec<String> {
        match dtype {
            "float64" => bytes.chunks(8).map(|b| format!("{:?}", f64::read(b))).collect(),
            "float32" => bytes.chunks(4).map(|b| format!("{:?}", f32::read(b))).collect(),
            "float16" => bytes.chunks(2).map(|b| format!("{:?}", f16::read(b))).collect(),
            _ => bytes.chunks(2).map(|b| format!("{:?}", bf16::read(b))).collect(),
        }
    }

    #[test]
    fn gives_the_bits_that_pytorch_gives() {
        let recorded = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/embedding_renorm.jsonl"));
        assert!(recorded.lines().count() > 100);
        for line in recorded.lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let dtype = case["dtype"].as_str().unwrap();
            let (ours, theirs) = (renormalised(&case), bytes(&case["output"]));
            assert_eq!(values(dtype, &ours), values(dtype, &theirs), "{dtype}, {}", &line[..120]);
        }
    }

    #[test]
    fn rows_that_share_elements_are_found() {
        for (shape, strides, shared) in [
            ([3, 4], [4, 1], false),
            ([3, 4], [1, 3], false),
            ([3, 4], [3, 1], true),
            ([3, 4], [0, 1], true),
            ([1, 4], [0, 1], false),
            ([3, 1], [1, 0], false),
            ([3, 4], [5, 0], false),
            ([3, 0], [0, 1], false),
        ] {
            let layout = Layout { strides: strides.to_vec(), ..Layout::contiguous(Dtype::F32, &shape) };
            assert_eq!(rows_share_elements(&layout), shared, "{shape:?} {strides:?}");
        }
    }
}
