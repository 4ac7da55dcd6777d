//! [`TorchFile::verify`]: checks every byte of a file against the CRCs that the file records.

use std::ops::Range;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::{self, Archive, Method, Record};
use super::checksum::{self, split, sum};
use super::error::{ArchiveError, CaptureError};
use super::map::{Access, MappedFile};
use super::source::{Bytes, SourceFile};
use super::walk::TorchFile;
use plimsoll_memory::bytes::ByteSize;

/// The result of verifying a file against its CRCs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The number of records whose CRC-32 is right.
    pub records: u64,
    /// The bytes of those records.
    pub bytes: ByteSize,
    /// The number of records for which the writer computed no CRC-32. The formats before PyTorch 1.6 have neither.
    pub without_crc: u64,
}

impl TorchFile {
    /// Reads every record that has a CRC-32 and compares it, with all threads and a few MiB of memory.
    ///
    /// # Errors
    /// [`ArchiveError::Crc`] with the first record whose bytes are damaged; also if the file cannot be read, or changed
    /// since it was opened.
    pub fn verify(&self) -> Result<Verified, CaptureError> {
        let source = self.reopen()?;
        let mut magic = [0; 4];
        if source.size() >= 4 {
            source.read_exact_at(0, &mut magic)?;
        }
        if &magic != b"PK\x03\x04" {
            return Ok(Verified::default());
        }
        let archive = Archive::open(&source)?;
        let (with_crc, without): (Vec<_>, Vec<_>) = archive.records().iter().partition(|record| record.crc().is_some());
        let bytes = with_crc.iter().map(|record| ByteSize::new(record.bytes)).sum();
        let verified = Verified { records: with_crc.len() as u64, bytes, without_crc: without.len() as u64 };
        if source.packed().is_some() {
            with_crc.into_iter().try_for_each(|record| check_packed(&source, record))?;
            return Ok(verified);
        }
        let map = MappedFile::of(&source, 0, source.size())?;
        map.advise(Access::Sequential);
        // Chunks of all records are distributed together, because a file may be one large record or many small ones.
        let chunks = with_crc.iter().enumerate().filter(|(_, record)| record.method == Method::Stored);
        let chunks: Vec<_> =
            chunks.flat_map(|(at, record)| split(payload(record)).map(move |range| (at, range))).collect();
        let summed: Vec<_> = chunks.into_par_iter().map(|(at, range)| (at, sum(&map, range))).collect();
        map.intact()?;
        let mut sums = vec![crc32fast::Hasher::new(); with_crc.len()];
        summed.iter().for_each(|(at, sum)| sums[*at].combine(sum));
        for (record, sum) in with_crc.iter().zip(sums) {
            check(&source, record, sum)?;
        }
        Ok(verified)
    }
}

/// Checks a record of an entry of a store, which is in an object of its own.
fn check_packed(source: &SourceFile, record: &Record) -> Result<(), CaptureError> {
    if record.method == Method::Deflated {
        return check(source, record, crc32fast::Hasher::new());
    }
    let mut sum = crc32fast::Hasher::new();
    match source.run(record.offset, record.bytes)? {
        Bytes::Plain(object, at, bytes) if bytes == record.bytes => {
            let map = MappedFile::of(&object, at, bytes)?;
            sum = checksum::hasher_of(&map, 0..map.len());
            map.intact()?;
        }
        Bytes::Compressed(found) if found.bytes == record.bytes => {
            found.for_each_piece(&mut |piece| sum.update(piece)).map_err(|error| source.error(error))?;
        }
        // Records around the storages are small, and already in memory.
        _ => sum.update(&source.read_at(record.offset, record.bytes)?),
    }
    check(source, record, sum)
}

fn check(source: &SourceFile, record: &Record, sum: crc32fast::Hasher) -> Result<(), CaptureError> {
    if record.method == Method::Deflated {
        return archive::content(source, record, record.bytes).map(drop);
    }
    match (record.crc(), sum.finalize()) {
        (Some(expected), actual) if actual != expected => {
            Err(source.error(ArchiveError::Crc { expected, actual }).in_record(&record.name).at(0))
        }
        _ => Ok(()),
    }
}

fn payload(record: &Record) -> Range<usize> {
    record.offset as usize..(record.offset + record.compressed) as usize
}
