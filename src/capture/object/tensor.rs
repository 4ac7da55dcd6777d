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
    /// The attributes that were saved with it.
    pub(crate) state: Option<NodeId>,
}

/// A tensor of a [`TorchFile`](crate::TorchFile): what every kind of tensor has, in one shape.
#[derive(Clone, Debug)]
pub struct TensorItem<'a> {
    /// `strided`, `quantized`, `sparse`, `nested`, `meta`, `wrapper` or `foreign`.
    pub kind: &'static str,
    /// Its Python class: `torch.Tensor`, `torch.nn.parameter.Parameter`, or a subclass.
    pub class: Cow<'a, str>,
    /// Its shape, if the file says it.
    pub shape: Option<&'a [u64]>,
    /// How its elements lie: over the storage where it has one, without elements where it has none.
    pub layout: Option<&'a Layout>,
    /// The elements in their storage, for the kinds that have elements of their own.
    pub elements: Option<&'a TensorRef>,
    /// Whether gradients are recorded.
    pub requires_grad: bool,
    /// Scale and zero point of a tensor that is quantized as a whole. Those of channels are tensors, parts of it.
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
    /// Integers, and how they are to be scaled.
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
    /// Rebuilt by a function that only its own library knows, as a jagged nested tensor is.
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

    /// The number of tensors that make one.
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

    /// The layout over a storage, where it has elements of its own.
    pub(crate) fn elements(&self) -> Option<&TensorRef> {
        match &self.kind {
            TensorKind::Strided(tensor) | TensorKind::Quantized { integers: tensor, .. } => Some(tensor),
            _ => None,
        }
    }

    /// What the tensor takes in memory here, in bytes.
    pub(super) fn cost(&self) -> u64 {
        let dims = match &self.kind {
            TensorKind::Strided(t) | TensorKind::Quantized { integers: t, .. } => 2 * t.layout.shape.len(),
            TensorKind::Packed { layout, .. } | TensorKind::Meta(layout) | TensorKind::Wrapper(layout) => {
                2 * layout.shape.len()
            }
            TensorKind::Sparse { shape, parts, .. } => shape.len() + parts.len(),
            TensorKind::Nested { .. } | TensorKind::Foreign { .. } => 0,
        };
        // The map that holds it is up to half empty.
        2 * size_of::<(NodeId, Self)>() as u64 + 8 * dims as u64
    }
}
