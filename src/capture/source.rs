//! [`SourceFile`]: an open file, its size when it was opened, and reads that never go beyond it.
//!
//! A file may be an entry of a store: a reference, which is opened as the file that was packed. Sizes and offsets are
//! those of that file; its bytes are in objects.

use super::error::{CaptureError, PackedError, SourceError};
use super::origin::{self, Origin};
use super::snapshot::{SMALL, Snapshot};
use super::store::object;
use super::store::packed::{InObject, Packed, Run};
use super::store::places::Places;
use super::store::reference;
use std::borrow::Cow;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::fs::SeekFrom;

/// A file with more bytes of holes than this, and more than [`HOLES_PER_BYTE`] times its data, is refused: no real
/// writer produces one.
const HOLES: u64 = 16 << 30;
const HOLES_PER_BYTE: u64 = 64;

/// The state of a file, which changes if the file does: its size, device and inode, and its times of modification and
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
    /// The time of the last change to the file or its metadata. Unlike the modification time, a program cannot set it
    /// back.
    changed: (i64, i64),
    inode: (u64, u64),
}

impl Stamp {
    /// The stamp of a file whose bytes are fetched: the local file changes while it is filled.
    fn of_version(version: u64, size: u64) -> Self {
        Self { size, modified: (0, 0), changed: (0, 0), inode: (u64::MAX, version) }
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: (metadata.dev(), metadata.ino()),
        }
    }
}

/// A regular file, open for reading.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    /// The file, or the reference of an entry of a store.
    open: Arc<Open>,
    packed: Option<Arc<Packed>>,
    /// The origin of the file's bytes, if they are elsewhere.
    origin: Option<Arc<dyn Origin>>,
    known: KnownFile,
}

/// An open file, and its bytes if it is small and was read.
#[derive(Debug)]
struct Open {
    file: File,
    snapshot: OnceLock<Arc<Snapshot>>,
}

/// A file as it was when it was opened; it can be opened again, and holds no descriptor until then.
#[derive(Clone, Debug)]
pub(super) struct KnownFile {
    path: Arc<Path>,
    /// The stamp of the file, or of the reference for an entry of a store.
    stamp: Stamp,
    size: u64,
}

/// The place of a run of bytes of a file.
pub(super) enum Bytes<'a> {
    /// Bytes in memory.
    Here(&'a [u8]),
    /// Bytes in this file: its offset and length follow.
    Plain(SourceFile, u64, u64),
    /// Bytes in an object that is compressed.
    Compressed(InObject<'a>),
}

impl KnownFile {
    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The state of the file, or of the reference for an entry of a store.
    pub(super) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Fails if the file is not in the state `before`.
    pub(super) fn check(&self, before: Stamp) -> Result<(), CaptureError> {
        if self.stamp == before { Ok(()) } else { Err(CaptureError::new(&self.path, SourceError::Changed)) }
    }

    /// Opens the file again; it must be the same file in the same state.
    pub(super) fn reopen(&self) -> Result<SourceFile, CaptureError> {
        let source = SourceFile::open(&self.path)?;
        if source.known.stamp == self.stamp { Ok(source) } else { Err(source.error(SourceError::Changed)) }
    }
}

impl SourceFile {
    /// Opens `path` and records its size. A reference of a store is opened as the file that it stands for.
    pub(super) fn open(path: &Path) -> Result<Self, CaptureError> {
        let source = Self::open_plain(path)?;
        if source.size() != reference::BYTES {
            return Ok(source);
        }
        let text = source.read_at(0, reference::BYTES)?.into_owned();
        if reference::is_one(&text) { source.unpacked(&text) } else { Ok(source) }
    }

    /// The file that a reference with this text refers to.
    fn unpacked(self, text: &[u8]) -> Result<Self, CaptureError> {
        let recipe = reference::read(text).map_err(|found| self.error(PackedError::Reference(found)))?;
        let places = Places::of_reference(self.path()).ok_or_else(|| self.error(PackedError::NoStore))?;
        let packed = Packed::open(&places, recipe).map_err(|error| self.error(error))?;
        let known = KnownFile { size: packed.size(), ..self.known };
        Ok(Self { open: self.open, packed: Some(Arc::new(packed)), origin: self.origin, known })
    }

    /// Opens the file `path` as it is, even if it is a reference.
    pub(super) fn open_plain(path: &Path) -> Result<Self, CaptureError> {
        // Without O_NONBLOCK, opening a named pipe would wait forever.
        Self::opened(path, || OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path))
    }

    /// Opens the object of a store at `path`. No link below the folder of the store is followed.
    pub(super) fn open_object(path: &Path) -> Result<Self, CaptureError> {
        let object = Self::opened(path, || object::open_object(path))?;
        object.refuse_holes()?;
        Ok(object)
    }

    /// Refuses a file that consists almost entirely of holes, before its bytes are read: a file of a few KiB can claim
    /// a TiB of zeros.
    pub(super) fn refuse_holes(&self) -> Result<(), CaptureError> {
        let size = self.size();
        if self.origin.is_some() || size <= HOLES {
            return Ok(());
        }
        let too_few = |data: u64| size.saturating_sub(data) > HOLES && data.saturating_mul(HOLES_PER_BYTE) < size;
        let failed = |source| self.error(SourceError::Io { operation: "look for its holes", source });
        // The number of blocks is available without a search, and settles the question for nearly every file.
        let blocks = self.file().metadata().map_err(failed)?.blocks();
        if self.packed.is_some() || !too_few(blocks.saturating_mul(512)) {
            return Ok(());
        }
        let (mut data, mut at) = (0u64, 0);
        while too_few(data) {
            let start = match rustix::fs::seek(self.file(), SeekFrom::Data(at)) {
                Ok(start) => start,
                // The rest of the file is a hole.
                Err(rustix::io::Errno::NXIO) => return Err(self.error(SourceError::Hole { size, data })),
                // The file system does not report holes.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => return Ok(()),
                Err(error) => return Err(failed(error.into())),
            };
            at = rustix::fs::seek(self.file(), SeekFrom::Hole(start)).map_err(|error| failed(error.into()))?;
            data += at - start;
        }
        Ok(())
    }

    fn opened(path: &Path, open: impl FnOnce() -> io::Result<File>) -> Result<Self, CaptureError> {
        let path: Arc<Path> = path.into();
        let fail = |operation, source: io::Error| {
            let kind = match source.kind() {
                io::ErrorKind::NotFound => SourceError::NotFound,
                _ => SourceError::Io { operation, source },
            };
            CaptureError::new(&path, kind)
        };
        // In this order, because fetched bytes stay once the file is open.
        let origin = origin::open(&path);
        let file = open().map_err(|e| fail("open it", e))?;
        let metadata = file.metadata().map_err(|e| fail("read its size", e))?;
        if !metadata.is_file() {
            return Err(CaptureError::new(&path, SourceError::NotAFile));
        }
        let stamp = match &origin {
            Some(origin) => Stamp::of_version(origin.version(), metadata.len()),
            None => Stamp::of(&metadata),
        };
        let open = Arc::new(Open { file, snapshot: OnceLock::new() });
        Ok(Self { open, packed: None, origin, known: KnownFile { path, stamp, size: stamp.size } })
    }

    /// The file itself, which for an entry of a store is its reference.
    pub(super) fn file(&self) -> &File {
        &self.open.file
    }

    /// The bytes of the whole file, if it is small and on this machine. They are read once; whether they are those of
    /// the file that was opened is known once [`SourceFile::unchanged`] has returned `Ok` after it.
    ///
    /// # Errors
    /// If the file cannot be read, or is shorter than when it was opened.
    pub(super) fn snapshot(&self) -> Result<Option<&Arc<Snapshot>>, CaptureError> {
        if self.origin.is_some() || self.packed.is_some() || self.size() > SMALL {
            return Ok(None);
        }
        if self.open.snapshot.get().is_none() {
            let read = Snapshot::read(self.file(), self.size() as usize).map_err(|error| self.unread(error, 0))?;
            let _ = self.open.snapshot.set(Arc::new(read));
        }
        Ok(self.open.snapshot.get())
    }

    /// The error of a read at `offset`.
    fn unread(&self, source: io::Error, offset: u64) -> CaptureError {
        let kind = match source.kind() {
            io::ErrorKind::UnexpectedEof => SourceError::Changed,
            _ => SourceError::Io { operation: "read it", source },
        };
        self.error(kind).at(offset)
    }

    /// The entry of a store that this file is, if it is one.
    pub(super) fn packed(&self) -> Option<&Packed> {
        self.packed.as_deref()
    }

    /// The longest run of at most `bytes` bytes from `offset` on that is in one place. The range must be within the
    /// file.
    pub(super) fn run(&self, offset: u64, bytes: u64) -> Result<Bytes<'_>, CaptureError> {
        let Some(packed) = &self.packed else { return Ok(Bytes::Plain(self.clone(), offset, bytes)) };
        Ok(match packed.run(offset, bytes) {
            Run::Verbatim(bytes, _) => Bytes::Here(bytes),
            Run::Payload(found) if found.object.compressed => Bytes::Compressed(found),
            Run::Payload(InObject { object, at, bytes }) => Bytes::Plain(Self::open_object(&object.path)?, at, bytes),
        })
    }

    /// Whether the bytes of the file, which is not a store's, come from elsewhere.
    pub(super) fn is_remote(&self) -> bool {
        self.origin.is_some() && self.packed.is_none()
    }

    /// Whether the bytes of `range` can be read without fetching them.
    pub(super) fn has(&self, range: &Range<u64>) -> bool {
        self.origin.as_ref().is_none_or(|origin| origin.has(range))
    }

    /// Fetches the bytes of `ranges` and returns once they are in the file, at once for a local file.
    pub(super) fn fetch(&self, ranges: &[Range<u64>]) -> Result<(), CaptureError> {
        match &self.origin {
            Some(origin) if self.packed.is_none() => {
                origin.fetch(ranges).map_err(|error| self.error(SourceError::Fetch(error)))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.known.path
    }

    /// The size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.known.size
    }

    pub(super) fn known(&self) -> &KnownFile {
        &self.known
    }

    /// An error of this file.
    pub(super) fn error(&self, kind: impl Into<super::error::CaptureErrorKind>) -> CaptureError {
        CaptureError::new(&self.known.path, kind)
    }

    /// Fails if a range reaches beyond the file.
    pub(super) fn check_range(&self, offset: u64, bytes: u64) -> Result<(), CaptureError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.size() => Ok(()),
            end => Err(self
                .error(SourceError::Truncated { needed: end.unwrap_or(u64::MAX), size: self.size() })
                .at(offset)),
        }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(super) fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), CaptureError> {
        self.check_range(offset, buffer.len() as u64)?;
        if let Some(packed) = &self.packed {
            return packed.read(offset, buffer).map_err(|error| self.error(error).at(offset));
        }
        if let Some(snapshot) = self.snapshot()? {
            let start = offset as usize;
            buffer.copy_from_slice(&snapshot[start..start + buffer.len()]);
            return Ok(());
        }
        let range = offset..offset + buffer.len() as u64;
        self.fetch(std::slice::from_ref(&range))?;
        self.file().read_exact_at(buffer, offset).map_err(|error| self.unread(error, offset))
    }

    /// The `bytes` bytes from `offset` on. The range is checked before anything is allocated.
    pub(super) fn read_at(&self, offset: u64, bytes: u64) -> Result<Cow<'_, [u8]>, CaptureError> {
        self.check_range(offset, bytes)?;
        if let Some(snapshot) = self.snapshot()? {
            let start = offset as usize;
            return Ok(Cow::Borrowed(&snapshot[start..start + bytes as usize]));
        }
        let mut buffer = vec![0; bytes as usize];
        self.read_exact_at(offset, &mut buffer)?;
        Ok(Cow::Owned(buffer))
    }

    /// Fails if the path leads to another file by now, or the file is not as it was when it was opened.
    pub(super) fn still_there(&self) -> Result<(), CaptureError> {
        if self.origin.is_some() {
            return Ok(());
        }
        let metadata = std::fs::metadata(self.path()).map_err(|source| {
            let kind = match source.kind() {
                io::ErrorKind::NotFound => SourceError::NotFound,
                _ => SourceError::Io { operation: "read its size", source },
            };
            self.error(kind)
        })?;
        if Stamp::of(&metadata) == self.known.stamp { Ok(()) } else { Err(self.error(SourceError::Changed)) }
    }

    /// Fails if the file's size, or its time of modification or change, is not the one when it was opened.
    pub(super) fn unchanged(&self) -> Result<(), CaptureError> {
        if self.origin.is_some() {
            // Every fetch requests the version that was opened.
            return Ok(());
        }
        let metadata = self
            .file()
            .metadata()
            .map_err(|source| self.error(SourceError::Io { operation: "read its size", source }))?;
        if Stamp::of(&metadata) == self.known.stamp { Ok(()) } else { Err(self.error(SourceError::Changed)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of `size` bytes that holds `data` at its start and `end` at its end.
    fn sparse(size: u64, data: usize, end: &[u8]) -> (tempfile::TempDir, SourceFile) {
        let (dir, path) = crate::testing::file(&vec![1; data]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(size).unwrap();
        file.write_all_at(end, size - end.len() as u64).unwrap();
        (dir, SourceFile::open(&path).unwrap())
    }

    #[test]
    fn a_file_that_is_nearly_all_hole_is_refused_and_one_with_holes_is_not() {
        for (size, data, refused) in
            [(1 << 40, 4096, true), (HOLES + (1 << 20), 4096, true), (HOLES, 4096, false), (1 << 20, 16, false)]
        {
            let (_dir, source) = sparse(size, data, b"the end");
            let found = source.refuse_holes();
            assert_eq!(found.is_err(), refused, "{size} {found:?}");
            if let Err(error) = found {
                assert!(error.to_string().contains("the rest is a hole"), "{error}");
            }
        }
    }
}
