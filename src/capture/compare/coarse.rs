//! The coarse outputs that a comparison would let pass: one value everywhere, and the right values in half precision.

use half::{bf16, f16};

use super::element::Element;
use super::judge::{BLOCK, Judge};
use super::rule::Comparison;
use super::tensor::Reader;
use crate::{Dtype, TensorView};

/// Which coarse outputs a comparison would let pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coarse {
    /// One value in every element; absent if there are fewer than two.
    pub constant: Option<bool>,
    /// Whether all elements are equal.
    pub equal: bool,
    /// The right output, rounded to `bfloat16` or to `float16`; absent if there are fewer than four elements, if rounding
    /// changes nothing, and if the rule's relative tolerance is wider than both: half precision is right by such a rule.
    pub half_precision: Option<bool>,
}

/// The largest relative error of rounding to `bfloat16`, which is coarser than `float16`.
const HALF: f64 = 1.0 / 256.0;
/// The fewest elements that show half precision: one may be a number of half precision by chance.
const FEWEST: u64 = 4;

/// Checks whether `rule` would accept a coarse output as `expected`, calling `progress` as
/// [`blindness_with`](super::blindness_with) does.
///
/// Reading ends with the first 8 KiB that distinguish all of them from `expected`: mostly the first.
pub fn coarse_with(
    expected: TensorView<'_>,
    rule: &Comparison,
    progress: &mut dyn FnMut(std::ops::Range<u64>),
) -> Coarse {
    let dtype = expected.dtype();
    let several = expected.numel() > 1;
    let judge = Judge { dtype, limits: rule.limits(dtype) };
    let told = expected.numel() >= FEWEST && (judge.limits.bitwise || judge.limits.rtol < HALF);
    let mut constant = Constant::new(judge);
    let mut halves =
        [Rounded::new(judge, |x| bf16::from_f64(x).to_f64()), Rounded::new(judge, |x| f16::from_f64(x).to_f64())];
    let mut expected = Reader::new(expected);
    while let Some((range, expected)) = expected.next_chunk() {
        for block in expected.chunks(BLOCK) {
            constant.add(block);
            halves.iter_mut().filter(|_| told).for_each(|half| half.add(block));
            let half = told && halves.iter().any(|half| half.passes);
            if !(half || constant.passes()) {
                let (constant, half_precision) = (several.then_some(false), told.then_some(false));
                return Coarse { constant, equal: false, half_precision };
            }
        }
        progress(range);
    }
    let changed = halves.iter().any(|half| half.changes);
    Coarse {
        constant: several.then(|| constant.passes()),
        equal: constant.equal,
        half_precision: (told && changed).then(|| halves.iter().any(|half| half.changes && half.passes)),
    }
}

/// Whether one value would match every element so far.
struct Constant {
    judge: Judge,
    /// The first element, as often as a block has room for.
    first: Vec<u8>,
    first_passes: bool,
    /// Whether every element is the first.
    equal: bool,
    /// The values that are near enough to every element.
    range: (f64, f64),
}

impl Constant {
    fn new(judge: Judge) -> Self {
        Self { judge, first: Vec::new(), first_passes: true, equal: true, range: (f64::NEG_INFINITY, f64::INFINITY) }
    }

    fn passes(&self) -> bool {
        self.first_passes || self.range.0 <= self.range.1
    }

    fn add(&mut self, block: &[u8]) {
        let Judge { dtype, limits } = self.judge;
        let size = dtype.size() as usize;
        if self.first.is_empty() {
            self.first = block[..size].repeat(BLOCK / size);
        }
        self.equal &= block == &self.first[..block.len()];
        self.first_passes &= self.judge.block(block, &self.first[..block.len()]).mismatches == 0;
        let (mut low, mut high) = self.range;
        if limits.bitwise || dtype.is_complex() || limits.rtol + limits.atol == 0.0 {
            // What is not the first is not all of them.
            (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        }
        for at in 0..block.len() / size {
            if low > high {
                break;
            }
            let value = Element::at(dtype, block, at).real();
            let reach = limits.atol + limits.rtol * value.abs();
            // No finite value is near NaN or infinity.
            (low, high) = if value.is_finite() {
                (low.max(value - reach), high.min(value + reach))
            } else {
                (f64::INFINITY, f64::NEG_INFINITY)
            };
        }
        self.range = (low, high);
    }
}

/// Whether the output would pass if its elements were rounded.
struct Rounded {
    judge: Judge,
    round: fn(f64) -> f64,
    passes: bool,
    /// Whether rounding has changed an element so far.
    changes: bool,
}

impl Rounded {
    fn new(judge: Judge, round: fn(f64) -> f64) -> Self {
        Self { judge, round, passes: true, changes: false }
    }

    fn add(&mut self, block: &[u8]) {
        if !self.passes {
            return;
        }
        let mut rounded = block.to_vec();
        match self.judge.dtype {
            Dtype::F32 | Dtype::C64 => {
                for part in rounded.as_chunks_mut::<4>().0 {
                    let value = f32::from_le_bytes(*part);
                    // NaN stays, with its payload.
                    if !value.is_nan() {
                        *part = ((self.round)(value.into()) as f32).to_le_bytes();
                    }
                }
            }
            Dtype::F64 | Dtype::C128 => {
                for part in rounded.as_chunks_mut::<8>().0 {
                    let value = f64::from_le_bytes(*part);
                    if !value.is_nan() {
                        *part = (self.round)(value).to_le_bytes();
                    }
                }
            }
            _ => {}
        }
        self.changes |= rounded != block;
        self.passes = self.judge.block(block, &rounded).mismatches == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::compare::Tolerance;

    fn coarse(dtype: Dtype, bytes: &[u8], rule: &Comparison) -> Coarse {
        let layout = Layout::contiguous(dtype, &[bytes.len() as u64 / dtype.size()]);
        coarse_with(TensorView::new(&layout, bytes).unwrap(), rule, &mut |_| {})
    }

    fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
        values.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    #[test]
    fn a_rule_accepts_one_value_if_all_are_near_to_one() {
        let near = floats((0..5000).map(|i| 1.0 + (i % 7) as f32 * 0.01));
        let constant = |rule: &Comparison| coarse(Dtype::F32, &near, rule).constant;
        assert_eq!(constant(&Comparison::torch()), Some(false));
        assert_eq!(constant(&Comparison::kernelforge()), Some(true));
        // Neither the first value nor any other alone is near to all of them.
        let apart = floats([0.0, 0.05, -0.05]);
        let wide = |atol| Comparison::tolerance(Tolerance::ZERO, Tolerance::new(atol).unwrap());
        assert_eq!(coarse(Dtype::F32, &apart, &wide(0.04)).constant, Some(false));
        assert_eq!(coarse(Dtype::F32, &apart[4..], &wide(0.06)).constant, Some(true), "0 is near to both");
        assert_eq!(coarse(Dtype::I32, &floats([1.0; 9]), &Comparison::exact()).constant, Some(true));
        assert_eq!(
            coarse(Dtype::F32, &floats([1.0]), &Comparison::torch()).constant,
            None,
            "one element is no pattern"
        );
        assert_eq!(coarse(Dtype::F32, &floats([1.0, f32::NAN]), &Comparison::kernelforge()).constant, Some(false));
        let equal = |values: &[f32]| coarse(Dtype::F32, &floats(values.to_vec()), &Comparison::kernelforge()).equal;
        assert!(equal(&[1.0; 5000]) && !equal(&[1.0, 1.01]));
        assert_eq!(coarse(Dtype::F32, &floats([f32::INFINITY; 3]), &Comparison::kernelforge()).constant, Some(true));
    }

    #[test]
    fn a_rule_accepts_half_precision_if_rounding_changes_less_than_it_allows() {
        let values = floats((0..5000).map(|i| (i as f32 * 0.37).sin()));
        let half = |rule: &Comparison| coarse(Dtype::F32, &values, rule).half_precision;
        assert_eq!(half(&Comparison::torch()), Some(false));
        assert_eq!(half(&Comparison::exact()), Some(false));
        assert_eq!(half(&Comparison::kernelforge()), None, "a tenth allows it by definition");
        let float16 = Comparison::tolerance(Tolerance::new(1e-3).unwrap(), Tolerance::new(1e-6).unwrap());
        assert_eq!(half(&float16), Some(true), "as float16 has it");
        // A softmax over a vocabulary: the rule lets pass as much anywhere as its largest numbers are rounded by.
        let softmax = floats((0..5000).map(|i| 2e-4 * (1.0 + 0.9 * (i as f32 * 0.37).sin()) / 1.9));
        assert_eq!(coarse(Dtype::F32, &softmax, &Comparison::torch()).half_precision, Some(true));
        // What half precision holds is no less right there.
        let halves = floats([1.0, 0.5, -2.0]);
        assert_eq!(coarse(Dtype::F32, &halves, &Comparison::torch()).half_precision, None);
        let narrow: Vec<u8> = (0..500u16).flat_map(u16::to_le_bytes).collect();
        assert_eq!(
            coarse(Dtype::F64, &floats((0..500).map(|i| i as f32 / 7.0)), &Comparison::kernelforge()).half_precision,
            None
        );
        assert_eq!(coarse(Dtype::BF16, &narrow, &Comparison::kernelforge()).half_precision, None);
        let double: Vec<u8> = (1..500).flat_map(|i| (f64::from(i) / 3.0).to_le_bytes()).collect();
        assert_eq!(coarse(Dtype::F64, &double, &Comparison::torch()).half_precision, Some(false));
        assert_eq!(coarse(Dtype::C128, &double[..1600], &Comparison::torch()).half_precision, Some(false));
    }
}
