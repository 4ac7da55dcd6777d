//! [`SourceError`]: the errors of the file itself.

use std::io;

/// A file that cannot be read, or is no longer what it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// There is no such file.
    #[error("there is no such file or folder")]
    NotFound,
    /// It is a folder, a device, a pipe or a socket.
    #[error("it is no regular file")]
    NotAFile,
    /// The system refused.
    #[error("cannot {operation}: {source}")]
    Io {
        /// What was tried: `open`, `read`, `map` ...
        operation: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// Bytes that should be there lie beyond the end of the file.
    #[error("the file is truncated: {needed} bytes are needed and it has {size}")]
    Truncated {
        /// The size that the file should at least have, in bytes.
        needed: u64,
        /// The size that it has, in bytes.
        size: u64,
    },
    /// The file has another size, or another time of modification or change, than when it was opened.
    #[error("the file changed while it was being read")]
    Changed,
    /// The file shrank, or its disk failed, under a map of it.
    #[error("mapped bytes of the file were lost: it shrank, or its disk failed, while it was being read")]
    Lost,
    /// Bytes of an entry of a store are asked for in one piece, and lie in several objects.
    #[error("{bytes} bytes lie scattered over the store, and at most {limit} are read into memory")]
    Scattered {
        /// The bytes that were asked for.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is nearly all hole: its disk holds little of the bytes that it says it has.
    #[error("the file says that it has {size} bytes and holds {data} of them: the rest is a hole")]
    Hole {
        /// The bytes that it says it has.
        size: u64,
        /// Those that it holds.
        data: u64,
    },
    /// More files are mapped at a time than can be guarded.
    #[error("more than {0} files are mapped at a time")]
    TooManyMaps(usize),
}

impl SourceError {
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NotFound => "check the path",
            Self::NotAFile => "give a file that torch.save wrote",
            Self::Io { .. } => "check permissions, limits and the disk",
            Self::Truncated { .. } => "copy or capture the file again",
            Self::Changed | Self::Lost => "run again when nothing writes to it",
            Self::Scattered { .. } => "unpack the entry and use the file",
            Self::Hole { .. } => "capture it again, or write the zeros out (cp --sparse=never) if they are meant",
            Self::TooManyMaps(_) => "keep fewer entries mapped",
        }
    }
}
