//! Why the files of benchmarks cannot be judged.

use std::io;
use std::path::PathBuf;

/// Why the files of benchmarks cannot be judged.
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
    /// The file is larger than any output of a benchmark.
    #[error("{} is larger than {limit} bytes, too large for the output of a benchmark: name the file or folder that one wrote", path.display())]
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
    /// The file is not the JSON that gungraun writes.
    #[error("{} is not a summary of gungraun: {source}; run the benchmark again with --save-summary", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The version of a summary is not supported.
    #[error("{} is a summary of version `{version}`; version 6 (iai-callgrind 0.16) or 7 (gungraun 0.20) is needed", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        version: String,
    },
    /// A row of divan's table is invalid.
    #[error("{}, line {line}: {what}; save the output of `cargo bench` again", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The file is the output of no benchmark that is known.
    #[error(
        "{} is neither divan's table nor a summary of gungraun: save what `cargo bench` prints, or name a folder",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The baseline is the output of another harness.
    #[error("{} is the output of another harness: name an earlier output of the same one", path.display())]
    OtherHarness {
        /// The baseline.
        path: PathBuf,
    },
    /// The folder is too deep or has too many parts to be that of benchmarks.
    #[error("{} has more than {limit} {what}: is this the folder of benchmarks?", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The maximum number.
        limit: usize,
        /// What there are too many of.
        what: &'static str,
    },
}
