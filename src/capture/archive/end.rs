//! The end of a zip archive: the end-of-central-directory record, and the zip64 one that torch always writes.

use std::ops::Range;

use super::super::source::SourceFile;
use crate::error::{ArchiveError, CaptureError};

const END: [u8; 4] = *b"PK\x05\x06";
const END_BYTES: usize = 22;
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const LOCATOR_BYTES: u64 = 20;
const END64: [u8; 4] = *b"PK\x06\x06";
const END64_BYTES: u64 = 56;
/// The longest comment that an archive can have.
const COMMENT_BYTES: u64 = 0xffff;
/// How many bytes are read first: enough for the end records and the central directory of a usual entry.
const TAIL: u64 = 4096;

/// The location of the central directory.
#[derive(Debug)]
pub(super) struct End {
    /// The bytes of the central directory in the file.
    pub(super) directory: Range<u64>,
    /// The number of records.
    pub(super) records: u64,
    /// The directory's bytes, if they were read along with the end records.
    pub(super) bytes: Option<Vec<u8>>,
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Finds the central directory of `source`.
pub(super) fn find(source: &SourceFile) -> Result<End, CaptureError> {
    let size = source.size();
    let mut tail_bytes = TAIL.min(size);
    let (tail, at) = loop {
        let tail = source.read_at(size - tail_bytes, tail_bytes)?;
        if let Some(at) = end_record(&tail) {
            break (tail, at);
        }
        let longest = size.min(END_BYTES as u64 + COMMENT_BYTES);
        if tail_bytes >= longest {
            return Err(source.error(ArchiveError::NoEnd));
        }
        tail_bytes = longest;
    };
    let tail_start = size - tail_bytes;
    let record = &tail[at..];
    let mut end_at = tail_start + at as u64;
    let disks = [u16_at(record, 4), u16_at(record, 6)];
    let (on_disk, mut records) = (u16_at(record, 8), u64::from(u16_at(record, 10)));
    let (mut bytes, mut start) = (u64::from(u32_at(record, 12)), u64::from(u32_at(record, 16)));
    let malformed = |what| source.error(ArchiveError::Malformed(what)).at(tail_start + at as u64);
    if disks != [0, 0] || u64::from(on_disk) != records {
        return Err(malformed("the archive is one part of a multi-part archive"));
    }

    if let Some(zip64) = end64(source, end_at)? {
        // torch writes real values into both records; a writer that needs zip64 puts all ones into the other.
        let same = |short: u64, ones: u64, long: u64| short == ones || short == long;
        if !same(records, 0xffff, zip64.records)
            || !same(bytes, 0xffff_ffff, zip64.bytes)
            || !same(start, 0xffff_ffff, zip64.start)
        {
            return Err(malformed("the two end-of-central-directory records differ"));
        }
        (records, bytes, start, end_at) = (zip64.records, zip64.bytes, zip64.start, zip64.at);
    }

    let directory = match start.checked_add(bytes) {
        Some(end) if end <= end_at => start..end,
        _ => return Err(malformed("the central directory does not lie before its end record")),
    };
    let bytes = (directory.start >= tail_start).then(|| {
        let within = (directory.start - tail_start) as usize..(directory.end - tail_start) as usize;
        tail[within].to_vec()
    });
    Ok(End { directory, records, bytes })
}

/// The position of the last end record in `tail` whose comment ends at the end of the file.
fn end_record(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END_BYTES)?;
    (0..=last)
        .rev()
        .find(|&at| tail[at..].starts_with(&END) && at + END_BYTES + usize::from(u16_at(tail, at + 20)) == tail.len())
}

struct End64 {
    at: u64,
    records: u64,
    bytes: u64,
    start: u64,
}

/// The zip64 end record, if its locator is right before the end record at `end_at`.
fn end64(source: &SourceFile, end_at: u64) -> Result<Option<End64>, CaptureError> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR_BYTES) else { return Ok(None) };
    let locator = source.read_at(locator_at, LOCATOR_BYTES)?;
    if !locator.starts_with(&LOCATOR) {
        return Ok(None);
    }
    let at = u64_at(&locator, 8);
    let malformed = |what| source.error(ArchiveError::Malformed(what)).at(at);
    if u32_at(&locator, 4) != 0 || u32_at(&locator, 16) > 1 {
        return Err(malformed("the archive is one part of a multi-part archive"));
    }
    if at.checked_add(END64_BYTES).is_none_or(|end| end > locator_at) {
        return Err(malformed("the zip64 end record does not lie before its locator"));
    }
    let record = source.read_at(at, END64_BYTES)?;
    if !record.starts_with(&END64) {
        return Err(malformed("there is no zip64 end record at the offset that its locator gives"));
    }
    let records = u64_at(&record, 32);
    if u32_at(&record, 16) != 0 || u32_at(&record, 20) != 0 || u64_at(&record, 24) != records {
        return Err(malformed("the archive is one part of a multi-part archive"));
    }
    Ok(Some(End64 { at, records, bytes: u64_at(&record, 40), start: u64_at(&record, 48) }))
}
