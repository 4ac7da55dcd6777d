//! Reading the elements of a tensor of any layout in row-major order.

use super::dtype::{Dtype, DtypeKind};
use super::tensor::TensorView;

impl TensorView<'_> {
    /// Copies elements in row-major order, from element number `start` on, into `out`: as many whole elements as fit
    /// and exist. Elements are little-endian, the conjugate and the negative bit resolved. Returns the number of bytes
    /// written.
    ///
    /// Rows without gaps are copied as a whole; other layouts element by element, without temporaries.
    ///
    /// ```
    /// # use plimsoll_capture::{Dtype, Layout, TensorView};
    /// let mut layout = Layout::contiguous(Dtype::U8, &[3, 2]);
    /// layout.strides = vec![1, 3];
    /// let view = TensorView::new(&layout, &[0, 1, 2, 3, 4, 5])?;
    /// let mut out = [0; 4];
    /// assert_eq!(view.read_into(1, &mut out), 4);
    /// assert_eq!(out, [3, 1, 4, 2]);
    /// # Ok::<(), plimsoll_capture::OutsideStorage>(())
    /// ```
    pub fn read_into(&self, start: u64, out: &mut [u8]) -> usize {
        let layout = self.layout();
        let size = layout.dtype.size();
        let count = self.numel().saturating_sub(start).min(out.len() as u64 / size);
        let bytes = (count * size) as usize;
        if bytes == 0 {
            return 0;
        }
        let out = &mut out[..bytes];
        self.gather(start, out);
        resolve_bits(layout.dtype, layout.conj, layout.neg, out);
        bytes
    }

    /// Copies elements as they are in the storage.
    fn gather(&self, start: u64, mut out: &mut [u8]) {
        let layout = self.layout();
        let size = layout.dtype.size() as usize;
        let dims = coalesce(&layout.shape, &layout.strides);
        let (&(row, step), outer) = dims.split_last().unwrap_or((&(1, 1), &[]));
        // The position in each outer dimension; `at` is the matching offset in the storage.
        let mut position = vec![0; outer.len()];
        let mut at = layout.offset;
        let mut rest = start / row;
        for (d, &(length, stride)) in outer.iter().enumerate().rev() {
            position[d] = rest % length;
            at += position[d] * stride;
            rest /= length;
        }
        let mut first = start % row;
        loop {
            let count = (row - first).min((out.len() / size) as u64);
            let (now, later) = out.split_at_mut(count as usize * size);
            copy_row(self.storage(), (at + first * step) as usize, step as usize, size, now);
            if later.is_empty() {
                return;
            }
            (out, first) = (later, 0);
            for (d, &(length, stride)) in outer.iter().enumerate().rev() {
                position[d] += 1;
                at += stride;
                if position[d] < length {
                    break;
                }
                at -= length * stride;
                position[d] = 0;
            }
        }
    }
}

/// The dimensions as (size, stride), without those of size 1, with neighbours merged if they step evenly.
fn coalesce(shape: &[u64], strides: &[u64]) -> Vec<(u64, u64)> {
    let mut dims: Vec<(u64, u64)> = Vec::with_capacity(shape.len());
    for (&size, &stride) in shape.iter().zip(strides).filter(|&(&size, _)| size != 1) {
        match dims.last_mut() {
            Some(last) if stride.checked_mul(size) == Some(last.1) => *last = (last.0 * size, stride),
            _ => dims.push((size, stride)),
        }
    }
    dims
}

/// Copies elements `at`, `at + step` ... of `size` bytes until `out` is full.
fn copy_row(storage: &[u8], at: usize, step: usize, size: usize, out: &mut [u8]) {
    if step == 1 {
        out.copy_from_slice(&storage[at * size..at * size + out.len()]);
        return;
    }
    match size {
        1 => copy_elements::<1>(storage, at, step, out),
        2 => copy_elements::<2>(storage, at, step, out),
        4 => copy_elements::<4>(storage, at, step, out),
        8 => copy_elements::<8>(storage, at, step, out),
        _ => copy_elements::<16>(storage, at, step, out),
    }
}

fn copy_elements<const N: usize>(storage: &[u8], at: usize, step: usize, out: &mut [u8]) {
    let (elements, _) = out.as_chunks_mut::<N>();
    for (i, element) in elements.iter_mut().enumerate() {
        let start = (at + i * step) * N;
        element.copy_from_slice(&storage[start..start + N]);
    }
}

/// Conjugates and negates `elements` in place.
fn resolve_bits(dtype: Dtype, conj: bool, neg: bool, elements: &mut [u8]) {
    let size = dtype.size() as usize;
    match dtype.kind() {
        DtypeKind::Complex => {
            let half = size / 2;
            for element in elements.chunks_exact_mut(size).filter(|_| conj || neg) {
                // Negating both parts after conjugating leaves the imaginary part unchanged.
                element[half - 1] ^= if neg { 0x80 } else { 0 };
                element[size - 1] ^= if conj != neg { 0x80 } else { 0 };
            }
        }
        _ if !neg => {}
        DtypeKind::Float if matches!(dtype, Dtype::F8E4M3FNUZ | Dtype::F8E5M2FNUZ) => {
            // These formats have one zero, 0x00, and one NaN, 0x80: neither has an opposite.
            elements.iter_mut().filter(|byte| **byte & 0x7f != 0).for_each(|byte| *byte ^= 0x80);
        }
        DtypeKind::Float => elements.chunks_exact_mut(size).for_each(|element| element[size - 1] ^= 0x80),
        _ => elements.chunks_exact_mut(size).for_each(negate_integer),
    }
}

/// Negates a little-endian integer in two's complement.
fn negate_integer(bytes: &mut [u8]) {
    let mut carry = true;
    for byte in bytes {
        (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tensor::Layout;
    use super::*;
    use proptest::prelude::*;

    /// The elements one by one, by the definition of strides.
    fn naive(view: &TensorView<'_>) -> Vec<u8> {
        let layout = view.layout();
        let size = layout.dtype.size();
        let mut bytes = Vec::new();
        for element in 0..view.numel() {
            let (mut rest, mut at) = (element, layout.offset);
            for (&length, &stride) in layout.shape.iter().zip(&layout.strides).rev() {
                at += rest % length * stride;
                rest /= length;
            }
            bytes.extend_from_slice(&view.storage()[(at * size) as usize..((at + 1) * size) as usize]);
        }
        bytes
    }

    fn layouts() -> impl Strategy<Value = Layout> {
        let dims = prop::collection::vec((0u64..5, 0u64..7), 0..5);
        let dtypes = prop::sample::select(vec![Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C128]);
        (dims, dtypes, 0u64..5, any::<bool>()).prop_map(|(dims, dtype, offset, contiguous)| {
            let (shape, strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
            let packed = Layout::contiguous(dtype, &shape).strides;
            Layout { dtype, shape, strides: if contiguous { packed } else { strides }, offset, conj: false, neg: false }
        })
    }

    proptest! {
        #[test]
        fn every_layout_reads_as_the_definition_says(layout in layouts(), chunk in 1usize..200, seed: u8) {
            let storage: Vec<u8> = (0..16_384u32).map(|i| (i.wrapping_mul(31) >> 2) as u8 ^ seed).collect();
            let view = TensorView::new(&layout, &storage).unwrap();
            let expected = naive(&view);
            let size = layout.dtype.size() as usize;
            let mut read = Vec::new();
            let mut out = vec![0xaa; chunk.max(size)];
            loop {
                let bytes = view.read_into((read.len() / size) as u64, &mut out);
                if bytes == 0 {
                    break;
                }
                read.extend_from_slice(&out[..bytes]);
            }
            prop_assert_eq!(read, expected);
        }
    }

    fn resolved(dtype: Dtype, conj: bool, neg: bool, storage: &[u8]) -> Vec<u8> {
        let layout = Layout { conj, neg, ..Layout::contiguous(dtype, &[storage.len() as u64 / dtype.size()]) };
        let mut out = vec![0; storage.len()];
        assert_eq!(TensorView::new(&layout, storage).unwrap().read_into(0, &mut out), storage.len());
        out
    }

    #[test]
    fn conjugate_and_negative_bits_are_resolved() {
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let z = bytes(&[1.0, 2.0, -3.0, 0.0]);
        assert_eq!(resolved(Dtype::C64, true, false, &z), bytes(&[1.0, -2.0, -3.0, -0.0]));
        assert_eq!(resolved(Dtype::C64, false, true, &z), bytes(&[-1.0, -2.0, 3.0, -0.0]));
        assert_eq!(resolved(Dtype::C64, true, true, &z), bytes(&[-1.0, 2.0, 3.0, 0.0]));
        assert_eq!(resolved(Dtype::F32, false, true, &z), bytes(&[-1.0, -2.0, 3.0, -0.0]));
        let integers: Vec<u8> = [0i32, 1, -5, i32::MIN].iter().flat_map(|v| v.to_le_bytes()).collect();
        let negated: Vec<u8> = [0i32, -1, 5, i32::MIN].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(resolved(Dtype::I32, false, true, &integers), negated);
        assert_eq!(resolved(Dtype::F8E4M3FNUZ, false, true, &[0, 0x80, 1, 0x81]), [0, 0x80, 0x81, 1]);
        assert_eq!(resolved(Dtype::F8E5M2, false, true, &[0, 1]), [0x80, 0x81]);
    }

    #[test]
    fn an_expanded_tensor_reads_far_more_than_is_stored() {
        let layout = Layout { strides: vec![0, 0], ..Layout::contiguous(Dtype::F16, &[1 << 40, 1 << 20]) };
        let view = TensorView::new(&layout, &[7, 9]).unwrap();
        let mut out = [0; 6];
        assert_eq!(view.read_into((1 << 60) - 2, &mut out), 4);
        assert_eq!(out, [7, 9, 7, 9, 0, 0]);
        assert_eq!(view.read_into(1 << 60, &mut out), 0);
    }
}
