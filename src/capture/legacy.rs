//! The format before PyTorch 1.6: five pickles in a row, then the bytes of the storages.
//!
//! The pickles are: magic number, protocol 1001, system info, **the values**, the keys of the storages in the order of
//! their bytes. Then for each key come the number of elements, as eight bytes, and the elements. There are no CRCs.

use std::collections::HashMap;
use std::sync::Arc;

use super::content::{Content, Payload};
use super::error::{ArchiveError, CaptureError, RebuildError};
use super::map::MappedFile;
use super::object::{Claim, Locate, LocateError, Located, claim};
use super::pickle::{self, Document, Node, NodeId, PickleBytes};
use super::source::SourceFile;
use super::storage::{Storage, StoragePlace};
use plimsoll_memory::bytes::ByteSize;

/// The number that starts such a file: 0x1950a86a20f9469cfc6c.
const MAGIC: &str = "119547037146038801333356";
const PROTOCOL: i64 = 1001;

/// The size within which the pickles must be, from the start; storages may be beyond it.
pub(super) const PICKLES_LIMIT: u64 = 1 << 30;

/// Reads the pickles; for the storages only their sizes are read.
pub(super) fn read(source: &SourceFile) -> Result<Content, CaptureError> {
    let map = Arc::new(MappedFile::front(source, PICKLES_LIMIT)?);
    let parse = |start| Content::parse(source, None, PickleBytes::Mapped(Arc::clone(&map)), start);

    let not_torch = || source.error(ArchiveError::NotTorch);
    let magic = pickle::read(PickleBytes::Mapped(Arc::clone(&map)), 0).map_err(|_| not_torch())?;
    if magic.big_int(magic.node(magic.root())).as_deref() != Some(MAGIC) {
        return Err(not_torch());
    }
    let protocol = parse(magic.end())?;
    match protocol.as_int(protocol.root()) {
        Some(PROTOCOL) => {}
        other => {
            let version = other.map_or_else(|| "none".to_owned(), |n| n.to_string());
            return Err(source.error(ArchiveError::Version(version)).at(magic.end() as u64));
        }
    }
    let info = parse(protocol.end())?;
    let document = parse(info.end())?;
    let keys = parse(document.end())?;
    let mut locate = Stream { storages: Vec::new(), by_key: HashMap::new() };
    locate.read(source, &document, &keys)?;
    let objects = Content::objects(source, None, &document, &mut locate)?;
    let payloads = Payload::without_crc(&locate.storages);
    Ok(Content { document, objects, storages: locate.storages, payloads, frame: None })
}

/// The storages after the pickles.
struct Stream {
    storages: Vec<Storage>,
    by_key: HashMap<String, usize>,
}

impl Stream {
    /// Finds the place of each storage: the keys come in order, and the values give the size of an element.
    fn read(&mut self, source: &SourceFile, document: &Document, keys: &Document) -> Result<(), CaptureError> {
        let mut elements = HashMap::new();
        for (_, node) in document.nodes() {
            let &Node::Persistent { id, offset } = node else { continue };
            match claim(document, id) {
                Ok(Claim::Storage(claim)) => {
                    elements.entry(claim.key).or_insert(claim.dtype.map_or(1, |dtype| dtype.size()));
                }
                Ok(Claim::Module(_)) => {}
                Err(error) => return Err(source.error(error).at(offset.into())),
            }
        }
        let malformed = |what| source.error(RebuildError::Header(what)).at(document.end() as u64);
        let Node::List(list) = keys.node(keys.root()) else {
            return Err(malformed("the keys of the storages are not a list"));
        };
        let mut at = keys.end() as u64;
        for &key in list {
            let key = keys.as_name(key).ok_or_else(|| malformed("a key of a storage is not a name"))?.into_owned();
            let element = *elements.get(&key).ok_or_else(|| malformed("a storage is not among the values"))?;
            let storage = sized_storage(source, key, at, element)?;
            at += 8 + storage.bytes.bytes();
            if self.by_key.insert(storage.key.clone(), self.storages.len()).is_some() {
                return Err(malformed("a key of a storage appears twice"));
            }
            self.storages.push(storage);
        }
        Ok(())
    }
}

/// The storage at byte `at`: its number of elements, then its elements.
pub(super) fn sized_storage(source: &SourceFile, key: String, at: u64, element: u64) -> Result<Storage, CaptureError> {
    let mut count = [0; 8];
    source.read_exact_at(at, &mut count)?;
    let negative = || source.error(RebuildError::Negative("number of elements")).at(at);
    let count = u64::try_from(i64::from_le_bytes(count)).map_err(|_| negative())?;
    // A product beyond 64 bits is beyond every file.
    let bytes = count.saturating_mul(element);
    source.check_range(at + 8, bytes)?;
    let place = StoragePlace::File { path: Arc::clone(source.path()), offset: at + 8 };
    Ok(Storage { key, bytes: ByteSize::new(bytes), crc32: None, place, unread: None })
}

impl Locate for Stream {
    fn locate(&mut self, document: &Document, id: NodeId) -> Result<Located, LocateError> {
        let claim = match claim(document, id)? {
            Claim::Module(class) => return Ok(Located::Inner(class)),
            Claim::Storage(claim) => claim,
        };
        let index = self.by_key.get(&claim.key).copied();
        let index = index.ok_or(RebuildError::PersistentId("there is no storage with this key"))?;
        let bytes = self.storages[index].bytes.bytes();
        if claim.bytes > bytes {
            return Err(RebuildError::StorageShort { key: claim.key, announced: claim.bytes, bytes }.into());
        }
        let part = claim.view.unwrap_or(0..claim.bytes);
        Ok(Located::Storage { index, dtype: claim.dtype, start: part.start, bytes: part.end - part.start })
    }

    fn storages(&self) -> &[Storage] {
        &self.storages
    }
}
