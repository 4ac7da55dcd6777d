//! [`StoreError`]: what goes wrong with a store as a whole.

use std::io;
use std::path::{Path, PathBuf};

use super::super::error::{CaptureError, PackedError};
use super::super::skeleton::SkeletonError;
use super::inside::Link;

/// Why something could not be done with a store.
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
    /// The folder is no store.
    #[error("{}: this is no store: it has no plimsoll-store.json; give the folder that `plimsoll pack --out` made", path.display())]
    NoStore {
        /// The folder.
        path: PathBuf,
    },
    /// The store has another format.
    #[error("{}: its format is {found}, and this program reads plimsoll.store/1; use a newer one", path.display())]
    Format {
        /// The file that says so.
        path: PathBuf,
        /// The format.
        found: String,
    },
    /// A store would be made in a folder that holds something else.
    #[error("{}: the folder holds other files, and a store needs one of its own; give a new folder", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: cannot {operation}: {source}; check space, permissions and the disk", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        operation: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// Originals that lie in the store would be deleted: the references that keep its objects.
    #[error(
        "{}: this lies in the store {}, which would delete its own entries; pack it without --move, or give a folder outside of the store",
        path.display(), store.display()
    )]
    OfStore {
        /// The folder.
        path: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// A store has a symbolic link, which might lead anywhere.
    #[error(
        "{}: it is a symbolic link, which is never followed within a store; put what it leads to in its place, or remove it",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Garbage cannot be collected while something is being packed.
    #[error("{}: something is being packed into this store; collect its garbage afterwards", path.display())]
    InUse {
        /// The store.
        path: PathBuf,
    },
    /// A text that cannot be the name of a capture.
    #[error("{name:?} cannot name a capture: it takes a file name; give another with --name")]
    Name {
        /// The text.
        name: String,
    },
    /// There is nothing to pack.
    #[error("{}: the folder holds no entry_*.pt; give the folder that the entries were captured into", path.display())]
    NoEntries {
        /// The folder.
        path: PathBuf,
    },
    /// The store holds an entry of this name and of other content.
    #[error(
        "{capture}/{entry}: the store has it with other content; pack under another name (--name), or let it be replaced (--replace)"
    )]
    OtherContent {
        /// The capture.
        capture: String,
        /// The entry.
        entry: String,
    },
    /// A file with other content stands where an entry would be unpacked to.
    #[error("{}: there is another file already; move it away, or give another folder", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The store holds no such capture or entry.
    #[error("{name:?} is neither a capture nor an entry of the store; `plimsoll store ls` names them")]
    NoSuch {
        /// What was asked for.
        name: String,
    },
    /// A file changed while it was being packed.
    #[error("{}: the file changed while it was being packed; pack it again when nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file that was put together is not the one that was packed.
    #[error("{}: put together it has BLAKE3 {actual}, and the file that was packed had {expected}; do not use it", path.display())]
    Digest {
        /// The entry.
        path: PathBuf,
        /// The digest of the file that was packed.
        expected: String,
        /// The digest of what its parts give.
        actual: String,
    },
    /// It was asked to stop.
    #[error("interrupted: what was finished before is kept")]
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

    /// Whether only this entry is concerned, and others can still be done.
    pub(super) fn is_of_entry(&self) -> bool {
        match self {
            Self::Capture(_) | Self::OtherContent { .. } | Self::Changed { .. } | Self::Exists { .. } => true,
            Self::Digest { .. } => true,
            Self::Skeleton(error) => !matches!(error, SkeletonError::Sink { .. } | SkeletonError::Write(_)),
            _ => false,
        }
    }
}
