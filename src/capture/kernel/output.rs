//! [`OutputBuffer`]: the memory that a kernel fills.

use super::error::KernelError;
use crate::{Layout, TensorSpec, TensorView};

/// Memory for one output of a kernel: a contiguous row-major tensor that the caller owns. Elements are little-endian.
#[derive(Debug)]
pub struct OutputBuffer<'a> {
    layout: Layout,
    bytes: &'a mut [u8],
}

impl<'a> OutputBuffer<'a> {
    /// The byte that poison is made of: NaN in every floating-point dtype that has one, -1 or the largest value in
    /// every integer.
    pub const POISON: u8 = 0xff;

    /// Makes a buffer for `spec` over `bytes`.
    ///
    /// # Errors
    /// [`KernelError::OutputBytes`] if `bytes` is not exactly as long as the tensor.
    pub fn new(spec: &TensorSpec, bytes: &'a mut [u8]) -> Result<Self, KernelError> {
        if spec.bytes() == Some(bytes.len() as u64) {
            Ok(Self { layout: Layout::contiguous(spec.dtype, &spec.shape), bytes })
        } else {
            Err(KernelError::OutputBytes { spec: spec.clone(), given: bytes.len() })
        }
    }

    /// The dtype and shape.
    pub fn spec(&self) -> TensorSpec {
        self.layout.spec()
    }

    /// The memory, row-major.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// The content of the buffer, as a tensor.
    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(&self.layout, self.bytes).expect("the buffer is as long as its tensor")
    }

    /// Fills the memory with bytes of 0xFF, so that an element that a launch leaves unwritten is NaN, -1 or the largest
    /// value, not a result of the previous launch.
    pub fn poison(&mut self) {
        self.bytes.fill(Self::POISON);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    #[test]
    fn takes_exactly_the_bytes_of_its_tensor() {
        let spec = TensorSpec { dtype: Dtype::BF16, shape: vec![2, 3] };
        let mut bytes = [0u8; 13];
        assert!(OutputBuffer::new(&spec, &mut bytes[..12]).is_ok());
        for length in [0, 11, 13] {
            assert!(OutputBuffer::new(&spec, &mut bytes[..length]).is_err());
        }
        let huge = TensorSpec { dtype: Dtype::F32, shape: vec![u64::MAX, 2] };
        let error = OutputBuffer::new(&huge, &mut []).unwrap_err();
        assert!(error.to_string().ends_with("is given 0 bytes of memory, but needs more than 2^64"), "{error}");
        let scalar = TensorSpec { dtype: Dtype::F32, shape: vec![] };
        assert_eq!(OutputBuffer::new(&scalar, &mut bytes[..4]).unwrap().view().numel(), 1);
    }

    #[test]
    fn poison_is_not_a_number() {
        let mut bytes = [0u8; 8];
        let mut buffer = OutputBuffer::new(&TensorSpec { dtype: Dtype::F32, shape: vec![2] }, &mut bytes).unwrap();
        buffer.poison();
        let element = buffer.view().as_contiguous().unwrap()[4..].try_into().unwrap();
        assert!(f32::from_le_bytes(element).is_nan());
    }
}
