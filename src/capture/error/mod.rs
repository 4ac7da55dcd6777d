//! [`CaptureError`]: what is wrong with a file, and where.
//!
//! Each layer of the reader has a file here, and returns a [`CaptureError`] with the place and its own kind.

mod archive;
mod convert;
mod entry;
mod folder;
mod packed;
mod pickle;
mod rebuild;
mod source;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use archive::ArchiveError;
pub use convert::ConvertError;
pub(super) use convert::{CONTAINER, DEPTH_LIMIT, TENSOR, TEXT_LIMIT, VALUES_LIMIT};
pub use entry::EntryError;
pub use folder::FolderError;
pub use packed::PackedError;
pub use pickle::PickleErrorKind;
pub use rebuild::RebuildError;
pub use source::SourceError;

/// An error of reading a capture: the file, the record in it, the byte, and what is wrong.
///
/// The message reads *where: what and why; what to do next*.
#[derive(Debug)]
pub struct CaptureError {
    /// The file, or the folder if the error concerns a folder.
    pub file: Arc<Path>,
    /// The record of the archive, such as `data.pkl` or `data/0`, if the error is in one.
    pub record: Option<String>,
    /// The offset of the byte at fault: within the record if there is one, else within the file.
    pub offset: Option<u64>,
    /// What is wrong.
    pub kind: CaptureErrorKind,
}

/// What is wrong, by the layer that found it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The file cannot be read, or changed since it was opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The zip archive is malformed or refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The pickle is malformed or refused.
    #[error(transparent)]
    Pickle(#[from] PickleErrorKind),
    /// A tensor or storage of the file is malformed.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// A value cannot be passed to a kernel.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The file is not a capture entry, or its call cannot be bound.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The folder is not a capture.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The entry of a store cannot be put together.
    #[error(transparent)]
    Packed(#[from] PackedError),
}

impl CaptureErrorKind {
    /// The name of the layer that found the error: `source`, `archive`, `pickle`, `tensor`, `value`, `entry`, `folder`
    /// or `store`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::Archive(_) => "archive",
            Self::Pickle(_) => "pickle",
            Self::Rebuild(_) => "tensor",
            Self::Convert(_) => "value",
            Self::Entry(_) => "entry",
            Self::Folder(_) => "folder",
            Self::Packed(_) => "store",
        }
    }

    /// What the user should do next.
    fn advice(&self) -> &'static str {
        match self {
            Self::Source(error) => error.advice(),
            Self::Archive(error) => error.advice(),
            Self::Pickle(error) => error.advice(),
            Self::Rebuild(_) => "save the file again with torch.save",
            Self::Convert(_) => "capture plain values and tensors only",
            Self::Entry(error) => error.advice(),
            Self::Folder(error) => error.advice(),
            Self::Packed(error) => error.advice(),
        }
    }
}

impl CaptureError {
    /// An error of `file` as a whole.
    pub(crate) fn new(file: &Arc<Path>, kind: impl Into<CaptureErrorKind>) -> Self {
        let file = crate::origin::address(file).unwrap_or_else(|| Arc::clone(file));
        Self { file, record: None, offset: None, kind: kind.into() }
    }

    /// This error, in `record`.
    pub(crate) fn in_record(mut self, record: impl Into<String>) -> Self {
        self.record = Some(record.into());
        self
    }

    /// This error, at byte `offset`.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever fetches names the address and what to do.
        if let CaptureErrorKind::Source(SourceError::Fetch(error)) = &self.kind {
            return write!(f, "{error}");
        }
        write!(f, "{}", self.file.display())?;
        if let Some(record) = &self.record {
            write!(f, ", record `{}`", record.escape_debug())?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}; {}", self.kind, self.kind.advice())
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.kind)
    }
}
