//! [`ExtractError`]: why a tensor cannot be taken out.

use std::io;
use std::path::PathBuf;

use super::format::Format;
use crate::{CaptureError, Dtype};
use plimsoll_memory::bytes::ByteSize;

/// Why a tensor cannot be taken out into a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The file is malformed or cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// There is no tensor at the path.
    #[error("{}: there is no tensor at {tensor}; `plimsoll inspect` lists the paths of all tensors", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The path asked for.
        tensor: String,
    },
    /// The tensor has no elements of its own.
    #[error("{}: {tensor} is a {kind} tensor without elements of its own; take out its parts, such as {tensor}!values", path.display())]
    NoElements {
        /// The file.
        path: PathBuf,
        /// The path of the tensor.
        tensor: String,
        /// Its kind.
        kind: &'static str,
    },
    /// The name of the output tells no format.
    #[error("{}: the format is told by the extension: write to a .npy, .safetensors or .bin file", path.display())]
    Format {
        /// The output.
        path: PathBuf,
    },
    /// The format has no such dtype.
    #[error("{format} has no {dtype}; write to a .bin file, which holds the bytes of any dtype")]
    Dtype {
        /// The format.
        format: Format,
        /// The dtype.
        dtype: Dtype,
    },
    /// The tensor has far more elements than its storage has bytes for: it was expanded, and a small file can say any size.
    #[error(
        "{}: {tensor} is expanded: written out it takes {bytes}, from a storage of {stored}; if that is wanted, write it with --yes",
        path.display()
    )]
    Expanded {
        /// The file.
        path: PathBuf,
        /// The path of the tensor.
        tensor: String,
        /// What its elements take.
        bytes: ByteSize,
        /// What its storage takes.
        stored: ByteSize,
    },
    /// The output cannot be written.
    #[error("{}: cannot be written: {source}; check its folder and the disk", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}
