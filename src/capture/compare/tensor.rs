//! Comparison of tensors, in chunks.

use super::element::{Element, values_per_element};
use super::judge::{BLOCK, Judge};
use super::outcome::{Elements, LeafOutcome, Mismatch};
use super::rule::Comparison;
use crate::{Dtype, TensorView};

/// The bytes of one side between two calls of the caller's `progress`, and of the buffer for a side that is not in
/// row-major order.
const CHUNK: usize = 256 << 10;

/// Compares two tensors, element by element in row-major order.
///
/// A difference of shape or dtype is the outcome's `problem`; no elements are compared then. Tensors without elements
/// match. Both tensors are read once; tensors in row-major order are read in place, others through a buffer of 256 KiB.
/// One thread compares more than 8 GB/s of `float16`, `bfloat16` or `float32` (both operands counted) on processors
/// with AVX2.
///
/// The errors of the outcome are computed as the elements are judged (see [`Comparison`]): in f32 for floats of up to
/// 32 bits, in f64 for all others. For complex numbers, errors and ranges are taken of the modulus; for bools, of 0 and
/// 1; quantized values and bits have none. An error beyond f64's range is given as f64's largest number. A byte of
/// `float4_e2m1fn_x2` holds two values, the lower half first, and the last dimension counts them as two.
pub fn compare_tensors(path: &str, expected: TensorView<'_>, actual: TensorView<'_>, rule: &Comparison) -> LeafOutcome {
    compare_tensors_with(path, expected, actual, rule, &mut |_| {})
}

/// Compares as [`compare_tensors`] does, calling `progress` after every 256 KiB of a side with the range of bytes that
/// were compared and will not be read again, counted from the tensor's first element in row-major order. If a tensor is
/// a mapped file, the caller can release those pages, so that they do not stay resident.
pub fn compare_tensors_with(
    path: &str,
    expected: TensorView<'_>,
    actual: TensorView<'_>,
    rule: &Comparison,
    progress: &mut dyn FnMut(std::ops::Range<u64>),
) -> LeafOutcome {
    let spec = expected.layout().spec();
    let problem = (expected.dtype() != actual.dtype() || expected.shape() != actual.shape()).then(|| {
        let words = |view: &TensorView<'_>| format!("{} {:?}", view.dtype(), view.shape());
        format!("expected a tensor {}, got {}", words(&expected), words(&actual))
    });
    let elements = problem.is_none().then(|| compare_elements(expected, actual, rule, progress));
    LeafOutcome {
        path: path.to_owned(),
        passed: elements.as_ref().is_some_and(|elements| elements.mismatches == 0),
        problem,
        expected: Some(spec),
        tolerances: None,
        elements,
    }
}

fn compare_elements(
    expected: TensorView<'_>,
    actual: TensorView<'_>,
    rule: &Comparison,
    progress: &mut dyn FnMut(std::ops::Range<u64>),
) -> Elements {
    let dtype = expected.dtype();
    let judge = Judge { dtype, limits: rule.limits(dtype) };
    let shape = expected.shape();
    let mut elements = Elements::default();
    let (mut expected, mut actual) = (Reader::new(expected), Reader::new(actual));
    while let Some((chunk, expected)) = expected.next_chunk() {
        let (_, actual) = actual.next_chunk().expect("both sides have the same elements");
        for (expected, actual) in expected.chunks(BLOCK).zip(actual.chunks(BLOCK)) {
            let block = judge.block(expected, actual);
            if elements.mismatches == 0 && block.mismatches > 0 {
                let at = judge.first_mismatch(expected, actual).expect("the block has one");
                let (e, a) = (Element::at(dtype, expected, at), Element::at(dtype, actual, at));
                elements.first_mismatch = Some(mismatch(dtype, shape, elements.count + at as u64, &e, &a));
            }
            elements.merge(&block);
        }
        progress(chunk);
    }
    elements
}

/// The mismatch of the value with number `at` in row-major order.
fn mismatch(dtype: Dtype, shape: &[u64], at: u64, expected: &Element, actual: &Element) -> Mismatch {
    let (mut texts, bits) = ([expected.text(), actual.text()], [expected.bits, actual.bits]);
    if texts[0] == texts[1] && bits[0] != bits[1] {
        // The elements are NaN with two payloads.
        texts.iter_mut().zip(bits).for_each(|(text, bits)| *text = format!("{text} ({bits:#x})"));
    }
    let mut shape = shape.to_vec();
    let values = values_per_element(dtype);
    match shape.last_mut() {
        Some(last) => *last *= values,
        None if values > 1 => shape.push(values),
        None => {}
    }
    let mut rest = at;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&size| {
            let index = rest % size;
            rest /= size;
            index
        })
        .collect();
    index.reverse();
    let [expected, actual] = texts;
    Mismatch { index, expected, actual }
}

/// A tensor's elements in row-major order, chunk by chunk.
pub(super) struct Reader<'a> {
    view: TensorView<'a>,
    in_place: Option<&'a [u8]>,
    buffer: Vec<u8>,
    /// The number of elements read.
    position: u64,
}

impl<'a> Reader<'a> {
    pub fn new(view: TensorView<'a>) -> Self {
        let in_place = view.as_contiguous();
        let elements = if in_place.is_some() { 0 } else { view.numel() };
        let bytes = elements.saturating_mul(view.dtype().size()).min(CHUNK as u64);
        Self { view, in_place, buffer: vec![0; bytes as usize], position: 0 }
    }

    /// The next elements, and the range of bytes that they would take if the tensor were in row-major order. Chunks of
    /// tensors of one shape and dtype have the same elements.
    pub fn next_chunk(&mut self) -> Option<(std::ops::Range<u64>, &[u8])> {
        let size = self.view.dtype().size();
        let elements = (self.view.numel() - self.position).min(CHUNK as u64 / size);
        if elements == 0 {
            return None;
        }
        let start = self.position * size;
        let bytes = (elements * size) as usize;
        let chunk = match self.in_place {
            Some(all) => &all[start as usize..][..bytes],
            None => {
                self.view.read_into(self.position, &mut self.buffer[..bytes]);
                &self.buffer[..bytes]
            }
        };
        self.position += elements;
        Some((start..start + bytes as u64, chunk))
    }
}
