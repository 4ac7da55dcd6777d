//! [`WriteError`]: why an entry could not be written.

use std::io;
use std::path::PathBuf;

use crate::OutsideStorage;
use plimsoll_memory::ByteSize;

/// Why an entry could not be written; nothing of it is left on the disk.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file name gives no name for the archive's folder.
    #[error("{}: an entry's file name must be valid text with something before its extension, such as `entry_000000.pt`",
        path.display())]
    FileName {
        /// The file.
        path: PathBuf,
    },
    /// A value that a `.pt` file cannot hold.
    #[error("{}: {at} cannot be written: {why}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The place of the value, such as `kwargs["weight"]`.
        at: String,
        /// Why it cannot be written, and what to do instead.
        why: String,
    },
    /// A tensor that reaches beyond the storage it refers to.
    #[error("{}: {at} cannot be written: {source}", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// The place of the tensor.
        at: String,
        /// The layout and the storage's size.
        source: OutsideStorage,
    },
    /// A storage that no tensor refers to; torch would not write it either.
    #[error("{}: no tensor refers to storage {storage}: leave it out, or refer to it", path.display())]
    Unreferenced {
        /// The file.
        path: PathBuf,
        /// The index of the storage.
        storage: usize,
    },
    /// The bytes of a storage could not be made.
    #[error("{}: the bytes of storage {storage} from offset {offset} on could not be made: {source}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// The index of the storage.
        storage: usize,
        /// The first byte of the chunk, counted from the start of the storage.
        offset: u64,
        /// The error of the source.
        source: io::Error,
    },
    /// The disk is full, or a quota is used up.
    #[error("{}: no space left on the disk: the file needs {bytes} in all; free some space, or write elsewhere", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// The size of the whole file.
        bytes: ByteSize,
    },
    /// An operation on the file failed.
    #[error("{}: {doing} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// [`Options::cancel`](super::Options::cancel) was set.
    #[error("{}: writing was cancelled; nothing of the file is left", path.display())]
    Cancelled {
        /// The file.
        path: PathBuf,
    },
}

impl WriteError {
    /// This error with another path: the place in which a file was to appear, not the one in which it was made.
    pub(crate) fn at(mut self, place: PathBuf) -> Self {
        let (Self::FileName { path }
        | Self::Value { path, .. }
        | Self::Outside { path, .. }
        | Self::Unreferenced { path, .. }
        | Self::Source { path, .. }
        | Self::DiskFull { path, .. }
        | Self::Io { path, .. }
        | Self::Cancelled { path }) = &mut self;
        *path = place;
        self
    }
}
