//! [`ItemValue`]: a node as Python would see it.

use std::borrow::Cow;

use super::super::dtype::Dtype;
use super::super::pickle::{Document, How, Node, NodeId, Object, Span};
use super::dtypes;
use super::numpy::{self, Scalar};
use super::rebuild::{Objects, Stored, sequence};
use super::tensor::{Quantizer, Tensor, TensorClass, TensorItem, TensorKind};

/// The value of an [`Item`](crate::Item), and of every node that this package reads. Containers hold nodes, whose
/// values are read one by one: a walk visits them as items of their own.
#[derive(Clone, Debug)]
pub enum ItemValue<'a> {
    /// Python's `None`.
    None,
    /// A bool.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer, in decimal, or in hexadecimal beyond 4300 digits.
    BigInt(String),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A text, with each lone surrogate as U+FFFD.
    Str(Cow<'a, str>),
    /// Bytes or a bytearray.
    Bytes(Cow<'a, [u8]>),
    /// A dtype.
    Dtype(Dtype),
    /// A device.
    Device(String),
    /// A tensor.
    Tensor(TensorItem<'a>),
    /// A storage that is a value of its own, by its index in [`TorchFile::storages`](crate::TorchFile::storages).
    Storage(usize),
    /// A list.
    List(&'a [NodeId]),
    /// A tuple, a `torch.Size`, or the named tuple that an operator of torch returned.
    Tuple(&'a [NodeId]),
    /// A dict, an OrderedDict, a defaultdict or a Counter, in insertion order.
    Dict(Cow<'a, [(NodeId, NodeId)]>),
    /// A set.
    Set(&'a [NodeId]),
    /// A frozenset.
    FrozenSet(&'a [NodeId]),
    /// Anything else: the name of its class, or its own name if it is a class or a function.
    Opaque(String),
}

/// The value of node `id`.
pub(crate) fn value<'d>(document: &'d Document, objects: &'d Objects, id: NodeId) -> ItemValue<'d> {
    if let Some(tensor) = objects.tensor(id) {
        return ItemValue::Tensor(tensor_item(document, tensor));
    }
    match document.node(id) {
        Node::None => ItemValue::None,
        Node::Bool(value) => ItemValue::Bool(*value),
        Node::Int(value) => ItemValue::Int(*value),
        node @ (Node::BigInt(_) | Node::Decimal(_)) => ItemValue::BigInt(document.big_int(node).unwrap_or_default()),
        Node::Float(value) => ItemValue::Float(*value),
        &Node::Str(span) => ItemValue::Str(document.text(span)),
        &(Node::Bytes(span) | Node::ByteArray(span)) => ItemValue::Bytes(Cow::Borrowed(document.bytes(span))),
        Node::List(items) => ItemValue::List(items),
        Node::Tuple(items) => ItemValue::Tuple(items),
        Node::Dict(pairs) => ItemValue::Dict(Cow::Borrowed(pairs)),
        Node::Set(items) => ItemValue::Set(items),
        Node::FrozenSet(items) => ItemValue::FrozenSet(items),
        &Node::Global { module, name } => global(document, module, name),
        Node::Object(object) => self::object(document, objects, id, object),
        Node::Persistent { .. } => match objects.stored(id) {
            Some(Stored::Storage { index, .. }) => ItemValue::Storage(index),
            // An inner node is a class, so this does not recurse further.
            Some(Stored::Inner(inner)) => ItemValue::Opaque(class_name(document, inner)),
            None => ItemValue::Opaque("persistent id".to_owned()),
        },
    }
}

/// The tensor as a walk shows it.
fn tensor_item<'d>(document: &Document, tensor: &'d Tensor) -> TensorItem<'d> {
    let (kind, layout, shape) = match &tensor.kind {
        TensorKind::Strided(t) => ("strided", Some(&t.layout), None),
        TensorKind::Quantized { integers, .. } => ("quantized", Some(&integers.layout), None),
        TensorKind::Packed { layout, .. } => ("quantized", Some(layout), None),
        TensorKind::Sparse { shape, .. } => ("sparse", None, Some(&shape[..])),
        TensorKind::Nested { .. } => ("nested", None, None),
        TensorKind::Meta(layout) => ("meta", Some(layout), None),
        TensorKind::Wrapper(layout) => ("wrapper", Some(layout), None),
        TensorKind::Foreign { .. } => ("foreign", None, None),
    };
    TensorItem {
        kind,
        class: match tensor.class {
            TensorClass::Tensor => Cow::Borrowed("torch.Tensor"),
            TensorClass::Parameter => Cow::Borrowed("torch.nn.parameter.Parameter"),
            TensorClass::Named(id) => Cow::Owned(class_name(document, id)),
        },
        shape: shape.or_else(|| layout.map(|layout| &layout.shape[..])),
        layout,
        elements: tensor.elements(),
        requires_grad: tensor.requires_grad,
        quantizer: match tensor.kind {
            TensorKind::Quantized { quantizer: Quantizer::PerTensor { scale, zero_point }, .. } => {
                Some((scale, zero_point))
            }
            _ => None,
        },
        tensor,
    }
}

fn global<'d>(document: &Document, module: Span, name: Span) -> ItemValue<'d> {
    let (module, name) = (document.text(module), document.text(name));
    match dtypes::dtype(&module, &name) {
        Some(dtype) => ItemValue::Dtype(dtype),
        None => ItemValue::Opaque(dotted(&module, &name)),
    }
}

/// The longest class name that is kept; real classes have far shorter names.
const NAME_CHARS: usize = 200;

fn dotted(module: &str, name: &str) -> String {
    format!("{module}.{name}").chars().take(NAME_CHARS).collect()
}

/// The name of the class or function `id`.
pub(crate) fn class_name(document: &Document, id: NodeId) -> String {
    match document.as_global(id) {
        Some((module, name)) => dotted(&module, &name),
        None => "object".to_owned(),
    }
}

fn object<'d>(document: &'d Document, objects: &'d Objects, id: NodeId, object: &'d Object) -> ItemValue<'d> {
    let args = document.as_tuple(object.args()).unwrap_or_default();
    let opaque = || ItemValue::Opaque(opaque_class(document, objects, object, args));
    let Some((module, name)) = document.as_global(object.callable()) else { return opaque() };
    let known = match (&*module, &*name) {
        ("torch", "device") => device(document, args),
        ("torch", "Size") => sequence(document, id).map(ItemValue::Tuple),
        ("torch.return_types", _) => args.first().and_then(|&items| document.as_tuple(items)).map(ItemValue::Tuple),
        ("builtins" | "__builtin__", "complex") => complex(document, args),
        ("builtins" | "__builtin__", "set") => items(document, args).map(ItemValue::Set),
        ("builtins" | "__builtin__", "frozenset") => items(document, args).map(ItemValue::FrozenSet),
        ("builtins" | "__builtin__", "bytearray" | "bytes") | ("_codecs", "encode") => bytes(document, args),
        ("collections", "OrderedDict" | "defaultdict" | "Counter") => dict(document, object, args),
        (module, "scalar") if numpy::is_multiarray(module) => scalar(document, args),
        _ => None,
    };
    known.filter(|_| object.how() == How::Call).unwrap_or_else(opaque)
}

/// The number of a scalar of NumPy.
fn scalar<'d>(document: &'d Document, args: &[NodeId]) -> Option<ItemValue<'d>> {
    let &[dtype, content] = args else { return None };
    let Some(ItemValue::Bytes(content)) = bytes(document, &[content]) else { return None };
    Some(match numpy::scalar(document, dtype, content.into_owned())? {
        Scalar::Bool(value) => ItemValue::Bool(value),
        Scalar::Int(value) => ItemValue::Int(value),
        Scalar::Unsigned(value) => ItemValue::BigInt(value.to_string()),
        Scalar::Float(value) => ItemValue::Float(value),
        Scalar::Complex(re, im) => ItemValue::Complex(re, im),
    })
}

/// The class of the object that a call makes: the callable, or the class that `copyreg` or NumPy is asked to make an
/// instance of.
fn opaque_class(document: &Document, objects: &Objects, object: &Object, args: &[NodeId]) -> String {
    if let Some(Stored::Inner(class)) = objects.stored(object.callable()) {
        return class_name(document, class);
    }
    match (document.as_global(object.callable()), args.first()) {
        (Some((module, _)), Some(&class)) if matches!(&*module, "copyreg" | "copy_reg") => class_name(document, class),
        (Some((module, name)), Some(&class)) if numpy::is_multiarray(&module) && name == "_reconstruct" => {
            class_name(document, class)
        }
        _ => class_name(document, object.callable()),
    }
}

fn device<'d>(document: &Document, args: &[NodeId]) -> Option<ItemValue<'d>> {
    let kind = document.as_name(*args.first()?)?;
    Some(ItemValue::Device(match args.get(1).and_then(|&index| document.as_int(index)) {
        Some(index) => format!("{kind}:{index}"),
        None => kind.into_owned(),
    }))
}

fn complex<'d>(document: &Document, args: &[NodeId]) -> Option<ItemValue<'d>> {
    match args {
        &[re, im] => match (document.node(re), document.node(im)) {
            (&Node::Float(re), &Node::Float(im)) => Some(ItemValue::Complex(re, im)),
            _ => None,
        },
        _ => None,
    }
}

/// The items of the one list or tuple that a set is made from.
fn items<'d>(document: &'d Document, args: &[NodeId]) -> Option<&'d [NodeId]> {
    match args {
        [] => Some(&[]),
        &[list] => sequence(document, list),
        _ => None,
    }
}

/// Bytes as protocols below 3 write them: `encode(text, "latin1")`, or a bytearray made from such a text.
fn bytes<'d>(document: &'d Document, args: &[NodeId]) -> Option<ItemValue<'d>> {
    let bytes = match args {
        [] => Cow::Borrowed(&[][..]),
        &[content] => match document.node(content) {
            &(Node::Bytes(span) | Node::ByteArray(span)) => Cow::Borrowed(document.bytes(span)),
            Node::Object(inner) => match document.as_global(inner.callable()) {
                Some((module, name)) if module == "_codecs" && name == "encode" => {
                    latin1(document, document.as_tuple(inner.args())?)?
                }
                _ => return None,
            },
            _ => return None,
        },
        _ => latin1(document, args)?,
    };
    Some(ItemValue::Bytes(bytes))
}

fn latin1<'d>(document: &Document, args: &[NodeId]) -> Option<Cow<'d, [u8]>> {
    let &[text, encoding] = args else { return None };
    let &Node::Str(text) = document.node(text) else { return None };
    if !matches!(&*document.as_name(encoding)?, "latin1" | "latin-1" | "iso-8859-1") {
        return None;
    }
    document.text(text).chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>().map(Cow::Owned)
}

/// The pairs of a dict class: pairs set after it was made, or pairs it was made from.
fn dict<'d>(document: &'d Document, object: &'d Object, args: &[NodeId]) -> Option<ItemValue<'d>> {
    if !object.pairs().is_empty() {
        return Some(ItemValue::Dict(Cow::Borrowed(object.pairs())));
    }
    let pairs = match args.first().map(|&made_from| document.node(made_from)) {
        Some(Node::Dict(pairs)) => Cow::Borrowed(&pairs[..]),
        Some(Node::List(items)) => {
            let pair = |&item: &NodeId| match sequence(document, item) {
                Some(&[key, value]) => Some((key, value)),
                _ => None,
            };
            Cow::Owned(items.iter().map(pair).collect::<Option<_>>()?)
        }
        _ => Cow::Borrowed(&[][..]),
    };
    Some(ItemValue::Dict(pairs))
}
