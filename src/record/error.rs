//! [`RecordError`]: why a record could not be written or read.

use std::io;
use std::path::PathBuf;

pub use super::texts::LongText;
use plimsoll_memory::bytes::ByteSize;

/// The value of `schema` in the records that this version writes and reads.
pub const SCHEMA: &str = "plimsoll.record/1";

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The folder of the record does not exist.
    #[error("cannot write the record {}: the folder {} does not exist; create it or name another path", .path.display(), .folder.display())]
    MissingFolder {
        /// The record.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The path of the record is a folder, a device or a pipe, which a record must not replace.
    #[error("cannot write the record {}: there is {found}, not a file; name another path", .path.display())]
    NotAFile {
        /// The record.
        path: PathBuf,
        /// The kind of file at the path.
        found: &'static str,
    },
    /// The record or its folder is read-only.
    #[error("cannot write the record {}: {what} is read-only; make it writable or name another path", .path.display())]
    ReadOnly {
        /// The record.
        path: PathBuf,
        /// What is read-only.
        what: &'static str,
    },
    /// The disk or the quota is full.
    #[error("cannot write the record {}: no space left on its disk ({source}); free at least {needed} there or name a path on another disk", .path.display())]
    DiskFull {
        /// The record.
        path: PathBuf,
        /// The required space.
        needed: ByteSize,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused an operation on the file.
    #[error("cannot {doing} the record {}: {source}", .path.display())]
    Io {
        /// The record.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The file is larger than any record that this version reads.
    #[error("{} is larger than {limit} and is not read as a record; is it another file?", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest record that is read.
        limit: ByteSize,
    },
    /// The texts in the file are longer than those of a record.
    #[error("{} is not read as a record: {found}; is it another file?", .path.display())]
    LongText {
        /// The file.
        path: PathBuf,
        /// Which of them.
        found: LongText,
    },
    /// The file is not JSON.
    #[error("{} is not JSON: {source}; name a record that plimsoll wrote with --record", .path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The parser's error, with line and column.
        source: serde_json::Error,
    },
    /// The file is a JSON document of another kind or version.
    #[error("{} is {}, but this version reads only {SCHEMA}; read it with the version of plimsoll that wrote it", .path.display(),
        .found.as_ref().map_or_else(|| "not a record (it has no text `schema`)".to_owned(), |s| format!("of schema {s:?}")))]
    WrongSchema {
        /// The file.
        path: PathBuf,
        /// The schema that the file names.
        found: Option<String>,
    },
    /// The file names the right schema but does not follow it.
    #[error("{} does not follow {SCHEMA}: {source}; it was changed after it was written, or written by a newer plimsoll", .path.display())]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// The parser's error, with line and column.
        source: serde_json::Error,
    },
    /// The digest in the record does not match its semantics.
    #[error(
        "the semantics have the digest {computed}, but the record says {stored}: it was changed after it was written, or written by a newer plimsoll"
    )]
    BrokenDigest {
        /// The digest in the record.
        stored: String,
        /// The digest computed from its semantics.
        computed: String,
    },
    /// The parts of the record contradict each other.
    #[error("the record contradicts itself: {detail}; it was changed after it was written")]
    Inconsistent {
        /// The contradiction.
        detail: String,
    },
    /// The record is in an object store, which cannot be read or written.
    #[error(transparent)]
    Elsewhere(#[from] crate::elsewhere::ElsewhereError),
    /// An error in the record of this file.
    #[error("{}: {fault}", .path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        fault: Box<RecordError>,
    },
}
