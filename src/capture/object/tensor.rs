//! The kinds of tensors that a file can hold.

use std::borrow::Cow;

use super::super::argument::TensorRef;
use super::super::pickle::NodeId;
use super::super::tensor::Layout;

/// A tensor of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) kind: TensorKind,
    pub(crate) class: TensorClass,
    pub(crate) requires_grad: bool,
    /// The attributes that were saved with the tensor.
    pub(crate) state: Option<NodeId>,
}

/// A tensor of a [`TorchFile`](crate::TorchFile): the properties that every kind of tensor has, in one struct.
#[derive(Clone, Debug)]
pub struct TensorItem<'a> {
    /// The kind: `strided`, `quantized`, `sparse`, `nested`, `meta`, `wrapper` or `foreign`.
    pub kind: &'static str,
    /// The tensor's Python class: `torch.Tensor`, `torch.nn.parameter.Parameter`, or a subclass.
    pub class: Cow<'a, str>,
    /// The tensor's shape, if the file gives it.
    pub shape: Option<&'a [u64]>,
    /// The layout of its elements over the storage, if it has one; without elements otherwise.
    pub layout: Option<&'a Layout>,
    /// The elements in their storage, for the kinds that have elements of their own.
    pub elements: Option<&'a TensorRef>,
    /// Whether gradients are recorded.
    pub requires_grad: bool,
    /// Scale and zero point of a tensor that is quantized as a whole. Scales per channel are tensors of their own,
    /// parts of it.
    pub quantizer: Option<(f64, i64)>,
    /// The tensor itself, with the parts that it is made of.
    pub(crate) tensor: &'a Tensor,
}

/// The Python class of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TensorClass {
    Tensor,
    Parameter,
    /// A subclass, by the node of its name.
    Named(NodeId),
}

/// The kinds of tensors. Parts that are tensors themselves are nodes of the document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorKind {
    /// A strided view of a storage.
    Strided(TensorRef),
    /// Integers, and the way to scale them.
    Quantized { integers: TensorRef, quantizer: Quantizer },
    /// Integers of less than a byte, several in each byte of the storage: they have no elements that can be viewed.
    Packed { layout: Layout, quantizer: Quantizer },
    /// A sparse tensor: its shape, and the tensors that it is made of.
    Sparse { layout: SparseLayout, shape: Vec<u64>, parts: Vec<NodeId>, coalesced: Option<bool> },
    /// A nested tensor of torch's strided layout: buffer, sizes, strides, offsets.
    Nested { parts: [NodeId; 4] },
    /// A tensor on the meta device: a layout without elements.
    Meta(Layout),
    /// A subclass that wraps other tensors: it has a layout and no elements of its own.
    Wrapper(Layout),
    /// A tensor rebuilt by a function that only its own library knows, such as a jagged nested tensor.
    Foreign { function: NodeId, args: NodeId },
}

/// How a sparse tensor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SparseLayout {
    Coo,
    Csr,
    Csc,
    Bsr,
    Bsc,
}

impl SparseLayout {
    /// Every layout with torch's name of it.
    const ALL: [(&'static str, Self); 5] = [
        ("torch.sparse_coo", Self::Coo),
        ("torch.sparse_csr", Self::Csr),
        ("torch.sparse_csc", Self::Csc),
        ("torch.sparse_bsr", Self::Bsr),
        ("torch.sparse_bsc", Self::Bsc),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|&(_, layout)| layout)
    }

    /// The number of tensors that make up a sparse tensor.
    pub(super) fn parts(self) -> usize {
        if self == Self::Coo { 2 } else { 3 }
    }
}

/// How the integers of a quantized tensor are scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantizer {
    PerTensor { scale: f64, zero_point: i64 },
    PerChannel { scales: NodeId, zero_points: NodeId, axis: i64 },
}

impl Tensor {
    pub(crate) fn new(kind: TensorKind, requires_grad: bool) -> Self {
        Self { kind, class: TensorClass::Tensor, requires_grad, state: None }
    }

    /// The layout over a storage, if the tensor has elements of its own.
    pub(crate) fn elements(&self) -> Option<&TensorRef> {
        match &self.kind {
            TensorKind::Strided(tensor) | TensorKind::Quantized { integers: tensor, .. } => Some(tensor),
            _ => None,
        }
    }

    /// The memory that the tensor takes here, in bytes.
    pub(super) fn cost(&self) -> u64 {
        let dims = match &self.kind {
            TensorKind::Strided(t) | TensorKind::Quantized { integers: t, .. } => 2 * t.layout.shape.len(),
            TensorKind::Packed { layout, .. } | TensorKind::Meta(layout) | TensorKind::Wrapper(layout) => {
                2 * layout.shape.len()
            }
            TensorKind::Sparse { shape, parts, .. } => shape.len() + parts.len(),
            TensorKind::Nested { .. } | TensorKind::Foreign { .. } => 0,
        };
        // The map that holds the tensor is up to half empty.
        2 * size_of::<(NodeId, Self)>() as u64 + 8 * dims as u64
    }
}
