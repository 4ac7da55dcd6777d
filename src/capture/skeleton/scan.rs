//! Taking a file apart into a skeleton and payloads.

use std::io;
use std::path::Path;

use super::super::content::Content;
use super::super::map::for_each_window;
use super::super::source::SourceFile;
use super::{Header, Payload, Skeleton, SkeletonError, format};
use plimsoll_memory::bytes::ByteSize;

/// The bytes that are mapped at once. With less, threads wait for each other at the seams; more only takes more memory.
const WINDOW: ByteSize = ByteSize::mib(16);

impl Skeleton {
    /// The skeleton of the file at `path`, which is read once.
    ///
    /// # Errors
    /// As [`Skeleton::scan`].
    pub fn of(path: &Path) -> Result<Self, SkeletonError> {
        Self::scan(path, &mut |_, _| Ok(()))
    }

    /// The skeleton of the file at `path`. The bytes of its payloads are passed to `sink` on the way, each payload in
    /// pieces from front to back and payloads in the order of the file, so nothing is read twice.
    ///
    /// The bytes passed to `sink` are the file's own only if this returns `Ok`: a file that changes in the meantime is
    /// detected at the end.
    ///
    /// # Errors
    /// If the file cannot be read, is not a readable file of torch.save, changes, or has too many bytes around its
    /// storages; also the errors of `sink`.
    pub fn scan(path: &Path, sink: &mut dyn FnMut(&Payload, &[u8]) -> io::Result<()>) -> Result<Self, SkeletonError> {
        let source = SourceFile::open(path)?;
        let payloads = payloads(&source)?;
        let held: u64 = payloads.iter().map(|payload| payload.bytes.bytes()).sum();
        let around = source.size() - held;
        if around > format::VERBATIM_LIMIT {
            let path = path.display().to_string();
            return Err(SkeletonError::TooLarge { path, bytes: around, limit: format::VERBATIM_LIMIT });
        }

        let mut hasher = blake3::Hasher::new();
        let mut split = Split { payloads: &payloads, at: 0, verbatim: Vec::with_capacity(around as usize) };
        let mut outcome = Ok(());
        for_each_window(&source, WINDOW, |window| {
            if outcome.is_ok() {
                hasher.update_rayon(window);
                outcome = split.window(window, sink);
            }
        })?;
        outcome?;
        let verbatim = split.verbatim;
        let blake3 = hasher.finalize().to_hex().to_string();
        let bytes = ByteSize::new(source.size());
        Ok(Self { header: Header { format: format::NAME.to_owned(), bytes, blake3, payloads }, verbatim })
    }
}

/// The payloads of a file, in the order of the file. The reader has made sure that none overlap.
fn payloads(source: &SourceFile) -> Result<Vec<Payload>, SkeletonError> {
    let payloads = Content::read(source)?.payloads;
    let payloads = payloads.into_iter().filter(|payload| !payload.range.is_empty()).map(|payload| {
        let bytes = ByteSize::new(payload.range.end - payload.range.start);
        Payload { key: payload.key, offset: payload.range.start, bytes }
    });
    let mut payloads: Vec<_> = payloads.collect();
    payloads.sort_unstable_by_key(|payload| payload.offset);
    Ok(payloads)
}

/// A file that is read in windows and split into payloads and the rest.
struct Split<'a> {
    /// The payloads that have not ended yet.
    payloads: &'a [Payload],
    /// The offset of the next byte of the file.
    at: u64,
    verbatim: Vec<u8>,
}

impl Split<'_> {
    fn window(
        &mut self,
        mut window: &[u8],
        sink: &mut dyn FnMut(&Payload, &[u8]) -> io::Result<()>,
    ) -> Result<(), SkeletonError> {
        while !window.is_empty() {
            let Some((payload, later)) = self.payloads.split_first() else {
                self.verbatim.extend_from_slice(window);
                return Ok(());
            };
            let end = payload.offset + payload.bytes.bytes();
            let until = if self.at < payload.offset { payload.offset } else { end };
            let (piece, rest) = window.split_at(((until - self.at).min(window.len() as u64)) as usize);
            if self.at < payload.offset {
                self.verbatim.extend_from_slice(piece);
            } else {
                sink(payload, piece).map_err(|source| SkeletonError::Sink { key: payload.key.clone(), source })?;
            }
            self.at += piece.len() as u64;
            if self.at == end {
                self.payloads = later;
            }
            window = rest;
        }
        Ok(())
    }
}
