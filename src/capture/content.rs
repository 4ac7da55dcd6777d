//! [`Content`]: the common form of every format of torch.save.

use std::ops::Range;

use super::archive::Frame;
use super::error::CaptureError;
use super::object::{Locate, LocateError, Objects};
use super::pickle::{self, Document, PickleBytes};
use super::source::SourceFile;
use super::storage::{Storage, StoragePlace};

/// The content of a file: its values, its tensors, and the places of its storages.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) document: Document,
    pub(super) objects: Objects,
    /// The storages that the values refer to, in the order of first reference.
    pub(super) storages: Vec<Storage>,
    /// The bytes of the file that belong to storages.
    pub(super) payloads: Vec<Payload>,
    /// The bytes of a small archive that this depends on.
    pub(super) frame: Option<Frame>,
}

/// The bytes of one storage in the file.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    /// The name of the storage in the file.
    pub(super) key: String,
    pub(super) range: Range<u64>,
    /// Whether the file records the payload's CRC.
    pub(super) has_crc: bool,
}

impl Payload {
    /// The payloads of `storages`, in a format without CRCs.
    pub(super) fn without_crc(storages: &[Storage]) -> Vec<Self> {
        let payload = |storage: &Storage| match storage.place {
            StoragePlace::File { offset, .. } => {
                Some(Self { key: storage.key.clone(), range: offset..offset + storage.bytes.bytes(), has_crc: false })
            }
            StoragePlace::Encoded { .. } => None,
        };
        storages.iter().filter_map(payload).collect()
    }
}

impl Content {
    /// Reads the pickle that starts at byte `start` of `bytes`, the bytes of `record` or of the whole file.
    pub(super) fn parse(
        source: &SourceFile,
        record: Option<&str>,
        bytes: PickleBytes,
        start: usize,
    ) -> Result<Document, CaptureError> {
        pickle::read(bytes, start).map_err(|error| place(source.error(error.kind).at(error.offset), record))
    }

    /// Rebuilds the tensors of `document`.
    pub(super) fn objects(
        source: &SourceFile,
        record: Option<&str>,
        document: &Document,
        locate: &mut dyn Locate,
    ) -> Result<Objects, CaptureError> {
        Objects::read(document, locate).map_err(|error| match error.error {
            LocateError::Rebuild(kind) => place(source.error(kind).at(error.offset), record),
            LocateError::File(error) => error,
        })
    }
}

fn place(error: CaptureError, record: Option<&str>) -> CaptureError {
    match record {
        Some(record) => error.in_record(record),
        None => error,
    }
}
