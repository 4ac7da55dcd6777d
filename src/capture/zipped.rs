//! The format since PyTorch 1.6: a zip archive with one pickle and one record per storage.

use std::collections::HashMap;
use std::sync::Arc;

use super::archive::{self, Archive, Frame, Method, Record};
use super::content::{Content, Payload};
use super::error::{ArchiveError, CaptureError, RebuildError};
use super::map::MappedFile;
use super::object::{Claim, Locate, LocateError, Located, StorageClaim, claim, swap_width};
use super::pickle::{Document, NodeId, PickleBytes};
use super::source::SourceFile;
use super::storage::{Encoding, Storage, StoragePlace};
use plimsoll_memory::bytes::{ByteSize, MIB};

/// The name of the pickle's record.
const PICKLE: &str = "data.pkl";

/// The size from which a stored pickle is mapped; a smaller one is read.
const MAPPED_PICKLE: u64 = MIB;

/// The most bytes that a deflated pickle may hold.
const INFLATED_PICKLE: u64 = 64 * MIB;

/// The most bytes that `version`, `byteorder` and similar records may hold.
const SMALL_RECORD: u64 = 1024;

/// The versions of the format that torch reads.
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=10;

/// Reads the archive, its pickle, and the records that the pickle refers to, except storages.
pub(super) fn read(source: &SourceFile) -> Result<Content, CaptureError> {
    let archive = Archive::open(source)?;
    check_version(source, &archive)?;
    let big_endian = is_big_endian(source, &archive)?;
    let document = Content::parse(source, Some(PICKLE), pickle(source, &archive)?, 0)?;
    let mut locate = Records { source, archive: &archive, big_endian, storages: Vec::new(), by_key: HashMap::new() };
    let objects = Content::objects(source, Some(PICKLE), &document, &mut locate)?;
    let storages = locate.storages;
    let payload = |record: &Record| {
        let key = record.name.strip_prefix("data/")?.to_owned();
        let range = record.offset..record.offset + record.compressed;
        Some(Payload { key, range, has_crc: record.crc().is_some() })
    };
    let payloads = archive.records().iter().filter_map(payload).collect();
    // Whatever is not among these records was read of headers alone.
    let frame = match source.snapshot()? {
        Some(bytes) => Frame::of(&archive, bytes, &[PICKLE, ".data/version", "version", "byteorder"]),
        None => None,
    };
    Ok(Content { document, objects, storages, payloads, frame })
}

fn check_version(source: &SourceFile, archive: &Archive) -> Result<(), CaptureError> {
    let record = match archive.get(".data/version") {
        Some(record) => record,
        None => archive.require(source, "version")?,
    };
    let text = archive::content(source, record, SMALL_RECORD)?;
    let text = String::from_utf8_lossy(&text);
    match text.trim().parse() {
        Ok(version) if VERSIONS.contains(&version) => Ok(()),
        _ => Err(source.error(ArchiveError::Version(text.trim().to_owned())).in_record(&record.name)),
    }
}

fn is_big_endian(source: &SourceFile, archive: &Archive) -> Result<bool, CaptureError> {
    // Files from before the record was introduced are little-endian.
    let Some(record) = archive.get("byteorder") else { return Ok(false) };
    match &archive::content(source, record, SMALL_RECORD)?[..] {
        b"little" => Ok(false),
        b"big" => Ok(true),
        other => {
            let other = String::from_utf8_lossy(other).into_owned();
            Err(source.error(ArchiveError::ByteOrder(other)).in_record(&record.name))
        }
    }
}

fn pickle(source: &SourceFile, archive: &Archive) -> Result<PickleBytes, CaptureError> {
    let record = archive.require(source, PICKLE)?;
    if record.method == Method::Stored && record.bytes >= MAPPED_PICKLE {
        let map = MappedFile::of(source, record.offset, record.bytes).map_err(|e| e.in_record(PICKLE))?;
        archive::check_crc(source, record, &map)?;
        return Ok(PickleBytes::Mapped(Arc::new(map)));
    }
    Ok(PickleBytes::Read(archive::content(source, record, INFLATED_PICKLE)?.into_owned()))
}

/// The storages of an archive, each in the record `data/KEY`.
struct Records<'a> {
    source: &'a SourceFile,
    archive: &'a Archive,
    big_endian: bool,
    storages: Vec<Storage>,
    by_key: HashMap<String, usize>,
}

impl Records<'_> {
    fn storage(&mut self, claim: &StorageClaim) -> Result<usize, LocateError> {
        let index = match self.by_key.get(&claim.key) {
            Some(&index) => index,
            None => {
                let record = self.archive.require(self.source, &format!("data/{}", claim.key))?;
                let place = self.place(record, claim);
                let bytes = ByteSize::new(record.bytes);
                let index = self.storages.len();
                self.storages.push(Storage {
                    key: claim.key.clone(),
                    bytes,
                    crc32: record.crc(),
                    place,
                    unread: record.unread,
                });
                self.by_key.insert(claim.key.clone(), index);
                index
            }
        };
        // A storage of 10 bytes viewed as float32 announces two elements: the record may have more, never fewer.
        let bytes = self.storages[index].bytes.bytes();
        if claim.bytes > bytes {
            return Err(RebuildError::StorageShort { key: claim.key.clone(), announced: claim.bytes, bytes }.into());
        }
        Ok(index)
    }

    fn place(&self, record: &Record, claim: &StorageClaim) -> StoragePlace {
        let (path, offset) = (Arc::clone(self.source.path()), record.offset);
        let deflated = (record.method == Method::Deflated).then(|| ByteSize::new(record.compressed));
        let swapped = self.big_endian.then(|| claim.dtype.map_or(1, swap_width));
        match (deflated, swapped) {
            (None, None) => StoragePlace::File { path, offset },
            _ => StoragePlace::Encoded { path, offset, encoding: Encoding { deflated, swapped, zstd: None } },
        }
    }
}

impl Locate for Records<'_> {
    fn locate(&mut self, document: &Document, id: NodeId) -> Result<Located, LocateError> {
        match claim(document, id)? {
            Claim::Module(class) => Ok(Located::Inner(class)),
            Claim::Storage(claim) => {
                let index = self.storage(&claim)?;
                Ok(Located::Storage { index, dtype: claim.dtype, start: 0, bytes: claim.bytes })
            }
        }
    }

    fn storages(&self) -> &[Storage] {
        &self.storages
    }
}
