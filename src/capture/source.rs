//! [`SourceFile`]: an open file, its size when it was opened, and reads that never go beyond it.

use super::error::{CaptureError, SourceError};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// What tells a changed file from an unchanged one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: (i64, i64),
    inode: (u64, u64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            inode: (metadata.dev(), metadata.ino()),
        }
    }
}

/// A regular file, open for reading.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    file: Arc<File>,
    known: KnownFile,
}

/// A file as it was when it was opened. It can be opened again, and no descriptor is held until then.
#[derive(Clone, Debug)]
pub(super) struct KnownFile {
    path: Arc<Path>,
    stamp: Stamp,
}

impl KnownFile {
    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.stamp.size
    }

    /// Opens the file again; it must be the same file in the same state.
    pub(super) fn reopen(&self) -> Result<SourceFile, CaptureError> {
        let source = SourceFile::open(&self.path)?;
        if source.known.stamp == self.stamp { Ok(source) } else { Err(source.error(SourceError::Changed)) }
    }
}

impl SourceFile {
    /// Opens `path` and notes its size.
    pub(super) fn open(path: &Path) -> Result<Self, CaptureError> {
        let path: Arc<Path> = path.into();
        let fail = |operation, source: io::Error| {
            let kind = match source.kind() {
                io::ErrorKind::NotFound => SourceError::NotFound,
                _ => SourceError::Io { operation, source },
            };
            CaptureError::new(&path, kind)
        };
        // Without O_NONBLOCK a named pipe would be waited for, for ever.
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).map_err(|e| fail("open it", e))?;
        let metadata = file.metadata().map_err(|e| fail("read its size", e))?;
        if !metadata.is_file() {
            return Err(CaptureError::new(&path, SourceError::NotAFile));
        }
        let stamp = Stamp::of(&metadata);
        Ok(Self { file: Arc::new(file), known: KnownFile { path, stamp } })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Arc<Path> {
        &self.known.path
    }

    /// The size in bytes when the file was opened.
    pub(super) fn size(&self) -> u64 {
        self.known.stamp.size
    }

    pub(super) fn known(&self) -> &KnownFile {
        &self.known
    }

    /// An error of this file.
    pub(super) fn error(&self, kind: impl Into<super::error::CaptureErrorKind>) -> CaptureError {
        CaptureError::new(&self.known.path, kind)
    }

    /// Refuses a range that reaches beyond the file.
    pub(super) fn check_range(&self, offset: u64, bytes: u64) -> Result<(), CaptureError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.known.stamp.size => Ok(()),
            end => Err(self
                .error(SourceError::Truncated { needed: end.unwrap_or(u64::MAX), size: self.known.stamp.size })
                .at(offset)),
        }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(super) fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), CaptureError> {
        self.check_range(offset, buffer.len() as u64)?;
        self.file.read_exact_at(buffer, offset).map_err(|source| {
            let kind = match source.kind() {
                io::ErrorKind::UnexpectedEof => SourceError::Changed,
                _ => SourceError::Io { operation: "read it", source },
            };
            self.error(kind).at(offset)
        })
    }

    /// The `bytes` bytes from `offset` on. The range is checked before anything is allocated.
    pub(super) fn read_at(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, CaptureError> {
        self.check_range(offset, bytes)?;
        let mut buffer = vec![0; bytes as usize];
        self.read_exact_at(offset, &mut buffer)?;
        Ok(buffer)
    }

    /// Refuses a file whose size or modification time is not that of when it was opened.
    pub(super) fn unchanged(&self) -> Result<(), CaptureError> {
        let metadata = self
            .file
            .metadata()
            .map_err(|source| self.error(SourceError::Io { operation: "read its size", source }))?;
        if Stamp::of(&metadata) == self.known.stamp { Ok(()) } else { Err(self.error(SourceError::Changed)) }
    }
}
