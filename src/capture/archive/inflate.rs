//! Deflated records. torch writes none, but files packed again by other tools have them, and torch reads them.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

use super::super::source::SourceFile;
use super::Record;
use crate::error::{ArchiveError, CaptureError};

/// The most bytes that one deflated byte can give.
const RATIO: u64 = 1032;

/// The content of a deflated record: exactly as many bytes as the directory says, with no more memory reserved than
/// that.
pub(super) fn inflate(source: &SourceFile, record: &Record) -> Result<Vec<u8>, CaptureError> {
    let fail = |error| source.error(error).in_record(&record.name);
    let damaged = |what: String| fail(ArchiveError::Inflate(what));
    let most = record.compressed.saturating_mul(RATIO);
    if record.bytes > most {
        return Err(damaged(format!("{} bytes cannot inflate to {}", record.compressed, record.bytes)));
    }
    source.check_range(record.offset, record.compressed).map_err(|e| e.in_record(&record.name))?;
    let input = Payload { source, at: record.offset, left: record.compressed, error: None };
    let mut decoder = DeflateDecoder::new(input);
    let mut content = Vec::with_capacity(record.bytes as usize);
    let outcome = decoder.by_ref().take(record.bytes + 1).read_to_end(&mut content);
    let input = decoder.into_inner();
    if let Some(error) = input.error {
        return Err(error.in_record(&record.name));
    }
    outcome.map_err(|error| damaged(error.to_string()))?;
    if content.len() as u64 != record.bytes {
        let relation = if content.len() as u64 > record.bytes { "more" } else { "fewer" };
        return Err(damaged(format!("they inflate to {relation} bytes than the {} announced", record.bytes)));
    }
    Ok(content)
}

/// A reader of a record's payload, which keeps the typed error of a failed read.
struct Payload<'a> {
    source: &'a SourceFile,
    at: u64,
    left: u64,
    error: Option<CaptureError>,
}

impl Read for Payload<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.left.min(buffer.len() as u64);
        if let Err(error) = self.source.read_exact_at(self.at, &mut buffer[..bytes as usize]) {
            self.error = Some(error);
            return Err(io::Error::other("the payload cannot be read"));
        }
        self.at += bytes;
        self.left -= bytes;
        Ok(bytes as usize)
    }
}
