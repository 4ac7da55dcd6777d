//! Writing of storages into a file, chunk by chunk, by several threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crc32fast::Hasher;

use super::error::WriteError;
use super::source::{Options, Source};
use plimsoll_memory::ByteSize;

/// The bytes that a thread makes, hashes and writes at once: they stay in its second-level cache.
const CHUNK: u64 = 256 << 10;

/// One storage and its place in the file.
pub(super) struct Storage<'a> {
    /// The storage's index in the entry, for messages.
    pub index: usize,
    pub source: Source<'a>,
    /// The offset of its first byte in the file.
    pub data: u64,
}

/// A part of a storage.
struct Chunk {
    storage: usize,
    offset: u64,
    bytes: u64,
    /// The bytes of the storage after the chunk.
    rest: u64,
}

/// Writes every storage to its place and returns their CRC-32s.
///
/// A CRC-32 is linear: the CRC of the whole is the exclusive or of its chunks' CRCs, each carried over the bytes that
/// follow it. So chunks may finish in any order, and nothing is kept of them.
pub(super) fn write_storages(
    file: &File,
    path: &Path,
    storages: &[Storage<'_>],
    options: &Options<'_>,
    failed: impl Fn(io::Error) -> WriteError + Copy + Send + Sync,
) -> Result<Vec<u32>, WriteError> {
    let chunks = Chunks::of(storages);
    let crcs: Vec<AtomicU32> = storages.iter().map(|_| AtomicU32::new(0)).collect();
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let outcome = Mutex::new(Ok(()));
    let work = || {
        let mut buffer = Vec::new();
        while !stop.load(Ordering::Relaxed)
            && let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let written = if options.cancel.load(Ordering::Relaxed) {
                Err(WriteError::Cancelled { path: path.to_owned() })
            } else {
                write_chunk(file, path, &storages[chunk.storage], &chunk, &mut buffer, failed)
            };
            match written {
                Ok(crc) => {
                    let mut carried = Hasher::new_with_initial(crc);
                    carried.combine(&Hasher::new_with_initial_len(0, chunk.rest));
                    crcs[chunk.storage].fetch_xor(carried.finalize(), Ordering::Relaxed);
                    (options.progress)(ByteSize::new(chunk.bytes));
                }
                // The first failure is the one reported; the others are mostly its consequences.
                Err(error) if !stop.swap(true, Ordering::Relaxed) => {
                    *outcome.lock().unwrap_or_else(|e| e.into_inner()) = Err(error);
                }
                Err(_) => {}
            }
        }
    };
    let threads = (options.thread_count() as u64).min(chunks.count);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    outcome.into_inner().unwrap_or_else(|e| e.into_inner())?;
    Ok(crcs.into_iter().map(AtomicU32::into_inner).collect())
}

/// Writes one chunk and returns its CRC-32.
fn write_chunk(
    file: &File,
    path: &Path,
    storage: &Storage<'_>,
    chunk: &Chunk,
    buffer: &mut Vec<u8>,
    failed: impl Fn(io::Error) -> WriteError,
) -> Result<u32, WriteError> {
    let bytes = match storage.source {
        Source::Bytes(bytes) => &bytes[chunk.offset as usize..][..chunk.bytes as usize],
        Source::Fill { fill, .. } => {
            buffer.resize(chunk.bytes as usize, 0);
            fill(chunk.offset, buffer).map_err(|source| WriteError::Source {
                path: path.to_owned(),
                storage: storage.index,
                offset: chunk.offset,
                source,
            })?;
            &buffer[..]
        }
    };
    let crc = crc32fast::hash(bytes);
    file.write_all_at(bytes, storage.data + chunk.offset).map_err(failed)?;
    Ok(crc)
}

/// The chunks of several storages, numbered consecutively.
struct Chunks {
    /// The length of each storage, and the number of its first chunk.
    storages: Vec<(u64, u64)>,
    count: u64,
}

impl Chunks {
    fn of(storages: &[Storage<'_>]) -> Self {
        let mut count = 0;
        let numbered = storages.iter().map(|storage| {
            let bytes = storage.source.bytes().bytes();
            let first = count;
            count += bytes.div_ceil(CHUNK);
            (bytes, first)
        });
        let storages = numbered.collect();
        Self { storages, count }
    }

    fn get(&self, number: u64) -> Option<Chunk> {
        if number >= self.count {
            return None;
        }
        // The last storage that starts at or before the chunk; an empty one starts where the next one does.
        let storage = self.storages.partition_point(|&(_, first)| first <= number) - 1;
        let (length, first) = self.storages[storage];
        let offset = (number - first) * CHUNK;
        let bytes = CHUNK.min(length - offset);
        Some(Chunk { storage, offset, bytes, rest: length - offset - bytes })
    }
}
