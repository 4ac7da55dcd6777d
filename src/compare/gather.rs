//! Elements of a strided view, in row-major order.

use crate::capture::{Dtype, DtypeKind, TensorView};

/// Copies elements of `view` from the one at `start_element` in row-major order, conjugated and negated where the view
/// says so, as many as there are and `out` holds. Gives their number.
pub(super) fn read_into(view: &TensorView<'_>, start_element: u64, out: &mut [u8]) -> usize {
    let layout = view.layout();
    let size = layout.dtype.size() as usize;
    let remaining = view.numel().saturating_sub(start_element);
    let count = remaining.min((out.len() / size) as u64) as usize;
    if count == 0 {
        return 0;
    }
    let mut index = vec![0; layout.shape.len()];
    let mut rest = start_element;
    for (index, &size) in index.iter_mut().zip(&layout.shape).rev() {
        *index = rest % size;
        rest /= size;
    }
    for element in out[..count * size].chunks_exact_mut(size) {
        let at: u64 =
            layout.offset + index.iter().zip(&layout.strides).map(|(index, stride)| index * stride).sum::<u64>();
        element.copy_from_slice(&view.storage()[at as usize * size..][..size]);
        flip_signs(layout.dtype, layout.conj, layout.neg, element);
        for (index, &size) in index.iter_mut().zip(&layout.shape).rev() {
            *index += 1;
            if *index < size {
                break;
            }
            *index = 0;
        }
    }
    count
}

/// Conjugates and negates a little-endian element: the sign is the highest bit of each part of a float. Other dtypes
/// carry neither bit in torch, and are left as they are.
fn flip_signs(dtype: Dtype, conj: bool, neg: bool, element: &mut [u8]) {
    let size = element.len();
    match dtype.kind() {
        DtypeKind::Complex => {
            if neg {
                element[size / 2 - 1] ^= 0x80;
            }
            if neg != conj {
                element[size - 1] ^= 0x80;
            }
        }
        DtypeKind::Float if neg => element[size - 1] ^= 0x80,
        _ => {}
    }
}
