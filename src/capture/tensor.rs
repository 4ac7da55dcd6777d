//! Strided tensors over storages: [`TensorSpec`], [`Layout`], [`TensorView`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dtype::Dtype;

/// The dtype and shape of a contiguous tensor, such as a kernel's output.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TensorSpec {
    /// The type of the elements.
    pub dtype: Dtype,
    /// The size of each dimension; empty for a scalar tensor.
    pub shape: Vec<u64>,
}

impl TensorSpec {
    /// The number of elements, `None` if it exceeds 2^64 - 1.
    pub fn numel(&self) -> Option<u64> {
        numel(&self.shape)
    }

    /// The bytes of the contiguous tensor, `None` if they exceed 2^64 - 1.
    pub fn bytes(&self) -> Option<u64> {
        self.numel()?.checked_mul(self.dtype.size())
    }
}

/// The product of the sizes, which is zero if any size is, whatever the others are.
fn numel(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)) }
}

/// The layout of a tensor in its storage. Strides and offset count elements of `dtype`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// The type of the elements.
    pub dtype: Dtype,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The step of each dimension, in elements; 0 repeats one element along the dimension.
    pub strides: Vec<u64>,
    /// The place of the first element, counted in elements from the start of the storage.
    pub offset: u64,
    /// Whether elements must be conjugated when read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conj: bool,
    /// Whether elements must be negated when read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub neg: bool,
}

impl Layout {
    /// The row-major layout of `spec` at the start of a storage.
    pub fn contiguous(dtype: Dtype, shape: &[u64]) -> Self {
        let mut strides = vec![1u64; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d].saturating_mul(shape[d].max(1));
        }
        Self { dtype, shape: shape.to_vec(), strides, offset: 0, conj: false, neg: false }
    }

    /// The dtype and shape alone.
    pub fn spec(&self) -> TensorSpec {
        TensorSpec { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// The number of elements, `None` if it exceeds 2^64 - 1.
    pub fn numel(&self) -> Option<u64> {
        numel(&self.shape)
    }

    /// The bytes that the elements would take if each were stored once, `None` on overflow.
    pub fn logical_bytes(&self) -> Option<u64> {
        self.numel()?.checked_mul(self.dtype.size())
    }

    /// The byte range of the storage that the tensor reaches: empty for a tensor without elements (whose offset may be
    /// beyond the storage), `None` if an offset exceeds 2^64 - 1.
    pub fn reach(&self) -> Option<std::ops::Range<u64>> {
        if self.numel()? == 0 {
            return Some(0..0);
        }
        let last = self
            .shape
            .iter()
            .zip(&self.strides)
            .try_fold(self.offset, |at, (&size, &stride)| at.checked_add(stride.checked_mul(size - 1)?))?;
        let size = self.dtype.size();
        Some(self.offset.checked_mul(size)?..last.checked_add(1)?.checked_mul(size)?)
    }

    /// Whether the elements are in row-major order without gaps (strides of dimensions of size 1 do not matter).
    pub fn is_contiguous(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let mut expected = 1u64;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected = expected.saturating_mul(size);
            }
        }
        true
    }
}

/// A layout that reaches beyond its storage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {dtype} tensor of shape {shape:?}, strides {strides:?} and offset {offset} reaches beyond its storage of \
         {storage} bytes: save the tensor again",
    dtype = .layout.dtype, shape = .layout.shape, strides = .layout.strides, offset = .layout.offset)]
pub struct OutsideStorage {
    /// The layout.
    pub layout: Layout,
    /// The size of the storage in bytes.
    pub storage: u64,
}

/// A tensor: a layout over the bytes of its storage, in place.
#[derive(Clone, Copy, Debug)]
pub struct TensorView<'a> {
    layout: &'a Layout,
    storage: &'a [u8],
}

impl<'a> TensorView<'a> {
    /// Makes a view of `storage` as `layout`. Elements are little-endian.
    ///
    /// # Errors
    /// [`OutsideStorage`] if an element would be beyond the storage, or there are not as many strides as sizes.
    pub fn new(layout: &'a Layout, storage: &'a [u8]) -> Result<Self, OutsideStorage> {
        let fits = layout.shape.len() == layout.strides.len()
            && layout.logical_bytes().is_some()
            && layout.reach().is_some_and(|r| r.end <= storage.len() as u64);
        if fits {
            Ok(Self { layout, storage })
        } else {
            Err(OutsideStorage { layout: layout.clone(), storage: storage.len() as u64 })
        }
    }

    /// The layout.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.layout.dtype
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &'a [u64] {
        &self.layout.shape
    }

    /// The number of elements.
    pub fn numel(&self) -> u64 {
        self.layout.numel().expect("checked when the view was made")
    }

    /// The whole storage under the tensor.
    pub fn storage(&self) -> &'a [u8] {
        self.storage
    }

    /// The elements' bytes in place, if they are in row-major order without gaps and carry no conj or neg bit.
    pub fn as_contiguous(&self) -> Option<&'a [u8]> {
        if self.layout.is_contiguous() && !self.layout.conj && !self.layout.neg {
            let reach = self.layout.reach().expect("checked when the view was made");
            Some(&self.storage[reach.start as usize..reach.end as usize])
        } else {
            None
        }
    }
}
