//! [`Argument`]: a value of an entry, in the form for kernels and for JSON.

mod json;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::dtype::Dtype;
use super::tensor::Layout;

/// A tensor among the arguments: a layout over one of the entry's storages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorRef {
    /// The index of the storage in [`Entry::storages`](super::Entry::storages).
    pub storage: usize,
    /// The layout of the tensor in its storage.
    pub layout: Layout,
}

/// A value that a capture holds: an argument of the captured call, or a part of its result.
///
/// None, booleans, 64-bit integers and texts are JSON's own; everything else is an object of one key that names the
/// variant. Floats are always tagged, so that `1.0` never becomes an integer on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Argument {
    /// An integer beyond 64 bits, in decimal.
    #[serde(rename = "int")]
    BigInt(#[serde(deserialize_with = "json::big_int")] String),
    /// A Python float. Three floats are not numbers in JSON: `"nan"`, `"inf"`, `"-inf"`.
    Float(#[serde(with = "json::float")] f64),
    /// A Python complex number.
    Complex(#[serde(with = "json::float")] f64, #[serde(with = "json::float")] f64),
    /// Bytes, or a bytearray; hexadecimal in JSON.
    Bytes(#[serde(with = "json::hex")] Vec<u8>),
    /// A `torch.dtype`.
    Dtype(Dtype),
    /// A `torch.device`, such as `cuda:0`.
    Device(String),
    /// A tensor.
    Tensor(TensorRef),
    /// A list.
    List(Vec<Argument>),
    /// A tuple, or a `torch.Size`.
    Tuple(Vec<Argument>),
    /// A dictionary, in insertion order.
    Dict(Vec<(Argument, Argument)>),
    /// An object that is not a plain value, and cannot be passed to a kernel.
    Opaque {
        /// The class, such as `torch.memory_format`.
        class: String,
        /// The reason, for messages.
        detail: String,
    },
    /// Python's `None`.
    #[serde(untagged)]
    None,
    /// A bool.
    #[serde(untagged)]
    Bool(bool),
    /// An integer of at most 64 bits, sign included.
    #[serde(untagged)]
    Int(i64),
    /// A text. Lone surrogates are kept as `\u{fffd}`.
    #[serde(untagged)]
    Str(String),
}

impl Argument {
    /// The kind of the value, for messages: `tensor`, `int`, `list` ...
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::BigInt(_) => "int",
            Self::Float(_) => "float",
            Self::Complex(..) => "complex",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::Dtype(_) => "dtype",
            Self::Device(_) => "device",
            Self::Tensor(_) => "tensor",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
            Self::Opaque { .. } => "object",
        }
    }

    /// Calls `visit` for every tensor, in order, with its path below this value: `[0]`, `["mask"]`.
    pub fn for_each_leaf<'a>(&'a self, path: &mut String, visit: &mut dyn FnMut(&str, &'a Argument)) {
        let mut below = |suffix: String, value: &'a Argument, path: &mut String| {
            let length = path.len();
            path.push_str(&suffix);
            value.for_each_leaf(path, visit);
            path.truncate(length);
        };
        match self {
            Self::List(items) | Self::Tuple(items) => {
                for (i, item) in items.iter().enumerate() {
                    below(format!("[{i}]"), item, path);
                }
            }
            Self::Dict(items) => {
                for (key, item) in items {
                    below(format!("[{key}]"), item, path);
                }
            }
            leaf => visit(path, leaf),
        }
    }
}

impl fmt::Display for Argument {
    /// The value as Python would write it, tensors as `tensor(dtype, shape)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list(f: &mut fmt::Formatter<'_>, open: &str, items: &[Argument], close: &str) -> fmt::Result {
            f.write_str(open)?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{item}")?;
            }
            f.write_str(close)
        }
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(n) => write!(f, "{n}"),
            Self::BigInt(n) => f.write_str(n),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Complex(re, im) => write!(f, "({re:?}{im:+?}j)"),
            Self::Str(s) => write!(f, "{s:?}"),
            Self::Bytes(b) => write!(f, "<{} bytes>", b.len()),
            Self::Dtype(d) => write!(f, "torch.{d}"),
            Self::Device(d) => write!(f, "device({d:?})"),
            Self::Tensor(t) => write!(f, "tensor({}, {:?})", t.layout.dtype, t.layout.shape),
            Self::List(items) => list(f, "[", items, "]"),
            Self::Tuple(items) if items.len() == 1 => write!(f, "({},)", items[0]),
            Self::Tuple(items) => list(f, "(", items, ")"),
            Self::Dict(items) => {
                f.write_str("{")?;
                for (i, (key, value)) in items.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Self::Opaque { class, .. } => write!(f, "<{class}>"),
        }
    }
}
