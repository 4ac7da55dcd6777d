//! The children of a value: the items of containers, the parts of tensors and objects, each with its step in a path.

use std::borrow::Cow;

use super::super::pickle::{Document, Node, NodeId};
use super::rebuild::Objects;
use super::repr;
use super::tensor::{Quantizer, SparseLayout, Tensor, TensorItem, TensorKind};
use super::value::{ItemValue, value};

/// One step of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// An item of a list, a tuple or a set.
    Index(usize),
    /// A value of a dict, by the node of its key.
    Key(NodeId),
    /// A part of a tensor or an object.
    Part(&'static str),
}

/// The longest key that is written into a path unchanged, in bytes.
const KEY_BYTES: usize = 1024;

/// How deep tuples as keys are written out.
const KEY_DEPTH: usize = 4;

impl Step {
    /// Appends the step to a path: `[0]`, `["name"]`, `{1}`, `!indices`.
    pub(crate) fn write(self, document: &Document, path: &mut String) {
        match self {
            Self::Index(index) => path.push_str(&format!("[{index}]")),
            Self::Part(part) => {
                path.push('!');
                path.push_str(part);
            }
            Self::Key(key) => match document.as_name(key) {
                Some(name) => {
                    path.push('[');
                    path.push_str(&serde_json::to_string(&name).unwrap_or_default());
                    path.push(']');
                }
                None => {
                    path.push('{');
                    write_key(document, key, KEY_DEPTH, path);
                    path.push('}');
                }
            },
        }
    }
}

/// Writes a key as Python's repr does; values that are not plain, and texts too long for names, are written as their
/// kind.
fn write_key(document: &Document, key: NodeId, depth: usize, out: &mut String) {
    // A tensor as a key is an object without items here, so its place among the tensors does not matter.
    let objects = Objects::default();
    match value(document, &objects, key) {
        ItemValue::None => out.push_str("None"),
        ItemValue::Bool(value) => out.push_str(if value { "True" } else { "False" }),
        ItemValue::Int(value) => out.push_str(&value.to_string()),
        ItemValue::BigInt(digits) if digits.len() <= KEY_BYTES => out.push_str(&digits),
        ItemValue::Float(value) => out.push_str(&repr::float(value)),
        ItemValue::Complex(re, im) => out.push_str(&repr::complex(re, im)),
        ItemValue::Bytes(bytes) => out.push_str(&repr::bytes(&bytes[..bytes.len().min(KEY_BYTES)])),
        ItemValue::Str(_) => match document.as_name(key) {
            Some(name) => out.push_str(&repr::text(&name)),
            None => out.push_str("<str>"),
        },
        ItemValue::Dtype(dtype) => out.push_str(&format!("torch.{dtype}")),
        ItemValue::Device(device) => out.push_str(&repr::device(&device)),
        ItemValue::Tuple(items) if depth > 0 && items.len() <= 16 => {
            out.push('(');
            for (i, &item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_key(document, item, depth - 1, out);
            }
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        ItemValue::BigInt(_) => out.push_str("<int>"),
        _ => out.push_str("<object>"),
    }
}

impl ItemValue<'_> {
    /// Whether the value has an identity that can be shared: containers, tensors and objects have one.
    pub(crate) fn is_object(&self) -> bool {
        match self {
            Self::Tuple(items) => !items.is_empty(),
            Self::Tensor(_) | Self::List(_) | Self::Dict(_) | Self::Set(_) | Self::FrozenSet(_) => true,
            Self::Opaque(_) => true,
            _ => false,
        }
    }
}

/// The children of a node, in order: items, then pairs, then parts. Only the few parts are copied.
#[derive(Default)]
pub(crate) struct Children<'d> {
    items: &'d [NodeId],
    pairs: Cow<'d, [(NodeId, NodeId)]>,
    parts: Vec<(Step, NodeId)>,
    next: usize,
}

impl<'d> Children<'d> {
    /// The children of node `id`.
    pub(crate) fn of(document: &'d Document, objects: &'d Objects, id: NodeId) -> Self {
        let mut children = Self::default();
        let object = match document.node(id) {
            Node::Object(object) => Some(object),
            _ => None,
        };
        match value(document, objects, id) {
            ItemValue::List(items) | ItemValue::Tuple(items) | ItemValue::Set(items) | ItemValue::FrozenSet(items) => {
                children.items = items;
            }
            ItemValue::Dict(pairs) => children.pairs = pairs,
            ItemValue::Tensor(TensorItem { tensor, .. }) => {
                children.parts = tensor_parts(tensor);
                return children;
            }
            ItemValue::Opaque(_) => {
                if let Some(object) = object {
                    (children.items, children.pairs) = (object.items(), Cow::Borrowed(object.pairs()));
                    let args = document.as_tuple(object.args()).is_some_and(|args| !args.is_empty());
                    children.parts.extend(args.then_some((Step::Part("args"), object.args())));
                    children.parts.extend(object.kwargs().map(|kwargs| (Step::Part("kwargs"), kwargs)));
                }
            }
            _ => {}
        }
        let state = object.and_then(|object| object.state());
        children.parts.extend(state.map(|state| (Step::Part("state"), state)));
        children
    }
}

impl Iterator for Children<'_> {
    type Item = (Step, NodeId);

    fn next(&mut self) -> Option<(Step, NodeId)> {
        let index = self.next;
        self.next += 1;
        if let Some(&item) = self.items.get(index) {
            return Some((Step::Index(index), item));
        }
        let index = index - self.items.len();
        match self.pairs.get(index) {
            Some(&(key, item)) => Some((Step::Key(key), item)),
            None => self.parts.get(index - self.pairs.len()).copied(),
        }
    }
}

/// The tensors that a tensor is made of, and the attributes saved with it.
fn tensor_parts(tensor: &Tensor) -> Vec<(Step, NodeId)> {
    let named = |names: &[&'static str], parts: &[NodeId]| {
        names.iter().zip(parts).map(|(&name, &part)| (Step::Part(name), part)).collect()
    };
    let mut parts: Vec<_> = match &tensor.kind {
        TensorKind::Quantized { quantizer: Quantizer::PerChannel { scales, zero_points, .. }, .. }
        | TensorKind::Packed { quantizer: Quantizer::PerChannel { scales, zero_points, .. }, .. } => {
            named(&["scales", "zero_points"], &[*scales, *zero_points])
        }
        TensorKind::Sparse { layout, parts, .. } => match layout {
            SparseLayout::Coo => named(&["indices", "values"], parts),
            SparseLayout::Csr | SparseLayout::Bsr => named(&["crow_indices", "col_indices", "values"], parts),
            SparseLayout::Csc | SparseLayout::Bsc => named(&["ccol_indices", "row_indices", "values"], parts),
        },
        TensorKind::Nested { parts } => named(&["buffer", "sizes", "strides", "offsets"], parts),
        TensorKind::Foreign { args, .. } => vec![(Step::Part("args"), *args)],
        TensorKind::Quantized { .. } | TensorKind::Packed { .. } => Vec::new(),
        TensorKind::Strided(_) | TensorKind::Meta(_) | TensorKind::Wrapper(_) => Vec::new(),
    };
    parts.extend(tensor.state.map(|state| (Step::Part("state"), state)));
    parts
}
