//! [`TorchFile::verify`]: every byte of a file against the CRCs that the file tells.

use std::ops::Range;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::{self, Archive, Method, Record};
use super::checksum::{split, sum};
use super::error::{ArchiveError, CaptureError};
use super::map::{Access, MappedFile};
use super::source::SourceFile;
use super::walk::TorchFile;
use crate::bytes::ByteSize;

/// What a file was verified against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// The records whose CRC-32 is right.
    pub records: u64,
    /// Their bytes.
    pub bytes: ByteSize,
    /// The records for which the writer computed no CRC-32. The formats before PyTorch 1.6 have neither.
    pub without_crc: u64,
}

impl TorchFile {
    /// Reads every record that has a CRC-32 and compares, with all threads and a few MiB of memory.
    ///
    /// # Errors
    /// [`ArchiveError::Crc`] with the first record whose bytes are damaged; where the file cannot be read, or is another
    /// than when it was opened.
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
        let map = MappedFile::of(&source, 0, source.size())?;
        map.advise(Access::Sequential);
        let (told, without): (Vec<_>, Vec<_>) = archive.records().iter().partition(|record| record.crc().is_some());
        // Chunks of all records are dealt out together: a file is one large record as often as many small ones.
        let chunks = told.iter().enumerate().filter(|(_, record)| record.method == Method::Stored);
        let chunks: Vec<_> =
            chunks.flat_map(|(at, record)| split(payload(record)).map(move |range| (at, range))).collect();
        let summed: Vec<_> = chunks.into_par_iter().map(|(at, range)| (at, sum(&map, range))).collect();
        map.intact()?;
        let mut sums = vec![crc32fast::Hasher::new(); told.len()];
        summed.iter().for_each(|(at, sum)| sums[*at].combine(sum));
        for (record, sum) in told.iter().zip(sums) {
            check(&source, record, sum)?;
        }
        let bytes = told.iter().map(|record| ByteSize::new(record.bytes)).sum();
        Ok(Verified { records: told.len() as u64, bytes, without_crc: without.len() as u64 })
    }
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
