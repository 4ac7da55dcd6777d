//! Conversion of a file's nodes to [`Argument`]s, the tree that a kernel gets.

use std::collections::HashSet;

use super::argument::Argument;
use super::error::{CONTAINER, ConvertError, DEPTH_LIMIT, TENSOR, TEXT_LIMIT, VALUES_LIMIT};
use super::object::{ItemValue, Objects, Tensor, TensorItem, TensorKind, value};
use super::pickle::{Document, NodeId};

/// Turns nodes of one document into arguments, within limits for all of them together.
pub(super) struct Converter<'d> {
    document: &'d Document,
    objects: &'d Objects,
    values: usize,
    text: usize,
    /// The containers around the value being converted.
    open: HashSet<NodeId>,
}

impl<'d> Converter<'d> {
    pub(super) fn new(document: &'d Document, objects: &'d Objects) -> Self {
        Self { document, objects, values: 0, text: 0, open: HashSet::new() }
    }

    /// The argument that node `id` represents.
    pub(super) fn argument(&mut self, id: NodeId) -> Result<Argument, ConvertError> {
        let value = value(self.document, self.objects, id);
        self.values += match &value {
            ItemValue::Tensor(_) => TENSOR,
            ItemValue::List(_) | ItemValue::Tuple(_) | ItemValue::Dict(_) => CONTAINER,
            _ => 1,
        };
        if self.values > VALUES_LIMIT {
            return Err(ConvertError::TooMany);
        }
        Ok(match value {
            ItemValue::None => Argument::None,
            ItemValue::Bool(value) => Argument::Bool(value),
            ItemValue::Int(value) => Argument::Int(value),
            ItemValue::BigInt(digits) => Argument::BigInt(self.counted(digits.len(), digits)?),
            ItemValue::Float(value) => Argument::Float(value),
            ItemValue::Complex(re, im) => Argument::Complex(re, im),
            ItemValue::Str(text) => Argument::Str(self.counted(text.len(), text)?.into_owned()),
            ItemValue::Bytes(bytes) => Argument::Bytes(self.counted(bytes.len(), bytes)?.into_owned()),
            ItemValue::Dtype(dtype) => Argument::Dtype(dtype),
            ItemValue::Device(device) => Argument::Device(device),
            ItemValue::Tensor(TensorItem { tensor, .. }) => {
                self.counted(description(tensor), ())?;
                tensor_argument(tensor)
            }
            ItemValue::Storage(_) => opaque("torch.UntypedStorage", "a storage, not a tensor"),
            ItemValue::List(items) => Argument::List(self.nested(id, |this| this.arguments(items))?),
            ItemValue::Tuple(items) => Argument::Tuple(self.nested(id, |this| this.arguments(items))?),
            ItemValue::Dict(pairs) => Argument::Dict(self.nested(id, |this| {
                pairs.iter().map(|&(key, value)| Ok((this.argument(key)?, this.argument(value)?))).collect()
            })?),
            ItemValue::Set(_) => opaque("set", "a set has no order"),
            ItemValue::FrozenSet(_) => opaque("frozenset", "a frozenset has no order"),
            ItemValue::Opaque(class) => {
                Argument::Opaque { class: self.counted(class.len(), class)?, detail: "not a plain value".to_owned() }
            }
        })
    }

    fn arguments(&mut self, items: &[NodeId]) -> Result<Vec<Argument>, ConvertError> {
        items.iter().map(|&item| self.argument(item)).collect()
    }

    /// Converts the content of container `id`, which must not be inside itself.
    fn nested<T>(
        &mut self,
        id: NodeId,
        inside: impl FnOnce(&mut Self) -> Result<T, ConvertError>,
    ) -> Result<T, ConvertError> {
        if self.open.len() >= DEPTH_LIMIT {
            return Err(ConvertError::TooDeep);
        }
        if !self.open.insert(id) {
            return Err(ConvertError::Cycle);
        }
        let converted = inside(self)?;
        self.open.remove(&id);
        Ok(converted)
    }

    fn counted<T>(&mut self, bytes: usize, text: T) -> Result<T, ConvertError> {
        self.text = self.text.saturating_add(bytes);
        if self.text > TEXT_LIMIT { Err(ConvertError::TooLong) } else { Ok(text) }
    }
}

/// The bytes that the sizes and strides of a tensor take.
fn description(tensor: &Tensor) -> usize {
    tensor.elements().map_or(0, |elements| 16 * elements.layout.shape.len())
}

fn opaque(class: &str, detail: &str) -> Argument {
    Argument::Opaque { class: class.to_owned(), detail: detail.to_owned() }
}

fn tensor_argument(tensor: &Tensor) -> Argument {
    match &tensor.kind {
        TensorKind::Strided(tensor) => Argument::Tensor(tensor.clone()),
        TensorKind::Quantized { .. } | TensorKind::Packed { .. } => opaque("torch.Tensor", "a quantized tensor"),
        TensorKind::Sparse { .. } => opaque("torch.Tensor", "a sparse tensor"),
        TensorKind::Nested { .. } => opaque("torch.Tensor", "a nested tensor"),
        TensorKind::Meta(_) => opaque("torch.Tensor", "a tensor on the meta device, without elements"),
        TensorKind::Wrapper(_) => opaque("torch.Tensor", "a subclass that wraps other tensors"),
        TensorKind::Foreign { .. } => opaque("torch.Tensor", "a tensor that its own library rebuilds"),
    }
}
