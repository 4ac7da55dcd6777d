//! [`Residency`]: the memory that an entry needs while it is launched, known from its headers.

use std::path::Path;
use std::sync::Arc;

use super::argument::Argument;
use super::storage::{Storage, StoragePlace};
use plimsoll_memory::bytes::ByteSize;

/// The identity of a storage across the entries of a capture.
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

    /// The file that holds the storage.
    pub fn file(&self) -> &Arc<Path> {
        &self.file
    }

    /// The identity of `storage`.
    pub fn of(storage: &Storage) -> Self {
        match storage.place() {
            StoragePlace::File { path, offset } | StoragePlace::Encoded { path, offset, .. } => {
                Self::in_file(Arc::clone(path), *offset)
            }
        }
    }
}

/// The memory that an entry needs while it is launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// The storages that its arguments reach, each once, with their sizes.
    pub storages: Vec<(StorageId, ByteSize)>,
    /// The bytes of its outputs, each tensor stored once and contiguously.
    pub outputs: ByteSize,
}

impl Residency {
    /// The bytes of storages and outputs together.
    pub fn bytes(&self) -> ByteSize {
        self.storages.iter().map(|&(_, bytes)| bytes).sum::<ByteSize>() + self.outputs
    }

    /// The residency of a call with `arguments` over `storages`, which returned `output`.
    pub(super) fn of<'a>(
        storages: &[Storage],
        arguments: impl Iterator<Item = &'a Argument>,
        output: &Argument,
    ) -> Self {
        let mut reached = vec![false; storages.len()];
        let mut path = String::new();
        for argument in arguments {
            argument.for_each_leaf(&mut path, &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf {
                    reached[tensor.storage] = true;
                }
            });
        }
        let mut outputs = ByteSize::ZERO;
        output.for_each_leaf(&mut path, &mut |_, leaf| {
            if let Argument::Tensor(tensor) = leaf {
                outputs += ByteSize::new(tensor.layout.logical_bytes().unwrap_or(u64::MAX));
            }
        });
        let storages = storages.iter().zip(reached).filter(|(_, reached)| *reached);
        Self { storages: storages.map(|(storage, _)| (StorageId::of(storage), storage.bytes())).collect(), outputs }
    }
}
