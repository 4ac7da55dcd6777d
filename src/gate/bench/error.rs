//! Why criterion's files cannot be judged.

use std::io;
use std::path::PathBuf;

/// Why criterion's files cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A folder or file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is larger than any that criterion writes.
    #[error("{} is larger than {limit} bytes, too large for a file of criterion: is this criterion's folder?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The maximum size that is read.
        limit: u64,
    },
    /// The file is not the JSON that criterion writes.
    #[error("{} is not in the format of criterion 0.5 or later: {source}; run the benchmark again", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The samples in a file are invalid.
    #[error("{}: {what}; run the benchmark again", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The folder is too deep or has too many parts to be criterion's.
    #[error("{} has more than {limit} {what}: is this criterion's folder?", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The maximum number.
        limit: usize,
        /// What there are too many of.
        what: &'static str,
    },
}
