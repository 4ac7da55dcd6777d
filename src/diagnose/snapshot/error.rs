//! The errors of reading a memory snapshot.

use std::io;

use plimsoll_memory::bytes::ByteSize;

/// A memory snapshot that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be opened or read.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file.
        name: String,
        /// What the system reported.
        source: io::Error,
    },
    /// The trace's events, kept in a temporary file, cannot be written or read.
    #[error("cannot keep the trace of {name} in a temporary file ({source}); set TMPDIR to a folder with room for it")]
    Spool {
        /// The file.
        name: String,
        /// What the system reported.
        source: io::Error,
    },
    /// The file is not a memory snapshot, is damaged, or would execute code in Python.
    #[error("{name}: byte {offset}: {kind}")]
    Invalid {
        /// The file.
        name: String,
        /// The byte of the faulty opcode.
        offset: u64,
        /// What is wrong.
        kind: InvalidSnapshot,
    },
}

/// Why a file is not a readable memory snapshot.
///
/// What to do: dump the snapshot again with `torch.cuda.memory._dump_snapshot`, and copy it whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSnapshot {
    /// The file ends inside the pickle.
    #[error("the file ends within the pickle: it is truncated, copy or dump it again")]
    Truncated,
    /// The protocol is newer than 5.
    #[error("pickle protocol {0} is not known; protocols 2 to 5 are read")]
    Protocol(u8),
    /// An opcode imports or calls something, or occurs in no snapshot.
    #[error(
        "{0}: a memory snapshot holds only plain data, and nothing in it is executed; dump it with \
         torch.cuda.memory._dump_snapshot"
    )]
    Refused(String),
    /// A byte is not an opcode.
    #[error("0x{0:02x} is not an opcode of a pickle; is this a file of torch.cuda.memory._dump_snapshot?")]
    Opcode(u8),
    /// An opcode needs more items than the stack holds.
    #[error("the pickle uses more values than it has made")]
    Underflow,
    /// A reference names something that was never stored.
    #[error("memo entry {0} was never stored")]
    MemoMissing(u32),
    /// A reference names a value that was not kept.
    #[error("memo entry {index} refers back to {what}")]
    MemoGone {
        /// The memo entry.
        index: u32,
        /// The kind of value that was there.
        what: &'static str,
    },
    /// A known field has a value of the wrong kind.
    #[error("`{field}` is {found}, but {expected} is needed")]
    Field {
        /// The key, or the list.
        field: &'static str,
        /// The kind of value found.
        found: &'static str,
        /// The kind of value needed.
        expected: &'static str,
    },
    /// A record lacks a field that every version of PyTorch writes.
    #[error("a {record} without `{field}`")]
    Missing {
        /// The record.
        record: &'static str,
        /// The key.
        field: &'static str,
    },
    /// Containers are nested as in no snapshot.
    #[error("{0}")]
    Shape(&'static str),
    /// The pickle holds something else.
    #[error("the pickle is not a memory snapshot: {0}")]
    NotASnapshot(String),
    /// The data that must be held in memory at once exceeds the budget.
    #[error("its distinct stacks, references and live blocks need more than the budget of {budget}; raise the budget")]
    Budget {
        /// The budget in the options.
        budget: ByteSize,
    },
}
