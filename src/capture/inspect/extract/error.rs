//! [`ExtractError`]: the errors of extracting a tensor.

use std::io;
use std::path::PathBuf;

use super::format::Format;
use crate::{CaptureError, Dtype};
use plimsoll_memory::bytes::ByteSize;

/// Why a tensor cannot be extracted to a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The file is malformed or cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// There is no tensor at that path.
    #[error("{}: there is no tensor at {tensor}; `plimsoll inspect` lists the paths of all tensors", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The requested path.
        tensor: String,
    },
    /// The tensor has no elements of its own.
    #[error("{}: {tensor} is a {kind} tensor without elements of its own; extract its parts, such as {tensor}!values", path.display())]
    NoElements {
        /// The file.
        path: PathBuf,
        /// The path of the tensor.
        tensor: String,
        /// The kind of tensor.
        kind: &'static str,
    },
    /// The name of the output does not give a format.
    #[error("{}: the extension selects the format: write to a .npy, .safetensors or .bin file", path.display())]
    Format {
        /// The output.
        path: PathBuf,
    },
    /// The format does not have the tensor's dtype.
    #[error("{format} has no {dtype}; write to a .bin file, which holds the bytes of any dtype")]
    Dtype {
        /// The format.
        format: Format,
        /// The dtype.
        dtype: Dtype,
    },
    /// The tensor has far more elements than its storage has bytes for: it was expanded, and a small file can claim any
    /// size.
    #[error(
        "{}: {tensor} is expanded: written out, it takes {bytes}, from a storage of {stored}; add --yes to write it",
        path.display()
    )]
    Expanded {
        /// The file.
        path: PathBuf,
        /// The path of the tensor.
        tensor: String,
        /// The bytes that its elements take.
        bytes: ByteSize,
        /// The bytes that its storage takes.
        stored: ByteSize,
    },
    /// The output cannot be written.
    #[error("{}: cannot be written: {source}; check its folder and the disk", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
