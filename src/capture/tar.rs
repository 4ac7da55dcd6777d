//! The first format: a TAR archive of `sys_info`, `pickle`, `storages` and `tensors`.
//!
//! `storages` holds their number, for each a pickled `(key, location, class)` followed by its elements, and a list of
//! storages that are parts of others. `tensors` holds their number, and for each a pickled `(key, storage, class)`
//! followed by its dimensions. The pickle names both by key. There are no CRCs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::argument::TensorRef;
use super::content::{Content, Payload};
use super::dtype::Dtype;
use super::error::{ArchiveError, CaptureError, RebuildError};
use super::legacy::sized_storage;
use super::map::MappedFile;
use super::object::{Locate, LocateError, Located, Tensor, TensorKind, storage_class};
use super::pickle::{Document, Node, NodeId, PickleBytes};
use super::source::SourceFile;
use super::storage::Storage;
use super::tensor::{Layout, OutsideStorage};

const BLOCK: u64 = 512;

/// The checksum field, whose bytes count as spaces in the sum.
const CHECKSUM: Range<usize> = 148..156;

/// The most dimensions of a tensor: far more than torch allows.
const DIMENSIONS: u64 = 1024;

/// Whether the file starts with a TAR header.
pub(super) fn is_tar(source: &SourceFile) -> Result<bool, CaptureError> {
    if source.size() < BLOCK {
        return Ok(false);
    }
    let block = source.read_at(0, BLOCK)?;
    Ok(block[0] != 0 && has_checksum(&block))
}

fn has_checksum(block: &[u8]) -> bool {
    let sum = block.iter().enumerate().map(|(i, &b)| if CHECKSUM.contains(&i) { 32 } else { u64::from(b) }).sum();
    octal(&block[CHECKSUM]) == Some(sum)
}

/// An octal number, with spaces before it and a space or NUL after it.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let digits = digits.split(|&b| b == 0 || b == b' ').next()?;
    let value = digits.iter().try_fold(0u64, |n, &b| {
        (b'0'..=b'7').contains(&b).then(|| n.checked_mul(8)?.checked_add(u64::from(b - b'0')))?
    });
    value.filter(|_| !digits.is_empty())
}

/// The bytes of each member, by name.
fn members(source: &SourceFile) -> Result<HashMap<String, Range<u64>>, CaptureError> {
    let mut members = HashMap::new();
    let mut at = 0;
    while at + BLOCK <= source.size() {
        let block = source.read_at(at, BLOCK)?;
        if block.iter().all(|&b| b == 0) {
            break;
        }
        let fail = |what| source.error(ArchiveError::Malformed(what)).at(at);
        if !has_checksum(&block) {
            return Err(fail("a header of the TAR archive is damaged"));
        }
        let bytes = octal(&block[124..136]).ok_or_else(|| fail("a size in the TAR archive is not a number"))?;
        let content = at + BLOCK..(at + BLOCK).saturating_add(bytes);
        source.check_range(content.start, bytes)?;
        // Types 0 and NUL are files; the other types are folders, links and extended headers.
        if matches!(block[156], 0 | b'0') {
            let name = block[..100].split(|&b| b == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).trim_start_matches("./").to_owned();
            if members.insert(name.clone(), content.clone()).is_some() {
                return Err(source.error(ArchiveError::DuplicateRecord).in_record(name).at(at));
            }
        }
        at = content.end.next_multiple_of(BLOCK);
    }
    Ok(members)
}

/// Reads the members; for the storages only their sizes are read.
pub(super) fn read(source: &SourceFile) -> Result<Content, CaptureError> {
    let members = members(source)?;
    let member = |name: &'static str| {
        let range = members.get(name).cloned();
        let range = range.ok_or_else(|| source.error(ArchiveError::MissingRecord).in_record(name))?;
        let map = MappedFile::of(source, range.start, range.end - range.start)?;
        Ok(Member { source, name, start: range.start, map: Arc::new(map), at: 0 })
    };
    let mut keyed = Keyed { storages: Vec::new(), found: HashMap::new() };
    keyed.read_storages(&mut member("storages")?)?;
    keyed.read_tensors(&mut member("tensors")?)?;
    let document = member("pickle")?.pickle()?;
    let objects = Content::objects(source, Some("pickle"), &document, &mut keyed)?;
    let payloads = Payload::without_crc(&keyed.storages);
    Ok(Content { document, objects, storages: keyed.storages, payloads, frame: None })
}

/// A member being read from front to back.
struct Member<'a> {
    source: &'a SourceFile,
    name: &'static str,
    /// The offset at which the member starts in the file.
    start: u64,
    map: Arc<MappedFile>,
    at: usize,
}

impl Member<'_> {
    fn pickle(&mut self) -> Result<Document, CaptureError> {
        let bytes = PickleBytes::Mapped(Arc::clone(&self.map));
        let document = Content::parse(self.source, Some(self.name), bytes, self.at)?;
        self.at = document.end();
        Ok(document)
    }

    fn i64(&mut self) -> Result<i64, CaptureError> {
        let bytes = self.map.get(self.at..).and_then(|rest| rest.first_chunk());
        let value = bytes.copied().map(i64::from_le_bytes).ok_or_else(|| self.wrong("it ends within a number"))?;
        self.at += 8;
        Ok(value)
    }

    fn size(&mut self, what: &'static str) -> Result<u64, CaptureError> {
        u64::try_from(self.i64()?).map_err(|_| self.error(RebuildError::Negative(what)))
    }

    fn error(&self, kind: RebuildError) -> CaptureError {
        self.source.error(kind).in_record(self.name).at(self.at as u64)
    }

    fn wrong(&self, what: &'static str) -> CaptureError {
        self.error(RebuildError::Header(what))
    }

    /// Reads the number in the next pickle.
    fn count(&mut self) -> Result<i64, CaptureError> {
        let document = self.pickle()?;
        document.as_int(document.root()).ok_or_else(|| self.wrong("the number of items is missing"))
    }

    /// Reads the three items of the tuple in the next pickle.
    fn triple(&mut self) -> Result<(Document, [NodeId; 3]), CaptureError> {
        let document = self.pickle()?;
        let items = document.as_tuple(document.root()).and_then(|items| items.try_into().ok());
        let items = items.ok_or_else(|| self.wrong("a description is not a tuple of three"))?;
        Ok((document, items))
    }
}

/// The storages and tensors that the archive holds outside the pickle, by key.
struct Keyed {
    storages: Vec<Storage>,
    found: HashMap<i64, Found>,
}

#[derive(Clone)]
enum Found {
    Storage { index: usize, dtype: Dtype, start: u64, bytes: u64 },
    Tensor(Tensor),
}

impl Keyed {
    fn read_storages(&mut self, member: &mut Member<'_>) -> Result<(), CaptureError> {
        for _ in 0..member.count()? {
            let (document, [key, _location, class]) = member.triple()?;
            let key = document.as_int(key).ok_or_else(|| member.wrong("a key is not a number"))?;
            let dtype = document.as_global(class).and_then(|(_, class)| storage_class(&class).ok()?);
            let dtype = dtype.ok_or_else(|| member.wrong("the class of a storage is not a storage class"))?;
            let at = member.start + member.at as u64;
            let storage = sized_storage(member.source, key.to_string(), at, dtype.size())?;
            let bytes = storage.bytes.bytes();
            member.at = usize::try_from(bytes)
                .ok()
                .and_then(|n| member.at.checked_add(8)?.checked_add(n))
                .unwrap_or(usize::MAX);
            if member.at > member.map.len() {
                return Err(member.wrong("a storage reaches beyond its member"));
            }
            let index = self.storages.len();
            self.storages.push(storage);
            self.insert(member, key, Found::Storage { index, dtype, start: 0, bytes })?;
        }
        let views = member.pickle()?;
        let Node::List(list) = views.node(views.root()) else { return Err(member.wrong("the parts are not a list")) };
        for &view in list {
            let wrong = || member.wrong("a part of a storage is outside of it");
            let numbers = views.as_tuple(view).and_then(|items| <[NodeId; 4]>::try_from(items).ok());
            let numbers = numbers.map(|items| items.map(|item| views.as_int(item)));
            let Some([Some(target), Some(root), Some(offset), Some(numel)]) = numbers else { return Err(wrong()) };
            let Some(&Found::Storage { index, dtype, start, bytes }) = self.found.get(&root) else {
                return Err(wrong());
            };
            let count = |n: i64| u64::try_from(n).ok()?.checked_mul(dtype.size());
            let part =
                count(offset).zip(count(numel)).filter(|(o, n)| o.checked_add(*n).is_some_and(|end| end <= bytes));
            let (offset, bytes) = part.ok_or_else(wrong)?;
            self.insert(member, target, Found::Storage { index, dtype, start: start + offset, bytes })?;
        }
        Ok(())
    }

    fn read_tensors(&mut self, member: &mut Member<'_>) -> Result<(), CaptureError> {
        for _ in 0..member.count()? {
            let (document, [key, storage, _class]) = member.triple()?;
            let key = document.as_int(key).ok_or_else(|| member.wrong("a key is not a number"))?;
            let storage = document.as_int(storage).and_then(|key| self.found.get(&key));
            let Some(&Found::Storage { index, dtype, start, bytes }) = storage else {
                return Err(member.wrong("a tensor has no storage"));
            };
            // Four bytes hold the number of dimensions, four are padding.
            let dims = member.i64()? as u32;
            if u64::from(dims) > DIMENSIONS {
                return Err(member.wrong("a tensor has too many dimensions"));
            }
            let mut sizes = |what| (0..dims).map(|_| member.size(what)).collect::<Result<Vec<_>, _>>();
            let (shape, strides) = (sizes("size")?, sizes("stride")?);
            let offset = member.size("offset")?;
            let mut layout = Layout { dtype, shape, strides, offset, conj: false, neg: false };
            if layout.logical_bytes().is_none() || layout.reach().is_none_or(|reach| reach.end > bytes) {
                return Err(member.error(RebuildError::Outside(Box::new(OutsideStorage { layout, storage: bytes }))));
            }
            layout.offset = layout.offset.saturating_add(start / dtype.size());
            let tensor = Tensor::new(TensorKind::Strided(TensorRef { layout, storage: index }), false);
            self.insert(member, key, Found::Tensor(tensor))?;
        }
        Ok(())
    }

    fn insert(&mut self, member: &Member<'_>, key: i64, found: Found) -> Result<(), CaptureError> {
        match self.found.insert(key, found) {
            None => Ok(()),
            Some(_) => Err(member.wrong("a key appears twice")),
        }
    }
}

impl Locate for Keyed {
    fn locate(&mut self, document: &Document, id: NodeId) -> Result<Located, LocateError> {
        // A tuple is a class with its source code.
        if let Some(&[class, ..]) = document.as_tuple(id) {
            return Ok(Located::Inner(class));
        }
        let key = document.as_int(id).or_else(|| document.as_name(id)?.parse().ok());
        match key.and_then(|key| self.found.get(&key)).cloned() {
            Some(Found::Storage { index, dtype, start, bytes }) => {
                Ok(Located::Storage { index, dtype: Some(dtype), start, bytes })
            }
            Some(Found::Tensor(tensor)) => Ok(Located::Tensor(tensor)),
            None => Err(RebuildError::PersistentId("there is nothing with this key").into()),
        }
    }

    fn storages(&self) -> &[Storage] {
        &self.storages
    }
}
