//! [`Value`]: a node as Python would see it.

use std::borrow::Cow;

use super::super::dtype::Dtype;
use super::super::pickle::{Document, How, Node, NodeId, Object, Span};
use super::dtypes;
use super::numpy::{self, Scalar};
use super::rebuild::{Objects, Stored, sequence};
use super::tensor::Tensor;

/// A value of a document. What it contains are nodes, whose values are asked for one by one.
#[derive(Clone, Debug)]
pub(crate) enum Value<'d> {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits, in decimal, or in hexadecimal where Python prints no decimal.
    BigInt(String),
    Float(f64),
    Complex(f64, f64),
    /// A text, surrogates replaced.
    Str(Cow<'d, str>),
    /// Bytes or a bytearray.
    Bytes(Cow<'d, [u8]>),
    Dtype(Dtype),
    Device(String),
    Tensor(&'d Tensor),
    /// A storage that is a value of its own.
    Storage(usize),
    List(&'d [NodeId]),
    /// A tuple, a `torch.Size`, or the named tuple that an operator of torch returned.
    Tuple(&'d [NodeId]),
    /// A dict, an OrderedDict, a defaultdict or a Counter, in insertion order.
    Dict(Cow<'d, [(NodeId, NodeId)]>),
    Set(&'d [NodeId]),
    FrozenSet(&'d [NodeId]),
    /// Anything else: the name of its class, or of itself where it is a class or a function.
    Opaque(String),
}

/// The value of node `id`.
pub(crate) fn value<'d>(document: &'d Document, objects: &'d Objects, id: NodeId) -> Value<'d> {
    if let Some(tensor) = objects.tensor(id) {
        return Value::Tensor(tensor);
    }
    match document.node(id) {
        Node::None => Value::None,
        Node::Bool(value) => Value::Bool(*value),
        Node::Int(value) => Value::Int(*value),
        node @ (Node::BigInt(_) | Node::Decimal(_)) => Value::BigInt(document.big_int(node).unwrap_or_default()),
        Node::Float(value) => Value::Float(*value),
        &Node::Str(span) => Value::Str(document.text(span)),
        &(Node::Bytes(span) | Node::ByteArray(span)) => Value::Bytes(Cow::Borrowed(document.bytes(span))),
        Node::List(items) => Value::List(items),
        Node::Tuple(items) => Value::Tuple(items),
        Node::Dict(pairs) => Value::Dict(Cow::Borrowed(pairs)),
        Node::Set(items) => Value::Set(items),
        Node::FrozenSet(items) => Value::FrozenSet(items),
        &Node::Global { module, name } => global(document, module, name),
        Node::Object(object) => self::object(document, objects, id, object),
        Node::Persistent { .. } => match objects.stored(id) {
            Some(Stored::Storage { index, .. }) => Value::Storage(index),
            // An inner node is a class, so that this does not go deeper.
            Some(Stored::Inner(inner)) => Value::Opaque(class_name(document, inner)),
            None => Value::Opaque("persistent id".to_owned()),
        },
    }
}

fn global<'d>(document: &Document, module: Span, name: Span) -> Value<'d> {
    let (module, name) = (document.text(module), document.text(name));
    match dtypes::dtype(&module, &name) {
        Some(dtype) => Value::Dtype(dtype),
        None => Value::Opaque(dotted(&module, &name)),
    }
}

/// The longest class name that is kept: names of real classes are far shorter.
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

fn object<'d>(document: &'d Document, objects: &'d Objects, id: NodeId, object: &'d Object) -> Value<'d> {
    let args = document.as_tuple(object.args()).unwrap_or_default();
    let opaque = || Value::Opaque(opaque_class(document, objects, object, args));
    let Some((module, name)) = document.as_global(object.callable()) else { return opaque() };
    let known = match (&*module, &*name) {
        ("torch", "device") => device(document, args),
        ("torch", "Size") => sequence(document, id).map(Value::Tuple),
        ("torch.return_types", _) => args.first().and_then(|&items| document.as_tuple(items)).map(Value::Tuple),
        ("builtins" | "__builtin__", "complex") => complex(document, args),
        ("builtins" | "__builtin__", "set") => items(document, args).map(Value::Set),
        ("builtins" | "__builtin__", "frozenset") => items(document, args).map(Value::FrozenSet),
        ("builtins" | "__builtin__", "bytearray" | "bytes") | ("_codecs", "encode") => bytes(document, args),
        ("collections", "OrderedDict" | "defaultdict" | "Counter") => dict(document, object, args),
        (module, "scalar") if numpy::is_multiarray(module) => scalar(document, args),
        _ => None,
    };
    known.filter(|_| object.how() == How::Call).unwrap_or_else(opaque)
}

/// The number of a scalar of NumPy.
fn scalar<'d>(document: &'d Document, args: &[NodeId]) -> Option<Value<'d>> {
    let &[dtype, content] = args else { return None };
    let Some(Value::Bytes(content)) = bytes(document, &[content]) else { return None };
    Some(match numpy::scalar(document, dtype, content.into_owned())? {
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => Value::Int(value),
        Scalar::Unsigned(value) => Value::BigInt(value.to_string()),
        Scalar::Float(value) => Value::Float(value),
        Scalar::Complex(re, im) => Value::Complex(re, im),
    })
}

/// The class of what a call makes: what is called, or the class that `copyreg` or NumPy is asked to make an instance of.
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

fn device<'d>(document: &Document, args: &[NodeId]) -> Option<Value<'d>> {
    let kind = document.as_name(*args.first()?)?;
    Some(Value::Device(match args.get(1).and_then(|&index| document.as_int(index)) {
        Some(index) => format!("{kind}:{index}"),
        None => kind.into_owned(),
    }))
}

fn complex<'d>(document: &Document, args: &[NodeId]) -> Option<Value<'d>> {
    match args {
        &[re, im] => match (document.node(re), document.node(im)) {
            (&Node::Float(re), &Node::Float(im)) => Some(Value::Complex(re, im)),
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
fn bytes<'d>(document: &'d Document, args: &[NodeId]) -> Option<Value<'d>> {
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
    Some(Value::Bytes(bytes))
}

fn latin1<'d>(document: &Document, args: &[NodeId]) -> Option<Cow<'d, [u8]>> {
    let &[text, encoding] = args else { return None };
    let &Node::Str(text) = document.node(text) else { return None };
    if !matches!(&*document.as_name(encoding)?, "latin1" | "latin-1" | "iso-8859-1") {
        return None;
    }
    document.text(text).chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>().map(Cow::Owned)
}

/// The pairs of a dict class: those set after it was made, or those it was made from.
fn dict<'d>(document: &'d Document, object: &'d Object, args: &[NodeId]) -> Option<Value<'d>> {
    if !object.pairs().is_empty() {
        return Some(Value::Dict(Cow::Borrowed(object.pairs())));
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
    Some(Value::Dict(pairs))
}
