//! [`RebuildError`]: the errors of tensors and storages.

use crate::dtype::Dtype;
use crate::tensor::OutsideStorage;

/// A tensor or a storage that is malformed.
///
/// What to do: save the tensors again with `torch.save`; a file that fails again is damaged, or was not written by
/// torch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// A rebuild function has an argument that torch never gives it.
    #[error("`{function}` is called with an invalid {argument}")]
    Argument {
        /// The function, such as `_rebuild_tensor_v2`.
        function: String,
        /// The argument.
        argument: &'static str,
    },
    /// A size, stride or offset is negative.
    #[error("a tensor has a negative {0}")]
    Negative(&'static str),
    /// A tensor's bytes cannot be counted in 64 bits.
    #[error("a tensor of shape {0:?} has more than 2^64 - 1 bytes")]
    Overflow(Vec<u64>),
    /// A tensor reaches beyond its storage.
    #[error(transparent)]
    Outside(Box<OutsideStorage>),
    /// A persistent id does not name a storage.
    #[error("a persistent id does not name a storage: {0}")]
    PersistentId(&'static str),
    /// A storage class does not exist in torch.
    #[error("`{0}` is not a storage class")]
    StorageClass(String),
    /// A storage has fewer bytes in the file than the pickle announces.
    #[error("storage `{key}` should have {announced} bytes, but has {bytes} in the file")]
    StorageShort {
        /// The storage's key.
        key: String,
        /// The bytes that the pickle announces.
        announced: u64,
        /// The bytes in the file.
        bytes: u64,
    },
    /// The pickles before or after the values are not as torch writes them.
    #[error("{0}")]
    Header(&'static str),
    /// A big-endian storage is used with elements of two widths, so its bytes cannot be swapped.
    #[error("storage `{0}` is big-endian, and its elements have more than one width")]
    ByteOrder(String),
    /// The file has more tensors than any reasonable one.
    #[error("the tensors take more than {limit} bytes to describe")]
    TooMany {
        /// The limit in bytes.
        limit: u64,
    },
    /// Items are set on a tensor: torch writes none, and they would change its elements.
    #[error("items are set on a tensor after it was rebuilt")]
    Items,
    /// A conjugate or negative bit is set on a dtype that cannot carry it.
    #[error("a {dtype} tensor cannot carry the {bit} bit")]
    Bit {
        /// The dtype.
        dtype: Dtype,
        /// The bit: `conj` or `neg`.
        bit: &'static str,
    },
}
