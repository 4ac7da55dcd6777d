//! [`InspectError`]: why a file or a folder cannot be inspected.

use std::io;
use std::path::{Path, PathBuf};

use super::document::{EXTENSIONS, ErrorReport};
use crate::CaptureError;
use crate::store::StoreError;
use plimsoll_memory::bytes::ByteSize;

/// Why a file or a folder cannot be inspected, or not completely.
#[derive(Debug, thiserror::Error)]
pub(super) enum InspectError {
    /// A file is malformed or cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The store cannot be listed.
    #[error("{error}")]
    Store {
        /// The store.
        path: PathBuf,
        /// Why it cannot be listed.
        error: StoreError,
    },
    /// The folder cannot be listed.
    #[error("{}: cannot be listed: {source}; check the path and its permissions", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder has no files to inspect.
    #[error("{}: the folder holds no file of torch.save (*.{}); give a file or another folder", path.display(), EXTENSIONS.join(", *."))]
    NoFiles {
        /// The folder.
        path: PathBuf,
    },
    /// Listing the values would take more work than any reasonable file needs.
    #[error(
        "{}: listing the values takes more than {limit}, because objects are referred to again and again; do not trust this file",
        path.display()
    )]
    Listing {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: ByteSize,
    },
    /// Views of the same storages, or views that repeat their elements, add up to far more than the file holds.
    #[error(
        "{}: digests of all tensors would read more than {limit}, and {tensor} has {bytes}; inspect it without --digest, \
         or take single tensors out with --tensor",
        path.display()
    )]
    Digests {
        /// The file.
        path: PathBuf,
        /// The path of the first tensor that has no digest.
        tensor: String,
        /// The tensor's logical bytes.
        bytes: ByteSize,
        /// The limit.
        limit: ByteSize,
    },
}

impl InspectError {
    /// The error, as documents show it.
    pub(super) fn report(&self) -> ErrorReport {
        let (path, kind): (&Path, _) = match self {
            Self::Capture(error) => {
                return ErrorReport {
                    file: error.file.to_string_lossy().into_owned(),
                    record: error.record.clone(),
                    offset: error.offset,
                    kind: error.kind.name().to_owned(),
                    message: error.to_string(),
                };
            }
            Self::Store { path, .. } => (path, "store"),
            Self::Folder { path, .. } | Self::NoFiles { path } => (path, "folder"),
            Self::Listing { path, .. } => (path, "listing"),
            Self::Digests { path, .. } => (path, "digest"),
        };
        ErrorReport {
            file: path.to_string_lossy().into_owned(),
            record: None,
            offset: None,
            kind: kind.to_owned(),
            message: self.to_string(),
        }
    }
}
