//! What goes wrong when files are taken apart and put together.

use std::io;

use super::super::error::CaptureError;

/// An error of taking a file apart or of putting it together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// The file cannot be read or is malformed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// What lies around the storages is too large to be kept in memory.
    #[error("{path}: {bytes} bytes lie around its storages, more than the {limit} allowed; keep the file whole")]
    TooLarge {
        /// The file.
        path: String,
        /// The bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The caller's sink did not take a payload.
    #[error("payload `{key}` cannot be stored: {source}; check the place where payloads go")]
    Sink {
        /// The payload's storage.
        key: String,
        /// What the sink said.
        source: io::Error,
    },
    /// The bytes are no skeleton.
    #[error("the skeleton is malformed: {0}; take the file apart again")]
    Malformed(String),
    /// A payload cannot be read.
    #[error("payload `{key}` cannot be read: {source}; check the place where payloads are kept")]
    Source {
        /// The payload's storage.
        key: String,
        /// What reading it said.
        source: io::Error,
    },
    /// A payload has another size than in the original file.
    #[error("payload `{key}` has {relation} bytes than the {expected} that it had; it is another one, or damaged")]
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
        "the rebuilt file has BLAKE3 {actual} and the original had {expected}: do not use it; a payload is damaged"
    )]
    Digest {
        /// The digest of the original.
        expected: String,
        /// The digest of what was written.
        actual: String,
    },
}
