//! The zip archive that `torch.save` writes.
//!
//! The central directory, found through the end records, is the only authority: local headers are read for their
//! lengths and checked against it; data descriptors are not read at all, because torch writes neither sizes nor CRCs
//! into local headers. Everything that could make two readers see two different files is refused: duplicate names,
//! overlapping records, end records that disagree, names that differ between the two headers.
//!
//! All records lie below one root folder, `ROOT/data.pkl`, `ROOT/data/0` ...; names here leave it out.

mod directory;
mod elsewhere;
mod end;
mod entry;
mod frame;
mod inflate;

use std::borrow::Cow;
use std::collections::HashMap;

pub(super) use directory::check_local;
pub(super) use frame::Frame;

use super::source::SourceFile;
use crate::error::{ArchiveError, CaptureError, CaptureErrorKind};

/// How a record is stored in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// One record, as the central directory describes it, with the place of its payload.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The name below the root folder; the full name for a record outside it.
    pub(super) name: String,
    pub(super) method: Method,
    /// CRC-32 of the content; 0 on a record with content means that it was not computed.
    pub(super) crc: u32,
    /// Bytes of the payload in the file.
    pub(super) compressed: u64,
    /// Bytes of the content.
    pub(super) bytes: u64,
    /// The offset in the file at which the payload starts.
    pub(super) offset: u64,
    /// The offset of the local header, if it was not read: the payload's offset is then the one that torch would have
    /// written, and [`check_local`] must check it against the header before the payload is used.
    pub(super) unread: Option<u64>,
    /// The offset of the local header.
    pub(super) local: u64,
    /// The offset of the header in the central directory.
    pub(super) central: u64,
}

impl Record {
    /// The CRC, or `None` if the writer did not compute it.
    pub(super) fn crc(&self) -> Option<u32> {
        known_crc(self.crc, self.bytes)
    }
}

/// The CRC-32 that a header gives for a record of `bytes` bytes; `None` if the writer did not compute it.
pub(super) fn known_crc(crc: u32, bytes: u64) -> Option<u32> {
    (crc != 0 || bytes == 0).then_some(crc)
}

/// The records of a zip archive, in the order of the central directory.
#[derive(Debug)]
pub(super) struct Archive {
    records: Vec<Record>,
    by_name: HashMap<String, usize>,
    /// The root folder, and where the central directory starts.
    root: Option<String>,
    directory: u64,
}

/// The most that all compressed records of a file may hold together, whatever its size. torch writes none; rewritten
/// files have them.
const INFLATED_LIMIT: u64 = 128 << 20;

/// The bytes at the end of a remote file that are fetched first: room for the end records and the directory of some 500
/// storages.
const TAIL: u64 = 64 << 10;

/// Whether the file starts as an archive does.
pub(super) fn is_at_start(source: &SourceFile) -> Result<bool, CaptureError> {
    let mut magic = [0; 4];
    if source.size() < magic.len() as u64 {
        return Ok(false);
    }
    source.read_exact_at(0, &mut magic)?;
    Ok(magic == *b"PK\x03\x04")
}

/// Whether the file ends like an archive. The end locates everything else, so that one more request fetches the rest.
pub(super) fn is_at_end(source: &SourceFile) -> Result<bool, CaptureError> {
    let tail = source.size().saturating_sub(TAIL)..source.size();
    source.fetch(std::slice::from_ref(&tail))?;
    match end::find(source) {
        Ok(_) => Ok(true),
        Err(CaptureError { kind: CaptureErrorKind::Archive(ArchiveError::NoEnd), .. }) => is_at_start(source),
        Err(error) => Err(error),
    }
}

impl Archive {
    /// Reads the end records, the central directory and the local headers. No payload is read.
    pub(super) fn open(source: &SourceFile) -> Result<Self, CaptureError> {
        let end = end::find(source)?;
        let entries = directory::read(source, &end)?;
        let directory = end.directory.start;
        let (records, root) = directory::locate(source, &entries, end.directory)?;
        let deflated = records.iter().filter(|r| r.method == Method::Deflated);
        let inflated = deflated.fold(0u64, |sum, r| sum.saturating_add(r.bytes));
        let limit = INFLATED_LIMIT.max(source.size());
        if inflated > limit {
            return Err(source.error(ArchiveError::InflateBomb { bytes: inflated, limit }));
        }
        let by_name = records.iter().enumerate().map(|(i, r)| (r.name.clone(), i)).collect();
        Ok(Self { records, by_name, root, directory })
    }

    /// Every record, in the order of the central directory.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The record `name` below the root folder.
    pub(super) fn get(&self, name: &str) -> Option<&Record> {
        self.by_name.get(name).map(|&i| &self.records[i])
    }

    /// The record `name`, or [`ArchiveError::MissingRecord`].
    pub(super) fn require(&self, source: &SourceFile, name: &str) -> Result<&Record, CaptureError> {
        self.get(name).ok_or_else(|| source.error(ArchiveError::MissingRecord).in_record(name))
    }
}

/// The content of `record`, inflated if it is deflated, with its CRC checked if it has one.
pub(super) fn content<'s>(source: &'s SourceFile, record: &Record, limit: u64) -> Result<Cow<'s, [u8]>, CaptureError> {
    if record.bytes > limit {
        let error = ArchiveError::TooLarge { bytes: record.bytes, limit };
        return Err(source.error(error).in_record(&record.name));
    }
    let bytes = match record.method {
        Method::Stored => source.read_at(record.offset, record.bytes).map_err(|e| e.in_record(&record.name))?,
        Method::Deflated => Cow::Owned(inflate::inflate(source, record)?),
    };
    check_crc(source, record, &bytes)?;
    Ok(bytes)
}

/// Checks `bytes`, the whole content of `record`, against its CRC.
pub(super) fn check_crc(source: &SourceFile, record: &Record, bytes: &[u8]) -> Result<(), CaptureError> {
    let Some(expected) = record.crc() else { return Ok(()) };
    let actual = crc32fast::hash(bytes);
    if actual == expected {
        Ok(())
    } else {
        Err(source.error(ArchiveError::Crc { expected, actual }).in_record(&record.name))
    }
}

#[cfg(test)]
mod tests;
