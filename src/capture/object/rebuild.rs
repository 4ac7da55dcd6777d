//! torch's rebuild functions, read as layouts over storages.

use std::collections::HashMap;

use super::super::argument::TensorRef;
use super::super::dtype::Dtype;
use super::super::pickle::{Document, How, Node, NodeId, Object};
use super::super::storage::{Encoding, Storage, StoragePlace};
use super::super::tensor::{Layout, OutsideStorage};
use super::dtypes;
use super::persistent::{Locate, LocateError, Located};
use super::tensor::{Quantizer, SparseLayout, Tensor, TensorClass, TensorKind};
use crate::error::RebuildError;

/// The most memory that all tensors of a file may take here, in bytes: enough for some 100,000.
const TENSORS_LIMIT: u64 = 64 << 20;

/// The tensors and storages that a document refers to.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    tensors: HashMap<NodeId, Tensor>,
    stored: HashMap<NodeId, Stored>,
    cost: u64,
}

/// The thing that a persistent id stands for, if it is not a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Bytes `start..start + bytes` of storage number `index`, with elements of `dtype` if it is typed.
    Storage { index: usize, dtype: Option<Dtype>, start: u64, bytes: u64 },
    /// The node within the id.
    Inner(NodeId),
}

/// Why a document's tensors cannot be rebuilt, with the offset in the pickle where that shows.
#[derive(Debug)]
pub(crate) struct ObjectsError {
    pub(crate) offset: u64,
    pub(crate) error: LocateError,
}

impl Objects {
    /// Rebuilds every tensor of `document`.
    pub(crate) fn read(document: &Document, locate: &mut dyn Locate) -> Result<Self, ObjectsError> {
        let mut objects = Self::default();
        // Arguments come before their call, so one pass in order is enough.
        for (id, node) in document.nodes() {
            let (offset, outcome) = match node {
                Node::Persistent { id: name, offset } => {
                    (u64::from(*offset), objects.persistent(document, id, *name, locate))
                }
                Node::Object(object) if object.how() == How::Call => {
                    (object.offset(), objects.object(document, id, object, locate.storages()).map_err(Into::into))
                }
                _ => continue,
            };
            outcome.map_err(|error| ObjectsError { offset, error })?;
        }
        Ok(objects)
    }

    /// The tensor that `id` stands for.
    pub(crate) fn tensor(&self, id: NodeId) -> Option<&Tensor> {
        self.tensors.get(&id)
    }

    /// The thing that the persistent id `id` stands for.
    pub(crate) fn stored(&self, id: NodeId) -> Option<Stored> {
        self.stored.get(&id).copied()
    }

    fn persistent(
        &mut self,
        document: &Document,
        id: NodeId,
        name: NodeId,
        locate: &mut dyn Locate,
    ) -> Result<(), LocateError> {
        match locate.locate(document, name)? {
            Located::Storage { index, dtype, start, bytes } => {
                self.stored.insert(id, Stored::Storage { index, dtype, start, bytes });
            }
            Located::Inner(node) => drop(self.stored.insert(id, Stored::Inner(node))),
            Located::Tensor(tensor) => self.insert(id, tensor)?,
        }
        Ok(())
    }

    fn object(
        &mut self,
        document: &Document,
        id: NodeId,
        object: &Object,
        storages: &[Storage],
    ) -> Result<(), RebuildError> {
        let call = Rebuild { document, objects: self, storages };
        match call.tensor(object.callable(), object.args(), true)? {
            Some(_) if !object.items().is_empty() || !object.pairs().is_empty() => Err(RebuildError::Items),
            Some(mut tensor) => {
                tensor.state = tensor.state.or(object.state());
                self.insert(id, tensor)
            }
            None => Ok(()),
        }
    }

    fn insert(&mut self, id: NodeId, tensor: Tensor) -> Result<(), RebuildError> {
        self.cost = self.cost.saturating_add(tensor.cost());
        if self.cost > TENSORS_LIMIT {
            return Err(RebuildError::TooMany { limit: TENSORS_LIMIT });
        }
        self.tensors.insert(id, tensor);
        Ok(())
    }
}

/// The state with which a call of a rebuild function is read.
struct Rebuild<'a> {
    document: &'a Document,
    objects: &'a Objects,
    storages: &'a [Storage],
}

/// The arguments of one call.
struct Call<'a> {
    function: &'a str,
    args: &'a [NodeId],
}

impl Call<'_> {
    fn wrong(&self, argument: &'static str) -> RebuildError {
        RebuildError::Argument { function: self.function.to_owned(), argument }
    }

    fn get(&self, index: usize, argument: &'static str) -> Result<NodeId, RebuildError> {
        self.args.get(index).copied().ok_or_else(|| self.wrong(argument))
    }
}

impl Rebuild<'_> {
    /// The tensor that `function(*args)` makes; `None` if it makes something else. `outer` is false for the function
    /// given to `_rebuild_from_type_v2`, which cannot be another of its kind, because such nests could be endless.
    fn tensor(&self, function: NodeId, args: NodeId, outer: bool) -> Result<Option<Tensor>, RebuildError> {
        let Some((module, name)) = self.document.as_global(function) else { return Ok(None) };
        if !matches!(&*module, "torch._utils" | "torch._tensor" | "torch.tensor" | "torch.nn.parameter") {
            return Ok(None);
        }
        let Some(items) = self.document.as_tuple(args) else { return Ok(None) };
        let call = Call { function: &name, args: items };
        let tensor = match &*name {
            "_rebuild_tensor" => Tensor::new(TensorKind::Strided(self.strided(&call, None, None)?), false),
            "_rebuild_tensor_v2" => {
                Tensor::new(TensorKind::Strided(self.strided(&call, None, call.args.get(6))?), self.flag(&call, 4)?)
            }
            "_rebuild_tensor_v3" => {
                let dtype = Some(self.dtype(&call, 6)?);
                Tensor::new(TensorKind::Strided(self.strided(&call, dtype, call.args.get(7))?), self.flag(&call, 4)?)
            }
            "_rebuild_qtensor" => Tensor::new(self.quantized(&call)?, self.flag(&call, 5)?),
            "_rebuild_parameter" | "_rebuild_parameter_with_state" => {
                let data = call.get(0, "data")?;
                let requires_grad = self.flag(&call, 1)?;
                let data = self.objects.tensor(data).cloned();
                let data = data.unwrap_or_else(|| Tensor::new(TensorKind::Foreign { function, args }, requires_grad));
                Tensor { class: TensorClass::Parameter, requires_grad, state: call.args.get(3).copied(), ..data }
            }
            "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor" => Tensor::new(self.sparse(&call)?, false),
            "_rebuild_nested_tensor" => {
                let parts = call.args.try_into().map_err(|_| call.wrong("buffer, sizes, strides and offsets"))?;
                Tensor::new(TensorKind::Nested { parts }, false)
            }
            "_rebuild_meta_tensor_no_storage" => {
                let layout = self.layout(&call, self.dtype(&call, 0)?, [1, 2], None, None)?;
                Tensor::new(TensorKind::Meta(layout), self.flag(&call, 3)?)
            }
            "_rebuild_wrapper_subclass" => {
                let layout = self.layout(&call, self.dtype(&call, 1)?, [2, 3], Some(4), None)?;
                let class = TensorClass::Named(call.get(0, "class")?);
                Tensor { class, ..Tensor::new(TensorKind::Wrapper(layout), self.flag(&call, 7)?) }
            }
            "_rebuild_from_type_v2" | "_rebuild_from_type" if outer => {
                let inner = (call.get(0, "function")?, call.get(2, "arguments")?);
                let foreign = TensorKind::Foreign { function: inner.0, args: inner.1 };
                let made = self.tensor(inner.0, inner.1, false)?.unwrap_or_else(|| Tensor::new(foreign, false));
                let class = match self.class(call.get(1, "class")?) {
                    TensorClass::Tensor => made.class,
                    class => class,
                };
                Tensor { class, state: call.args.get(3).copied(), ..made }
            }
            "_rebuild_device_tensor_from_numpy" | "_rebuild_device_tensor_from_cpu_tensor" | "_rebuild_xla_tensor" => {
                Tensor::new(TensorKind::Foreign { function, args }, self.flag(&call, 3)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(tensor))
    }

    fn class(&self, id: NodeId) -> TensorClass {
        match self.document.as_global(id) {
            Some((module, name)) => match (&*module, &*name) {
                ("torch" | "torch._tensor", "Tensor") => TensorClass::Tensor,
                ("torch.nn.parameter" | "torch.nn", "Parameter") => TensorClass::Parameter,
                _ => TensorClass::Named(id),
            },
            None => TensorClass::Named(id),
        }
    }

    /// A strided tensor from `(storage, offset, size, stride, ..)`. If `dtype` is `None`, the storage's own is used.
    fn strided(
        &self,
        call: &Call<'_>,
        dtype: Option<Dtype>,
        metadata: Option<&NodeId>,
    ) -> Result<TensorRef, RebuildError> {
        let stored = self.objects.stored(call.get(0, "storage")?);
        let Some(Stored::Storage { index, dtype: typed, start, bytes }) = stored else {
            return Err(call.wrong("storage"));
        };
        let dtype = dtype.or(typed).unwrap_or(Dtype::U8);
        let mut layout = self.layout(call, dtype, [2, 3], Some(1), metadata)?;
        let within = layout.reach().is_some_and(|reach| reach.end <= bytes);
        if !within {
            return Err(RebuildError::Outside(Box::new(OutsideStorage { layout, storage: bytes })));
        }
        // A view that does not start at a whole element cannot be expressed in elements; torch refuses it too.
        if start % dtype.size() != 0 {
            return Err(call.wrong("storage: a view starts within an element"));
        }
        layout.offset = layout.offset.saturating_add(start / dtype.size());
        let storage = &self.storages[index];
        if let StoragePlace::Encoded { encoding: Encoding { swapped: Some(width), .. }, .. } = storage.place
            && width != dtypes::swap_width(dtype)
        {
            return Err(RebuildError::ByteOrder(storage.key.clone()));
        }
        Ok(TensorRef { layout, storage: index })
    }

    /// The layout from the arguments with these indices.
    fn layout(
        &self,
        call: &Call<'_>,
        dtype: Dtype,
        [shape, strides]: [usize; 2],
        offset: Option<usize>,
        metadata: Option<&NodeId>,
    ) -> Result<Layout, RebuildError> {
        let shape = self.sizes(call, shape, "size")?;
        let strides = self.sizes(call, strides, "stride")?;
        if shape.len() != strides.len() {
            return Err(call.wrong("stride: it does not have as many dimensions as the size"));
        }
        let offset = match offset {
            Some(index) => self.size(call, call.get(index, "offset")?, "offset")?,
            None => 0,
        };
        let (conj, neg) = self.bits(call, dtype, metadata)?;
        let layout = Layout { dtype, shape, strides, offset, conj, neg };
        if layout.logical_bytes().is_none() || layout.reach().is_none() {
            return Err(RebuildError::Overflow(layout.shape));
        }
        Ok(layout)
    }

    /// The conjugate and the negative bit.
    fn bits(&self, call: &Call<'_>, dtype: Dtype, metadata: Option<&NodeId>) -> Result<(bool, bool), RebuildError> {
        let pairs = match metadata.map(|&id| self.document.node(id)) {
            None | Some(Node::None) => return Ok((false, false)),
            // torch writes at most two pairs; a large dict shared by many tensors would be read once for each.
            Some(Node::Dict(pairs)) if pairs.len() <= 16 => pairs,
            Some(_) => return Err(call.wrong("metadata")),
        };
        let (mut conj, mut neg) = (false, false);
        for &(key, value) in pairs {
            let set = matches!(self.document.node(value), Node::Bool(true));
            match self.document.as_name(key).as_deref() {
                Some("conj") => conj = set,
                Some("neg") => neg = set,
                _ => {}
            }
        }
        if conj && !dtype.is_complex() {
            return Err(RebuildError::Bit { dtype, bit: "conj" });
        }
        if neg && !dtypes::can_negate(dtype) {
            return Err(RebuildError::Bit { dtype, bit: "neg" });
        }
        Ok((conj, neg))
    }

    fn sizes(&self, call: &Call<'_>, index: usize, what: &'static str) -> Result<Vec<u64>, RebuildError> {
        let id = call.get(index, what)?;
        let items = sequence(self.document, id).ok_or_else(|| call.wrong(what))?;
        if items.len() as u64 * 8 > TENSORS_LIMIT {
            return Err(RebuildError::TooMany { limit: TENSORS_LIMIT });
        }
        items.iter().map(|&item| self.size(call, item, what)).collect()
    }

    fn size(&self, call: &Call<'_>, id: NodeId, what: &'static str) -> Result<u64, RebuildError> {
        let value = self.document.as_int(id).ok_or_else(|| call.wrong(what))?;
        u64::try_from(value).map_err(|_| RebuildError::Negative(what))
    }

    fn flag(&self, call: &Call<'_>, index: usize) -> Result<bool, RebuildError> {
        match self.document.node(call.get(index, "requires_grad")?) {
            Node::Bool(flag) => Ok(*flag),
            _ => Err(call.wrong("requires_grad")),
        }
    }

    fn dtype(&self, call: &Call<'_>, index: usize) -> Result<Dtype, RebuildError> {
        let global = self.document.as_global(call.get(index, "dtype")?);
        global.and_then(|(module, name)| dtypes::dtype(&module, &name)).ok_or_else(|| call.wrong("dtype"))
    }

    fn quantized(&self, call: &Call<'_>) -> Result<TensorKind, RebuildError> {
        let quantizer = self.quantizer(call)?;
        let stored = self.objects.stored(call.get(0, "storage")?);
        let (dtype, bytes) = match stored {
            Some(Stored::Storage { dtype: Some(dtype), bytes, .. }) if dtypes::per_byte(dtype) > 1 => (dtype, bytes),
            _ => return Ok(TensorKind::Quantized { integers: self.strided(call, None, None)?, quantizer }),
        };
        let layout = self.layout(call, dtype, [2, 3], Some(1), None)?;
        if layout.reach().is_some_and(|reach| reach.end.div_ceil(dtypes::per_byte(dtype)) <= bytes) {
            Ok(TensorKind::Packed { layout, quantizer })
        } else {
            Err(RebuildError::Outside(Box::new(OutsideStorage { layout, storage: bytes })))
        }
    }

    fn quantizer(&self, call: &Call<'_>) -> Result<Quantizer, RebuildError> {
        let wrong = || call.wrong("quantizer");
        let items = self.document.as_tuple(call.get(4, "quantizer")?).ok_or_else(wrong)?;
        let (&scheme, params) = items.split_first().ok_or_else(wrong)?;
        let (_, scheme) = self.document.as_global(scheme).ok_or_else(wrong)?;
        match (&*scheme, params) {
            ("per_tensor_affine" | "per_tensor_symmetric", &[scale, zero_point]) => {
                match (self.document.node(scale), self.document.as_int(zero_point)) {
                    (&Node::Float(scale), Some(zero_point)) => Ok(Quantizer::PerTensor { scale, zero_point }),
                    _ => Err(wrong()),
                }
            }
            (_, &[scales, zero_points, axis]) => {
                let axis = self.document.as_int(axis).ok_or_else(wrong)?;
                Ok(Quantizer::PerChannel { scales, zero_points, axis })
            }
            _ => Err(wrong()),
        }
    }

    fn sparse(&self, call: &Call<'_>) -> Result<TensorKind, RebuildError> {
        let layout = call.get(0, "layout")?;
        // The layout is `_get_layout("torch.sparse_coo")`; old files have the text alone.
        let name = match self.document.node(layout) {
            Node::Object(object) => self.document.as_tuple(object.args()).and_then(|args| args.first().copied()),
            _ => Some(layout),
        };
        let name = name.and_then(|name| self.document.as_name(name));
        let layout = name.and_then(|name| SparseLayout::named(&name)).ok_or_else(|| call.wrong("layout"))?;
        let data = sequence(self.document, call.get(1, "data")?).ok_or_else(|| call.wrong("data"))?;
        let (parts, rest) = data.split_at_checked(layout.parts()).ok_or_else(|| call.wrong("data"))?;
        let (shape, rest) = rest.split_first().ok_or_else(|| call.wrong("shape"))?;
        let shape = self.sizes(&Call { function: call.function, args: &[*shape] }, 0, "shape")?;
        let coalesced = rest.first().and_then(|&id| match self.document.node(id) {
            Node::Bool(coalesced) => Some(*coalesced),
            _ => None,
        });
        Ok(TensorKind::Sparse { layout, shape, parts: parts.to_vec(), coalesced })
    }
}

/// The items of a tuple, a list or a `torch.Size`.
pub(super) fn sequence(document: &Document, id: NodeId) -> Option<&[NodeId]> {
    match document.node(id) {
        Node::Tuple(items) => Some(items),
        Node::List(items) => Some(items),
        Node::Object(object) if matches!(document.as_global(object.callable()), Some((m, n)) if m == "torch" && n == "Size") => {
            match document.as_tuple(object.args())? {
                &[items] => match document.node(items) {
                    Node::Tuple(items) => Some(items),
                    Node::List(items) => Some(items),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}
