//! [`Cache`]: pieces of objects that processes of one machine share.
//!
//! `DIR/pieces/XX/KEY` holds one piece and, in its last 32 bytes, the BLAKE3 of the bytes before them; the key is the
//! BLAKE3 of the piece's origin: the digest that names an object of a store, or the address, size and version of any
//! other file, and the number of the piece. A process that fetches a piece holds a lock of its key, so that the piece
//! is fetched once; a piece gets its name when it is complete. When the cache is full, the least recently used pieces
//! are removed first.

use std::fs::{self, File, FileTimes};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use plimsoll_memory::bytes::ByteSize;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::error::RemoteError;
use crate::sink::Sink;

/// The size of the digest after the bytes of a piece.
const DIGEST: u64 = 32;

/// The number of bytes of a piece that are read at once.
const CHUNK: usize = 256 << 10;

/// How often a lock is tried while another process holds it.
const POLL: Duration = Duration::from_millis(5);

/// The age at which an unfinished piece counts as left behind by a killed process.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of pieces.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    limit: u64,
    /// The bytes added since the last look through the folder.
    added: AtomicU64,
}

/// The place for a piece that the cache does not have.
pub(crate) struct Vacant<'c> {
    cache: &'c Cache,
    path: PathBuf,
    kept: NamedTempFile,
    hasher: blake3::Hasher,
    bytes: u64,
    _lock: File,
}

impl Vacant<'_> {
    /// Adds the next bytes of the piece.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), RemoteError> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.kept.write_all(bytes).map_err(RemoteError::local(&self.path, "write to the cache"))
    }

    /// Names the piece, which is complete.
    pub fn keep(mut self) -> Result<(), RemoteError> {
        let failed = || RemoteError::local(&self.path, "write to the cache");
        self.kept.write_all(self.hasher.finalize().as_bytes()).map_err(failed())?;
        self.kept.persist(&self.path).map_err(|error| failed()(error.error))?;
        let added = self.bytes + DIGEST;
        let since = self.cache.added.fetch_add(added, Ordering::Relaxed) + added;
        if since > self.cache.limit / 16 { self.cache.evict() } else { Ok(()) }
    }
}

impl Cache {
    /// Opens the cache in `folder`, or makes it.
    pub fn open(folder: &Path, limit: ByteSize) -> Result<Self, RemoteError> {
        for part in ["pieces", "locks"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(RemoteError::local(&part, "make it"))?;
        }
        let cache = Self { folder: folder.to_owned(), limit: limit.bytes(), added: AtomicU64::new(0) };
        cache.evict()?;
        Ok(cache)
    }

    /// Writes the piece named `name` to `sink`, or returns the place to keep it in if the cache does not have it. No other
    /// process fetches that piece while the place exists.
    pub async fn piece(
        &self,
        name: blake3::Hash,
        range: &Range<u64>,
        sink: &Sink,
    ) -> Result<Option<Vacant<'_>>, RemoteError> {
        let key = name.to_hex().to_string();
        let path = self.folder.join("pieces").join(&key[..2]).join(&key);
        if self.given(&path, range, sink)? {
            return Ok(None);
        }
        let lock = self.lock(&key[..3]).await?;
        // Another process may have fetched it meanwhile.
        if self.given(&path, range, sink)? {
            return Ok(None);
        }
        let folder = path.parent().unwrap_or(&self.folder);
        let failed = || RemoteError::local(folder, "write to the cache");
        fs::create_dir_all(folder).map_err(failed())?;
        let kept = tempfile::Builder::new().prefix(".piece-").tempfile_in(folder).map_err(failed())?;
        Ok(Some(Vacant { cache: self, path, kept, hasher: blake3::Hasher::new(), bytes: 0, _lock: lock }))
    }

    /// Writes the piece at `path` to `sink` if it exists and is whole. A damaged one is removed.
    fn given(&self, path: &Path, range: &Range<u64>, sink: &Sink) -> Result<bool, RemoteError> {
        let failed = || RemoteError::local(path, "read it");
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed()(error)),
        };
        let bytes = range.end - range.start;
        let mut is_whole = file.metadata().map_err(failed())?.len() == bytes + DIGEST;
        if is_whole {
            let (mut at, mut hasher, mut buffer) = (range.start, blake3::Hasher::new(), vec![0; CHUNK]);
            while at < range.end {
                let count = CHUNK.min((range.end - at) as usize);
                file.read_exact(&mut buffer[..count]).map_err(failed())?;
                hasher.update(&buffer[..count]);
                sink.write(at, &buffer[..count])?;
                at += count as u64;
            }
            let mut digest = [0; DIGEST as usize];
            file.read_exact(&mut digest).map_err(failed())?;
            is_whole = hasher.finalize() == digest;
        }
        if !is_whole {
            let _ = fs::remove_file(path);
            return Ok(false);
        }
        // The time of its last use; a cache that cannot be written can still be read.
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
        Ok(true)
    }

    /// Waits for the lock `name`, which is released when the file is closed.
    async fn lock(&self, name: &str) -> Result<File, RemoteError> {
        let path = self.folder.join("locks").join(name);
        let file =
            File::options().create(true).append(true).open(&path).map_err(RemoteError::local(&path, "open it"))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // On a file system without locks, a piece may be fetched twice.
                Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(file),
                Err(Errno::WOULDBLOCK | Errno::INTR) => tokio::time::sleep(POLL).await,
                Err(error) => return Err(RemoteError::local(&path, "lock it")(error.into())),
            }
        }
    }

    /// Removes the least recently used pieces until nine tenths of the limit are left, if the limit is exceeded.
    fn evict(&self) -> Result<(), RemoteError> {
        self.added.store(0, Ordering::Relaxed);
        let pieces = self.folder.join("pieces");
        let folders = fs::read_dir(&pieces).map_err(RemoteError::local(&pieces, "list it"))?;
        let mut found = Vec::new();
        for folder in folders.flatten() {
            for item in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let Ok(metadata) = item.metadata() else { continue };
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let is_unfinished = item.file_name().as_encoded_bytes().starts_with(b".");
                if !is_unfinished {
                    found.push((used, metadata.len(), item.path()));
                } else if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(item.path());
                }
            }
        }
        let mut total: u64 = found.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= self.limit {
            return Ok(());
        }
        found.sort();
        for (_, bytes, path) in found {
            if total <= self.limit / 10 * 9 {
                break;
            }
            // Another process may be removing it as well.
            if fs::remove_file(&path).is_ok() {
                total -= bytes;
            }
        }
        Ok(())
    }
}
