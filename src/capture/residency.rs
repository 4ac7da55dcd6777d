//! [`Residency`]: what an entry keeps in memory while it is launched, known from its headers.

use std::path::Path;
use std::sync::Arc;

use crate::bytes::ByteSize;

/// What tells one storage from another across the entries of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId {
    file: Arc<Path>,
    offset: u64,
}

impl StorageId {
    /// The storage whose bytes start at `offset` of `file`.
    pub fn in_file(file: Arc<Path>, offset: u64) -> Self {
        Self { file, offset }
    }
}

/// What will be resident when an entry is launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// The storages that its arguments reach, each once, with their sizes.
    pub storages: Vec<(StorageId, ByteSize)>,
    /// The bytes of its outputs, each tensor stored once and contiguously.
    pub outputs: ByteSize,
}
