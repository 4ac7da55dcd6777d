//! [`SourceError`]: the errors of the file itself.

use std::io;

/// A file that cannot be read, or that changed since it was opened.
///
/// What to do: check the path, its permissions and the disk, and run again when nothing writes to the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The path does not exist.
    #[error("there is no such file or folder")]
    NotFound,
    /// The path is a folder, a device, a pipe or a socket.
    #[error("not a regular file")]
    NotAFile,
    /// The system refused an operation.
    #[error("cannot {operation}: {source}")]
    Io {
        /// The operation: `open`, `read`, `map` ...
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file ends before bytes that should be in it.
    #[error("the file is truncated: {needed} bytes are needed, but it has {size}")]
    Truncated {
        /// The size that the file should at least have, in bytes.
        needed: u64,
        /// The size of the file, in bytes.
        size: u64,
    },
    /// The file has another size, or another time of modification or change, than when it was opened.
    #[error("the file changed while it was being read")]
    Changed,
    /// The file shrank, or its disk failed, while it was mapped.
    #[error("mapped bytes of the file were lost: it shrank, or its disk failed, while it was being read")]
    Lost,
    /// Bytes of an entry of a store were requested in one piece, but are spread over several objects.
    #[error("{bytes} bytes are spread over several objects of the store, and at most {limit} may be read into memory")]
    Scattered {
        /// The bytes that were asked for.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is nearly all hole: the disk holds few of its bytes.
    #[error("the file has {size} bytes, of which the disk holds {data}: the rest is a hole")]
    Hole {
        /// The size of the file in bytes.
        size: u64,
        /// The bytes that the disk holds.
        data: u64,
    },
    /// Bytes that are elsewhere could not be fetched.
    #[error("{0}")]
    Fetch(crate::origin::FetchError),
    /// Too many files are mapped at once: no more can be guarded.
    #[error("more than {0} files are mapped at once")]
    TooManyMaps(usize),
}

impl SourceError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NotFound => "check the path",
            Self::NotAFile => "give a file that torch.save wrote",
            Self::Io { .. } => "check permissions, limits and the disk",
            Self::Fetch(_) => "check the network and the object store",
            Self::Truncated { .. } => "copy or capture the file again",
            Self::Changed | Self::Lost => "run again when nothing writes to the file",
            Self::Scattered { .. } => "unpack the entry and use the file",
            Self::Hole { .. } => "capture the file again, or write the zeros out (cp --sparse=never) if they are meant",
            Self::TooManyMaps(_) => "keep fewer entries mapped",
        }
    }
}
