//! `builtin:embedding`: `torch.nn.functional.embedding`, forward.
//!
//! Output `[*input.shape, D]` of the weight's dtype: row `input[i]` of `weight` for each index `i`. The weight is read
//! in place, a row at a time. Of the options, `padding_idx` must be in range and changes nothing in the forward
//! direction, `scale_grad_by_freq` and `sparse` concern the backward direction alone, and `max_norm` with `norm_type`
//! renormalises the rows used. PyTorch does so in the weight before it gathers; here the weight is a file, so the rows
//! are renormalised in the output, with the same result.

use std::ops::Range;

use super::renorm::Renorm;
use crate::kernel::{Call, Kernel, KernelError, KernelIdentity, OutputBuffer};
use crate::{Argument, Dtype, Layout, TensorSpec, TensorView};

const NAME: &str = "builtin:embedding";

// The parameters of `torch.nn.functional.embedding`, by name and position.
const INPUT: (&str, usize) = ("input", 0);
const WEIGHT: (&str, usize) = ("weight", 1);
const PADDING_IDX: (&str, usize) = ("padding_idx", 2);
const MAX_NORM: (&str, usize) = ("max_norm", 3);
const NORM_TYPE: (&str, usize) = ("norm_type", 4);

/// `torch.nn.functional.embedding`, forward: rows of a table, read in place.
#[derive(Clone, Copy, Debug)]
pub struct Embedding;

impl Kernel for Embedding {
    fn identity(&self) -> KernelIdentity {
        KernelIdentity::new(NAME, None)
    }

    fn looks_up(&self) -> bool {
        true
    }

    fn outputs(&self, call: &Call<'_>) -> Result<Vec<TensorSpec>, KernelError> {
        Ok(vec![Arguments::of(call)?.output()])
    }

    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError> {
        let arguments = Arguments::of(call)?;
        let [output] = outputs else {
            return Err(KernelError::OutputCount { expected: 1, given: outputs.len() });
        };
        let (expected, given) = (arguments.output(), output.spec());
        if expected != given {
            return Err(KernelError::OutputSpec { index: 0, expected, given });
        }
        arguments.gather(output.bytes_mut())
    }
}

/// Visits the bytes of each storage (by its index in the call) that any kernel reads to compute `call`, if that looks
/// up few rows of a table. The caller that mapped the storages can then read them from the disk together, while a
/// launch would wait for them one after the other. A look-up is recognised by the captured inputs and outputs. Other
/// calls are not visited, because the system reads ahead by itself if bytes are read in order.
pub fn looked_up(call: &Call<'_>, visit: &mut dyn FnMut(usize, Range<usize>)) {
    let Some(Argument::Tensor(weight)) = call.parameter(WEIGHT.0, WEIGHT.1) else { return };
    let Ok(arguments) = Arguments::of(call) else { return };
    if matches!(call.outputs, [output] if output.spec == arguments.output()) {
        arguments.touched_rows(&mut |range| visit(weight.storage, range));
    }
}

/// The storage that `call` may look rows up in, without reading its tensors.
pub fn table(call: &Call<'_>) -> Option<usize> {
    match call.parameter(WEIGHT.0, WEIGHT.1) {
        Some(Argument::Tensor(weight)) => Some(weight.storage),
        _ => None,
    }
}

/// The arguments of one call, checked.
struct Arguments<'a> {
    input: TensorView<'a>,
    weight: TensorView<'a>,
    renorm: Option<Renorm>,
}

impl<'a> Arguments<'a> {
    fn of(call: &Call<'a>) -> Result<Self, KernelError> {
        let input = call.tensor(INPUT.0, INPUT.1)?;
        let weight = call.tensor(WEIGHT.0, WEIGHT.1)?;
        if !matches!(input.dtype(), Dtype::I32 | Dtype::I64) {
            let expected = "int32 or int64";
            return Err(KernelError::WrongDtype { name: INPUT.0, expected, found: input.dtype() });
        }
        if weight.shape().len() != 2 {
            let shape = weight.shape().to_vec();
            return Err(KernelError::WrongRank { name: WEIGHT.0, expected: 2, shape });
        }
        for (name, view) in [(INPUT.0, &input), (WEIGHT.0, &weight)] {
            if view.layout().conj || view.layout().neg {
                let what = format!("a `{name}` that is a lazy conjugate or negative");
                return Err(KernelError::Unsupported { kernel: NAME, what });
            }
        }
        check_padding(call, weight.shape()[0])?;
        let renorm = match call.float(MAX_NORM.0, MAX_NORM.1)? {
            Some(max_norm) => {
                let norm_type = call.float(NORM_TYPE.0, NORM_TYPE.1)?.unwrap_or(2.0);
                Some(Renorm::new(max_norm, norm_type, weight.layout(), NAME)?)
            }
            None => None,
        };
        Ok(Self { input, weight, renorm })
    }

    fn output(&self) -> TensorSpec {
        let shape = self.input.shape().iter().copied().chain([self.weight.shape()[1]]).collect();
        TensorSpec { dtype: self.weight.dtype(), shape }
    }

    /// The bytes of each row that is looked up, if rows are contiguous; an index out of range has none.
    fn touched_rows(&self, visit: &mut dyn FnMut(Range<usize>)) {
        let rows = Rows::of(&self.weight);
        if rows.step != rows.element {
            return;
        }
        for n in 0..self.input.numel() {
            let index = index_at(&self.input, n);
            if let Some(row) = u64::try_from(index).ok().filter(|&row| row < rows.count) {
                let start = rows.offset + row as usize * rows.stride;
                visit(start..start + rows.bytes);
            }
        }
    }

    /// Writes the row of each index to `output`, whose length is given by [`Arguments::output`].
    fn gather(&self, output: &mut [u8]) -> Result<(), KernelError> {
        let rows = Rows::of(&self.weight);
        for n in 0..self.input.numel() {
            let index = index_at(&self.input, n);
            let row = u64::try_from(index).ok().filter(|&row| row < rows.count).ok_or_else(|| {
                let position = position(self.input.shape(), n).collect();
                KernelError::IndexOutOfRange { name: INPUT.0, position, index, rows: rows.count }
            })?;
            let destination = &mut output[n as usize * rows.bytes..][..rows.bytes];
            rows.copy(row, destination);
            if let Some(renorm) = &self.renorm {
                renorm.apply(destination);
            }
        }
        Ok(())
    }
}

/// PyTorch takes a `padding_idx` from `-rows` to `rows - 1`, and 0 even if there are no rows.
fn check_padding(call: &Call<'_>, rows: u64) -> Result<(), KernelError> {
    let Some(padding) = call.int(PADDING_IDX.0, PADDING_IDX.1)? else { return Ok(()) };
    let valid = if padding > 0 { padding.unsigned_abs() < rows } else { padding.unsigned_abs() <= rows };
    if valid {
        Ok(())
    } else {
        let reason = format!("the weight has {rows} rows");
        Err(KernelError::InvalidOption { name: PADDING_IDX.0, value: padding.to_string(), reason })
    }
}

/// The index of each dimension, outermost first, of element `n` in row-major order.
fn position(shape: &[u64], n: u64) -> impl Iterator<Item = u64> {
    let inner = |d: usize| shape[d + 1..].iter().product::<u64>();
    (0..shape.len()).map(move |d| n / inner(d) % shape[d])
}

/// Element `n`, in row-major order, of an int32 or int64 tensor.
fn index_at(input: &TensorView<'_>, n: u64) -> i64 {
    let Layout { shape, strides, offset, .. } = input.layout();
    let (mut at, mut rest) = (*offset, n);
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        at += rest % size * stride;
        rest /= size;
    }
    let size = input.dtype().size() as usize;
    let bytes = &input.storage()[at as usize * size..][..size];
    match *bytes {
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("the dtype is checked to be int32 or int64"),
    }
}

/// The rows of a two-dimensional tensor, in place.
struct Rows<'a> {
    storage: &'a [u8],
    count: u64,
    /// Bytes of one row, gathered.
    bytes: usize,
    /// Bytes of one element.
    element: usize,
    /// Bytes from one element of a row to the next.
    step: usize,
    /// Bytes from one row to the next.
    stride: usize,
    /// Bytes before the first element.
    offset: usize,
}

impl<'a> Rows<'a> {
    /// No product overflows, because the view holds all of its elements within its storage. This does not hold for the
    /// strides and the offset of a tensor without elements, of which no row is copied.
    fn of(weight: &TensorView<'a>) -> Self {
        let layout = weight.layout();
        let size = weight.dtype().size();
        let bytes = |elements: u64| elements.wrapping_mul(size) as usize;
        Self {
            storage: weight.storage(),
            count: layout.shape[0],
            bytes: bytes(layout.shape[1]),
            element: size as usize,
            step: bytes(layout.strides[1]),
            stride: bytes(layout.strides[0]),
            offset: bytes(layout.offset),
        }
    }

    /// Copies row `row`, which is below `count`, to `destination`, which is as long as a row.
    fn copy(&self, row: u64, destination: &mut [u8]) {
        if self.bytes == 0 {
            return;
        }
        let source = &self.storage[self.offset + row as usize * self.stride..];
        if self.step == self.element || self.bytes == self.element {
            destination.copy_from_slice(&source[..self.bytes]);
            return;
        }
        match self.element {
            1 => copy_elements::<1>(source, self.step, destination),
            2 => copy_elements::<2>(source, self.step, destination),
            4 => copy_elements::<4>(source, self.step, destination),
            8 => copy_elements::<8>(source, self.step, destination),
            _ => copy_elements::<16>(source, self.step, destination),
        }
    }
}

/// Copies elements of `N` bytes that are `step` bytes apart.
fn copy_elements<const N: usize>(source: &[u8], step: usize, destination: &mut [u8]) {
    for (n, element) in destination.chunks_exact_mut(N).enumerate() {
        element.copy_from_slice(&source[n * step..][..N]);
    }
}

#[cfg(test)]
mod tests;
