//! [`RebuildError`]: the errors of tensors and storages.

use crate::dtype::Dtype;
use crate::tensor::OutsideStorage;

/// A tensor or a storage that is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// A rebuild function with other arguments than torch gives it.
    #[error("`{function}` is given no valid {argument}")]
    Argument {
        /// The function, such as `_rebuild_tensor_v2`.
        function: String,
        /// The argument.
        argument: &'static str,
    },
    /// A size, stride or offset below zero.
    #[error("a tensor has a negative {0}")]
    Negative(&'static str),
    /// A tensor whose bytes cannot be counted in 64 bits.
    #[error("a tensor of shape {0:?} has more than 2^64 - 1 bytes")]
    Overflow(Vec<u64>),
    /// A tensor that reaches beyond its storage.
    #[error(transparent)]
    Outside(Box<OutsideStorage>),
    /// A persistent id that names no storage.
    #[error("a persistent id names no storage: {0}")]
    PersistentId(&'static str),
    /// A storage class that torch does not have.
    #[error("`{0}` is no storage class")]
    StorageClass(String),
    /// A storage with fewer bytes in the file than its tensors were told.
    #[error("storage `{key}` should have {announced} bytes and has {bytes} in the file")]
    StorageShort {
        /// Its key.
        key: String,
        /// The bytes that the pickle announces.
        announced: u64,
        /// The bytes in the file.
        bytes: u64,
    },
    /// The pickles before or behind the values are not those that torch writes.
    #[error("{0}")]
    Header(&'static str),
    /// A big-endian storage used with elements of two widths, so that it cannot be swapped.
    #[error("storage `{0}` is big-endian and its elements have no single width")]
    ByteOrder(String),
    /// More tensors than any reasonable file has.
    #[error("its tensors take more than {limit} bytes to describe")]
    TooMany {
        /// The limit in bytes.
        limit: u64,
    },
    /// Items that were set on a tensor: torch writes none, and they would change its elements.
    #[error("items are set on a tensor after it was rebuilt")]
    Items,
    /// A conjugate or negative bit on a dtype that cannot carry it.
    #[error("a {dtype} tensor cannot carry the {bit} bit")]
    Bit {
        /// The dtype.
        dtype: Dtype,
        /// `conj` or `neg`.
        bit: &'static str,
    },
}
