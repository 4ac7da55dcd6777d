//! [`StoreError`]: the errors of a store as a whole.

use std::io;
use std::path::{Path, PathBuf};

use super::super::error::{CaptureError, PackedError};
use super::super::skeleton::SkeletonError;
use super::inside::Link;
use super::object_id::ObjectId;

/// Why an operation on a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or an entry cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file cannot be taken apart.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// An object cannot be read.
    #[error("{}: {error}", path.display())]
    Object {
        /// The store.
        path: PathBuf,
        /// What is wrong with the object.
        error: PackedError,
    },
    /// The folder is not a store.
    #[error("{}: not a store: it has no plimsoll-store.json; give the folder that `plimsoll pack --out` made", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// The store has a format that this version does not read.
    #[error("{}: the store's format is {found}, this version reads plimsoll.store/1; use a newer one", path.display())]
    Format {
        /// The file that gives the format.
        path: PathBuf,
        /// The format.
        found: String,
    },
    /// A store would be made in a folder that holds other files.
    #[error("{}: the folder holds other files, and a store needs a folder of its own; give a new one", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: cannot {operation}: {source}; check space, permissions and the disk", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The originals to delete are in the store itself: they are the references that keep its objects.
    #[error(
        "{}: the folder is inside the store {}, which would delete its own entries; pack it without --move, or give a folder outside of the store",
        path.display(), store.display()
    )]
    OfStore {
        /// The folder.
        path: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// A symbolic link is in the store, which might lead anywhere.
    #[error(
        "{}: symbolic links within a store are never followed; replace the link by its target, or remove it",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Something that is not an entry, in which entries may be hidden, is in the place of one.
    #[error("{}: entries that it hides would lose their objects; move it out of the store's captures", path.display())]
    Hidden {
        /// The folder, or whatever has the name of an entry.
        path: PathBuf,
    },
    /// Garbage cannot be collected while something is being packed.
    #[error("{}: something is being packed into this store; collect its garbage afterwards", path.display())]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// A text that cannot be the name of a capture.
    #[error("{name:?} cannot be the name of a capture, which must be a file name; give another with --name")]
    Name {
        /// The text.
        name: String,
    },
    /// The folder has no entries to pack.
    #[error("{}: the folder holds no entry_*.pt; give the folder that the entries were captured into", path.display())]
    NoEntries {
        /// The folder.
        path: PathBuf,
    },
    /// The store already holds an entry of this name with other content.
    #[error(
        "{capture}/{entry}: the store holds this entry with other content; pack it under another name (--name), or replace it (--replace)"
    )]
    OtherContent {
        /// The capture.
        capture: String,
        /// The entry.
        entry: String,
    },
    /// Another file with other content is in the place of an entry to be unpacked.
    #[error("{}: another file is there already; move it away, or give another folder", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The store does not hold such a capture or entry.
    #[error("{name:?} is neither a capture nor an entry of the store; `plimsoll store ls` lists them")]
    NoSuch {
        /// The name that was asked for.
        name: String,
    },
    /// A file changed while it was being packed.
    #[error("{}: the file changed while it was being packed; pack it again when nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file that was put together differs from the one that was packed.
    #[error("{}: the restored file has BLAKE3 {actual}, but the packed file had {expected}; do not use it", path.display())]
    Digest {
        /// The entry.
        path: PathBuf,
        /// The digest of the file that was packed.
        expected: String,
        /// The digest of the file that its parts give.
        actual: String,
    },
    /// A file outside of the store is not the one that was packed.
    #[error("{}: the file has BLAKE3 {actual}, but the packed file had {expected}; `plimsoll unpack` restores that one", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// The digest of the file that was packed.
        expected: ObjectId,
        /// The digest of the file.
        actual: ObjectId,
    },
    /// The operation was cancelled.
    #[error("interrupted: everything finished before is kept")]
    Cancelled,
}

impl StoreError {
    /// An error of the system, of trying `operation` with `path`.
    pub(super) fn io(path: &Path, operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.downcast::<Link>() {
            Ok(Link { path }) => Self::Link { path },
            Err(source) => Self::Io { path, operation, source },
        }
    }

    /// Whether the error concerns this entry alone, so that others can still be processed.
    pub(super) fn is_of_entry(&self) -> bool {
        match self {
            Self::Capture(_) | Self::OtherContent { .. } | Self::Changed { .. } | Self::Exists { .. } => true,
            Self::Digest { .. } => true,
            Self::Skeleton(error) => !matches!(error, SkeletonError::Sink { .. } | SkeletonError::Write(_)),
            _ => false,
        }
    }
}
