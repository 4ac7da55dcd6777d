//! [`Inspection`]: the document `plimsoll.inspect/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Dtype, Verified};
use plimsoll_memory::bytes::ByteSize;

/// The extensions of the files in a folder that are inspected.
pub const EXTENSIONS: [&str; 4] = ["pt", "pth", "ckpt", "bin"];

/// The functions that digests are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DigestFunction {
    /// SHA-256.
    Sha256,
    /// BLAKE3, with 256 bits.
    Blake3,
}

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "plimsoll.inspect/1";

/// The content of a file, or of the files of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inspection {
    /// The schema of the document: `plimsoll.inspect/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The path of the file or folder, as the user gave it.
    pub path: String,
    /// The function that computed the digests; absent if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<DigestFunction>,
    /// An element for each file, in the byte order of their names.
    pub entries: Vec<EntryInspection>,
    /// Storages that occur more than once, the largest saving first.
    pub repeats: Vec<Repeat>,
    /// Sums over all entries.
    pub totals: Totals,
    /// The first error of `entries`, or the folder's own; absent if everything could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

/// The content of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryInspection {
    /// The path of the file.
    pub file: String,
    /// The file's size; absent if it could not be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteSize>,
    /// Every tensor, in the order of the values; the parts of a tensor follow the tensor.
    pub tensors: Vec<TensorInspection>,
    /// Every other value, with containers before the values in them.
    pub values: Vec<ValueInspection>,
    /// The number of values beyond those listed; absent if all are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_values: Option<u64>,
    /// The storages that the values refer to, in the order of first reference.
    pub storages: Vec<StorageInspection>,
    /// The result of checking the CRC-32s of the records; absent if not all were checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Why the file, or something in it, could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TensorInspection {
    /// The tensor's place: `$["kwargs"]["weight"]`, `[0]` for items, `{repr}` for other keys, `!name` for parts.
    pub path: String,
    /// The path at which the same tensor occurred first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias_of: Option<String>,
    /// The kind: `strided`, `quantized`, `sparse`, `nested`, `meta`, `wrapper` or `foreign`.
    pub kind: String,
    /// The tensor's Python class.
    pub class: String,
    /// The type of its elements, or of the values of a sparse or nested tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<Dtype>,
    /// The size of each dimension, if the file gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// The step of each dimension, in elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strides: Option<Vec<u64>>,
    /// The place of the first element, in elements from the start of the storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_offset: Option<u64>,
    /// The storage under it, by [`StorageInspection::id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// The bytes of its elements, each counted once for every place in the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_bytes: Option<ByteSize>,
    /// The bytes of the storage under it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<ByteSize>,
    /// Whether gradients are recorded.
    pub requires_grad: bool,
    /// Whether its elements are the conjugates of the stored ones.
    pub conj: bool,
    /// Whether its elements are the negatives of the stored ones.
    pub neg: bool,
    /// How integers become numbers, for a tensor that is quantized as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantizer: Option<Quantizer>,
    /// The digest of its elements, row-major and little-endian, conjugated and negated as its bits say: hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// How the integers of a quantized tensor become numbers: `(integer - zero_point) * scale`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantizer {
    /// The scale.
    pub scale: Number,
    /// The scale in hexadecimal, as Python's `float.hex` writes it.
    pub scale_hex: String,
    /// The zero point.
    pub zero_point: i64,
}

/// A value that is not a tensor. There can be a million of them, so rare fields are small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueInspection {
    /// The value's place, as for tensors.
    pub path: Box<str>,
    /// The path at which the same object occurred first; its content is listed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias_of: Option<Box<str>>,
    /// The value's type.
    #[serde(rename = "type")]
    pub kind: ValueKind,
    /// The value itself, if it holds no others. Text and bytes (in hexadecimal) of more than 64 KiB are cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Scalar>,
    /// A float, or the two parts of a complex number, as Python's `float.hex` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<Hex>,
    /// The number of items of a container, characters of a text, or bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The class of an opaque value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Box<str>>,
    /// The storage that is the value, by [`StorageInspection::id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Box<str>>,
}

/// The types of values that are not tensors, by their Python names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are Python's names")]
pub enum ValueKind {
    #[serde(rename = "None")]
    None,
    Bool,
    Int,
    Float,
    Complex,
    Str,
    Bytes,
    Dtype,
    Device,
    /// A storage that is a value of its own.
    Storage,
    List,
    Tuple,
    Dict,
    Set,
    FrozenSet,
    /// An object of another class.
    Opaque,
}

impl ValueKind {
    /// The type's name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Complex => "complex",
            Self::Str => "str",
            Self::Bytes => "bytes",
            Self::Dtype => "dtype",
            Self::Device => "device",
            Self::Storage => "storage",
            Self::List => "list",
            Self::Tuple => "tuple",
            Self::Dict => "dict",
            Self::Set => "set",
            Self::FrozenSet => "frozenset",
            Self::Opaque => "opaque",
        }
    }

    /// Whether the type holds other values, which are listed separately.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::List | Self::Tuple | Self::Dict | Self::Set | Self::FrozenSet)
    }
}

/// Floats in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Hex {
    /// A float.
    Float(Box<str>),
    /// Real and imaginary part.
    Complex(Box<[String; 2]>),
}

/// A value that JSON can hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A bool.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A float.
    Number(Number),
    /// A text, or the decimal digits of an integer beyond 64 bits.
    Text(Box<str>),
    /// A complex number: real and imaginary part.
    Complex(Box<[Number; 2]>),
}

/// A float.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Number {
    /// A finite float.
    Finite(f64),
    /// One of `nan`, `inf` or `-inf`.
    Named(NonFinite),
}

/// A float that JSON cannot represent as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NonFinite {
    /// Not a number.
    #[serde(rename = "nan")]
    Nan,
    /// Positive infinity.
    #[serde(rename = "inf")]
    Infinite,
    /// Negative infinity.
    #[serde(rename = "-inf")]
    NegativeInfinite,
}

impl NonFinite {
    /// The float's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nan => "nan",
            Self::Infinite => "inf",
            Self::NegativeInfinite => "-inf",
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        match value {
            f64::INFINITY => Self::Named(NonFinite::Infinite),
            f64::NEG_INFINITY => Self::Named(NonFinite::NegativeInfinite),
            value if value.is_nan() => Self::Named(NonFinite::Nan),
            value => Self::Finite(value),
        }
    }
}

/// A storage: bytes that tensors are views of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageInspection {
    /// The storage's name in the file, unique there: `0` for the record `data/0`.
    pub id: String,
    /// The storage's size.
    pub bytes: ByteSize,
    /// The CRC-32 that the file records, in eight hexadecimal digits; absent if the writer computed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<String>,
    /// The bytes between the first and the last element of its tensors. The rest is stored without being used.
    pub reached_bytes: ByteSize,
    /// The paths of its tensors, if there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_by: Vec<String>,
    /// The digest of its bytes, little-endian: hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Storages with equal content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The size of each storage.
    pub bytes: ByteSize,
    /// Whether digests prove that the contents are equal; if not, size and CRC-32 suggest it.
    pub proven: bool,
    /// The bytes that storing the content once would save.
    pub saved_bytes: ByteSize,
    /// The storages with this content.
    pub storages: Vec<RepeatedStorage>,
}

/// One of several storages of equal content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedStorage {
    /// The index of the entry in [`Inspection::entries`].
    pub entry: usize,
    /// The storage, by [`StorageInspection::id`].
    pub storage: String,
}

/// Sums over all entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// The number of files.
    pub entries: u64,
    /// The number of files with an error.
    pub errors: u64,
    /// The number of tensors, aliases not counted.
    pub tensors: u64,
    /// The number of storages.
    pub storages: u64,
    /// The size of all files together.
    pub file_bytes: ByteSize,
    /// The size of all storages together.
    pub stored_bytes: ByteSize,
    /// The logical bytes of the tensors, aliases not counted.
    pub logical_bytes: ByteSize,
    /// The bytes of storages that no tensor reaches.
    pub unreached_bytes: ByteSize,
    /// The bytes that storing every repeated storage once would save.
    pub repeated_bytes: ByteSize,
}

/// An error, as documents show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The path of the file or folder.
    pub file: String,
    /// The record of the archive, if the error is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The offset of the byte at fault: within the record if there is one, else within the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The layer that found the error: `source`, `archive`, `pickle`, `tensor` and others.
    pub kind: String,
    /// The message: what and where, why, and what to do next.
    pub message: String,
}
