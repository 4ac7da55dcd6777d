//! The central directory and the local headers.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::super::source::SourceFile;
use super::elsewhere;
use super::end::{End, u16_at, u32_at, u64_at};
use super::entry::{DESCRIPTOR, Entry, LOCAL_BYTES};
use super::{Method, Record};
use crate::error::{ArchiveError, CaptureError};

const CENTRAL: [u8; 4] = *b"PK\x01\x02";
pub(super) const CENTRAL_BYTES: usize = 46;
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const ZIP64_FIELD: u16 = 1;
/// Flag bits 0, 6 and 13: encrypted, strongly encrypted, headers masked.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// The largest central directory that is read, in bytes. A directory takes about 80 bytes per storage.
const DIRECTORY_LIMIT: u64 = 64 << 20;

/// Reads the central directory.
pub(super) fn read(source: &SourceFile, end: &End) -> Result<Vec<Entry>, CaptureError> {
    let (start, length) = (end.directory.start, end.directory.end - end.directory.start);
    if length > DIRECTORY_LIMIT {
        return Err(source.error(ArchiveError::TooLarge { bytes: length, limit: DIRECTORY_LIMIT }).at(start));
    }
    let bytes = match &end.bytes {
        Some(bytes) => Cow::Borrowed(&bytes[..]),
        None => source.read_at(start, length)?,
    };
    let mut entries = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let fail = |error: ArchiveError| source.error(error).at(start + at as u64);
        let header = &bytes[at..];
        if header.len() < CENTRAL_BYTES || !header.starts_with(&CENTRAL) {
            return Err(fail(ArchiveError::Malformed("the central directory is malformed")));
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| usize::from(u16_at(header, field)));
        let whole = CENTRAL_BYTES + name + extra + comment;
        if header.len() < whole {
            return Err(fail(ArchiveError::Malformed("the central directory ends within a record")));
        }
        let extra = &header[CENTRAL_BYTES + name..CENTRAL_BYTES + name + extra];
        let name = checked_name(&header[CENTRAL_BYTES..CENTRAL_BYTES + name]).map_err(fail)?;
        let central = start + at as u64;
        let entry = parse(header, central, name, extra).map_err(|(e, name)| fail(e).in_record(name))?;
        entries.push(entry);
        at += whole;
    }
    if entries.len() as u64 != end.records {
        return Err(source
            .error(ArchiveError::Malformed("the end record and the central directory differ in the number of records"))
            .at(start));
    }
    Ok(entries)
}

/// Reads the central header `header` at `central`; the record's name comes back with an error.
fn parse(header: &[u8], central: u64, name: String, extra: &[u8]) -> Result<Entry, (ArchiveError, String)> {
    match fields(header, extra) {
        Ok(fields) => Ok(Entry { name, central, ..fields }),
        Err(error) => Err((error, name)),
    }
}

/// The fields of a central header, without the record's name and place.
fn fields(header: &[u8], extra: &[u8]) -> Result<Entry, ArchiveError> {
    let flags = u16_at(header, 8);
    if flags & ENCRYPTED != 0 {
        return Err(ArchiveError::Encrypted);
    }
    let method = match u16_at(header, 10) {
        0 => Method::Stored,
        8 => Method::Deflated,
        other => return Err(ArchiveError::Method(other)),
    };
    let mut zip64 = zip64_field(extra)?;
    // A field of all ones is continued in the zip64 field, in this order.
    let mut long = |short: u32| {
        if short != u32::MAX {
            return Ok(u64::from(short));
        }
        let (value, rest) = zip64.split_at_checked(8).ok_or(ArchiveError::Malformed("a zip64 size is missing"))?;
        zip64 = rest;
        Ok(u64_at(value, 0))
    };
    let bytes = long(u32_at(header, 24))?;
    let compressed = long(u32_at(header, 20))?;
    let offset = long(u32_at(header, 42))?;
    if u16_at(header, 34) != 0 {
        return Err(ArchiveError::Malformed("the record lies in another part of the archive"));
    }
    if method == Method::Stored && compressed != bytes {
        return Err(ArchiveError::StoredSizes { compressed, bytes });
    }
    let (name, central, crc) = (String::new(), 0, u32_at(header, 16));
    Ok(Entry { name, flags, method, crc, compressed, bytes, header: offset, central })
}

/// The content of the zip64 extra field, empty if there is none.
fn zip64_field(mut extra: &[u8]) -> Result<&[u8], ArchiveError> {
    // Fewer than four bytes cannot be a field: some writers pad so.
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(content) = extra[4..].get(..length) else {
            return Err(ArchiveError::Malformed("an extra field reaches beyond its header"));
        };
        if id == ZIP64_FIELD {
            return Ok(content);
        }
        extra = &extra[4 + length..];
    }
    Ok(&[])
}

/// The name of a record, refused if it is not text or leads out of the archive.
fn checked_name(bytes: &[u8]) -> Result<String, ArchiveError> {
    let name = std::str::from_utf8(bytes).map_err(|_| ArchiveError::BadName)?;
    if name.is_empty() || name.contains('\0') {
        return Err(ArchiveError::BadName);
    }
    let mut parts = name.split(['/', '\\']);
    let drive = name.len() >= 3 && name.as_bytes()[1] == b':' && matches!(name.as_bytes()[2], b'/' | b'\\');
    if name.starts_with(['/', '\\']) || drive || parts.any(|part| part == "..") {
        return Err(ArchiveError::Traversal);
    }
    Ok(name.to_owned())
}

/// Reads the local headers, which alone give the start of the payloads, and checks them against the directory and
/// against each other. Records come back in the directory's order, without folders and without the root folder, which
/// comes back too.
pub(super) fn locate(
    source: &SourceFile,
    entries: &[Entry],
    directory: Range<u64>,
) -> Result<(Vec<Record>, Option<String>), CaptureError> {
    let root = entries.first().and_then(|e| e.name.split_once('/')).map(|(root, _)| format!("{root}/"));
    let mut names = HashSet::with_capacity(entries.len());
    if let Some(twice) = entries.iter().find(|e| !names.insert(e.name.as_str())) {
        return Err(source.error(ArchiveError::DuplicateRecord).in_record(&twice.name).at(twice.header));
    }
    drop(names);

    let expected = if source.is_remote() {
        elsewhere::payloads(source, entries, root.as_deref(), directory.start)?
    } else {
        Vec::new()
    };
    let mut records = Vec::with_capacity(entries.len());
    let mut extents = Vec::with_capacity(entries.len());
    let mut buffer = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let fail = |error| source.error(error).in_record(&entry.name).at(entry.header);
        let expected = expected.get(index).copied().flatten();
        let payload = match expected {
            Some(payload) => payload,
            None => local_header(source, entry, &mut buffer)?,
        };
        let end = payload.checked_add(entry.compressed).filter(|&end| end <= directory.start);
        let end = end.ok_or_else(|| fail(ArchiveError::Malformed("the record reaches into the central directory")))?;
        extents.push((entry.header..end, index));
        if entry.name.ends_with('/') {
            continue;
        }
        let name = root.as_deref().and_then(|root| entry.name.strip_prefix(root)).unwrap_or(&entry.name);
        records.push(Record {
            name: name.to_owned(),
            method: entry.method,
            crc: entry.crc,
            compressed: entry.compressed,
            bytes: entry.bytes,
            offset: payload,
            unread: expected.map(|_| entry.header),
            local: entry.header,
            central: entry.central,
        });
    }
    extents.sort_unstable_by_key(|(extent, _)| extent.start);
    let overlap = extents.iter().zip(extents.iter().skip(1)).find(|((one, _), (next, _))| next.start < one.end);
    if let Some(((_, one), (next, other))) = overlap {
        let error = ArchiveError::Overlap { other: entries[*one].name.clone() };
        return Err(source.error(error).in_record(&entries[*other].name).at(next.start));
    }
    Ok((records, root))
}

/// The offset at which the payload behind the local header of `entry` starts.
fn local_header(source: &SourceFile, entry: &Entry, buffer: &mut Vec<u8>) -> Result<u64, CaptureError> {
    let fail = |error| source.error(error).in_record(&entry.name).at(entry.header);
    buffer.resize(LOCAL_BYTES + entry.name.len(), 0);
    source.read_exact_at(entry.header, buffer).map_err(|e| e.in_record(&entry.name))?;
    let header = buffer.as_slice();
    if !header.starts_with(&LOCAL) {
        return Err(fail(ArchiveError::Malformed("there is no local header at its recorded offset")));
    }
    let (name, extra) = (usize::from(u16_at(header, 26)), u64::from(u16_at(header, 28)));
    if name != entry.name.len() || &header[LOCAL_BYTES..] != entry.name.as_bytes() {
        let shown = &header[LOCAL_BYTES..LOCAL_BYTES + name.min(entry.name.len())];
        return Err(fail(ArchiveError::NameMismatch { local: String::from_utf8_lossy(shown).into_owned() }));
    }
    let flags = u16_at(header, 6);
    if flags & ENCRYPTED != 0 {
        return Err(fail(ArchiveError::Encrypted));
    }
    let method = match entry.method {
        Method::Stored => 0,
        Method::Deflated => 8,
    };
    if u16_at(header, 8) != method {
        return Err(fail(ArchiveError::HeaderMismatch("compression method")));
    }
    if (flags ^ entry.flags) & DESCRIPTOR != 0 {
        return Err(fail(ArchiveError::HeaderMismatch("flags")));
    }
    // With a descriptor, torch writes zeros here; zip64 sizes, all ones, are in an extra field.
    let same = |field: usize, value: u64| {
        let local = u32_at(header, field);
        u64::from(local) == value || local == u32::MAX || (local == 0 && flags & DESCRIPTOR != 0)
    };
    if !same(14, u64::from(entry.crc)) {
        return Err(fail(ArchiveError::HeaderMismatch("CRC")));
    }
    if !same(18, entry.compressed) || !same(22, entry.bytes) {
        return Err(fail(ArchiveError::HeaderMismatch("size")));
    }
    // Both lengths are at most 65,535 and the header lies within the file, so this cannot overflow.
    Ok(entry.header + LOCAL_BYTES as u64 + name as u64 + extra)
}

/// Checks the local header of a storage that [`Record::unread`] names, once its bytes are at hand: its payload must be at
/// `payload`.
pub(in super::super) fn check_local(
    source: &SourceFile,
    header: u64,
    payload: u64,
    key: &str,
) -> Result<(), CaptureError> {
    let name = format!("data/{key}");
    let fail = |what| source.error(ArchiveError::Malformed(what)).in_record(&name).at(header);
    let bytes = source.read_at(header, payload.saturating_sub(header)).map_err(|error| error.in_record(&name))?;
    if bytes.len() < LOCAL_BYTES || !bytes.starts_with(&LOCAL) {
        return Err(fail("there is no local header at its recorded offset"));
    }
    let (length, extra) = (usize::from(u16_at(&bytes, 26)), usize::from(u16_at(&bytes, 28)));
    if LOCAL_BYTES + length + extra != bytes.len() {
        return Err(fail("its bytes do not follow its local header"));
    }
    let local = &bytes[LOCAL_BYTES..LOCAL_BYTES + length];
    let same = local.strip_suffix(name.as_bytes()).is_some_and(|root| root.is_empty() || root.ends_with(b"/"));
    if !same {
        let local = String::from_utf8_lossy(local).into_owned();
        return Err(source.error(ArchiveError::NameMismatch { local }).in_record(&name).at(header));
    }
    if u16_at(&bytes, 6) & ENCRYPTED != 0 {
        return Err(source.error(ArchiveError::Encrypted).in_record(&name).at(header));
    }
    Ok(())
}
