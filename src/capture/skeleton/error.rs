//! [`SkeletonError`]: the errors of taking files apart and putting them together.

use std::io;

use super::super::error::CaptureError;

/// An error of taking a file apart or of putting it together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// The file cannot be read or is malformed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The bytes around the storages are too many to be kept in memory.
    #[error("{path}: {bytes} bytes are around its storages, more than the {limit} allowed; keep the file whole")]
    TooLarge {
        /// The file.
        path: String,
        /// The number of bytes around the storages.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The caller's sink did not take a payload.
    #[error("payload `{key}` cannot be stored: {source}; check the place where payloads go")]
    Sink {
        /// The payload's storage.
        key: String,
        /// The error of the sink.
        source: io::Error,
    },
    /// The bytes are not a skeleton.
    #[error("the skeleton is malformed: {0}; take the file apart again")]
    Malformed(String),
    /// A payload cannot be read.
    #[error("payload `{key}` cannot be read: {source}; check the place where payloads are kept")]
    Source {
        /// The payload's storage.
        key: String,
        /// The error of reading it.
        source: io::Error,
    },
    /// A payload has another size than in the original file.
    #[error("payload `{key}` has {relation} bytes than the {expected} of the original; give the original payload")]
    PayloadSize {
        /// The payload's storage.
        key: String,
        /// `more` or `fewer`.
        relation: &'static str,
        /// The size in the original file.
        expected: u64,
    },
    /// The rebuilt file cannot be written.
    #[error("the rebuilt file cannot be written: {0}; check space and permissions")]
    Write(io::Error),
    /// The file put together is not the original.
    #[error(
        "the rebuilt file has BLAKE3 {actual}, but the original had {expected}: do not use it; a payload is damaged"
    )]
    Digest {
        /// The digest of the original.
        expected: String,
        /// The digest of the rebuilt file.
        actual: String,
    },
}
