//! The wrong outputs that a comparison would let pass.

use super::element::Element;
use super::judge::{BLOCK, Judge};
use super::outcome::Blindness;
use super::rule::Comparison;
use super::tensor::Reader;
use crate::TensorView;

/// Checks whether `rule` would accept a wrong output as `expected`: one of zero bytes, one of NaN, and `previous`, the
/// output of the entry before.
///
/// The output of NaN repeats the first element of `expected` if that is NaN; no other NaN could match. A `previous` of
/// another shape or dtype is ignored. A tensor without elements distinguishes nothing, so zeros, NaN and `previous` all
/// match it.
///
/// Reading ends with the first 8 KiB that distinguish all of them from `expected`: mostly the first.
pub fn blindness(expected: TensorView<'_>, previous: Option<TensorView<'_>>, rule: &Comparison) -> Blindness {
    blindness_with(expected, previous, rule, &mut |_| {})
}

/// [`blindness`], calling `progress` with the range of bytes of `expected` and `previous` that will not be read again,
/// as [`compare_tensors_with`](super::compare_tensors_with) does.
pub fn blindness_with(
    expected: TensorView<'_>,
    previous: Option<TensorView<'_>>,
    rule: &Comparison,
    progress: &mut dyn FnMut(std::ops::Range<u64>),
) -> Blindness {
    let dtype = expected.dtype();
    let judge = Judge { dtype, limits: rule.limits(dtype) };
    let mut previous =
        previous.filter(|previous| previous.dtype() == dtype && previous.shape() == expected.shape()).map(Reader::new);
    let mut blind =
        Blindness { zeros: true, nan: true, previous: previous.as_ref().map(|_| true), ..Blindness::default() };
    let zeros = [0; BLOCK];
    let mut nan = None;
    let mut expected = Reader::new(expected);
    while let Some((range, expected)) = expected.next_chunk() {
        let nan = nan.get_or_insert_with(|| {
            let size = dtype.size() as usize;
            blind.nan = Element::at(dtype, expected, 0).is_nan();
            expected[..size].repeat(BLOCK / size)
        });
        let passes = |outputs: &mut dyn Iterator<Item = &[u8]>| {
            expected
                .chunks(BLOCK)
                .zip(outputs)
                .all(|(expected, output)| judge.block(expected, &output[..expected.len()]).mismatches == 0)
        };
        blind.zeros = blind.zeros && passes(&mut std::iter::repeat(&zeros[..]));
        blind.nan = blind.nan && passes(&mut std::iter::repeat(&nan[..]));
        if let Some(previous) = previous.as_mut().filter(|_| blind.previous == Some(true)) {
            let (_, previous) = previous.next_chunk().expect("both have the same elements");
            blind.previous = Some(passes(&mut previous.chunks(BLOCK)));
        }
        progress(range);
        if !blind.any() {
            break;
        }
    }
    blind
}
