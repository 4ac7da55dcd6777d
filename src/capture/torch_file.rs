//! The content of a file of torch.save, whatever its format.

use super::content::Content;
use super::error::{CaptureError, PackedError};
use super::pickle::PickleBytes;
use super::source::SourceFile;
use super::storage::{Encoding, Storage, StoragePlace};
use super::store::packed::Packed;
use super::{archive, legacy, tar, zipped};
use plimsoll_memory::bytes::ByteSize;

impl Content {
    /// Reads the headers and the pickle of `source`.
    pub(super) fn read(source: &SourceFile) -> Result<Self, CaptureError> {
        let is_archive = if source.is_remote() { archive::is_at_end(source)? } else { archive::is_at_start(source)? };
        let mut content = match is_archive {
            true => zipped::read(source)?,
            false if tar::is_tar(source)? => tar::read(source)?,
            false => legacy::read(source)?,
        };
        if let PickleBytes::Mapped(map) = content.document.source() {
            map.intact()?;
        }
        if let Some(packed) = source.packed() {
            let moved = content.storages.iter_mut().try_for_each(|storage| move_to_object(storage, packed));
            moved.map_err(|error| source.error(error))?;
        }
        Ok(content)
    }
}

/// Changes the place of `storage` from its offset in the packed file to its place in the store.
fn move_to_object(storage: &mut Storage, packed: &Packed) -> Result<(), PackedError> {
    let (offset, encoding) = match &storage.place {
        StoragePlace::File { offset, .. } => (*offset, None),
        StoragePlace::Encoded { offset, encoding, .. } => (*offset, Some(*encoding)),
    };
    let stored = encoding.and_then(|encoding| encoding.deflated).unwrap_or(storage.bytes);
    let found = packed.place(offset, stored.bytes()).ok_or_else(|| PackedError::Cut(storage.key.clone()))?;
    let path = found.object.path.clone();
    let zstd = found.object.compressed.then_some(ByteSize::new(found.object.stored));
    if zstd.is_some() && encoding.is_some_and(|encoding| encoding.deflated.is_some()) {
        return Err(PackedError::Twice(storage.key.clone()));
    }
    storage.place = match (encoding, zstd) {
        (None, None) => StoragePlace::File { path, offset: found.at },
        (encoding, zstd) => {
            let Encoding { deflated, swapped, .. } = encoding.unwrap_or_default();
            StoragePlace::Encoded { path, offset: found.at, encoding: Encoding { deflated, swapped, zstd } }
        }
    };
    Ok(())
}
