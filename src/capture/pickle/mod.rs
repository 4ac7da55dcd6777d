//! The pickle machine: Python's object serialization, read as data.
//!
//! Nothing is imported, constructed or called. Opcodes that would do so in Python make nodes ([`Node::Global`],
//! [`Node::Object`]) of a [`Document`], an arena graph in which a node is met as often as the pickle refers to it:
//! aliases and cycles stay what they are, depth costs nothing, and dropping it does not recurse. What the nodes mean
//! is decided elsewhere, by name, from a list of known ones.
//!
//! **Memory.** Each byte of a pickle adds at most 64 bytes to the graph, and the graph as a whole no more than
//! 128 MiB: beyond it the pickle is refused. Texts and bytes are not copied out of the pickle.
//!
//! Protocols 0 to 5 are read, without extension codes and out-of-band buffers, which torch never writes.

mod document;
mod global;
mod integer;
mod machine;
mod operand;
mod stack;
mod text;

pub(super) use document::{Document, How, Node, NodeId, Object, PickleBytes, Span};
pub(super) use machine::read;

/// A pickle that is malformed or refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PickleErrorKind {
    /// The pickle ends before its STOP.
    #[error("the pickle ends within an opcode")]
    Truncated,
    /// No such opcode.
    #[error("opcode 0x{0:02x} is unknown")]
    UnknownOpcode(u8),
    /// An opcode that torch never writes, and whose meaning lies outside the file.
    #[error("opcode {0} refers to something outside the file")]
    OutOfBand(&'static str),
    /// A protocol above 5.
    #[error("protocol {0} is not supported")]
    Protocol(u8),
    /// An operand is no number, no text, or too long for the pickle.
    #[error("the operand is no {0}")]
    Operand(&'static str),
    /// An opcode takes more from the stack than is there.
    #[error("the stack is empty")]
    StackUnderflow,
    /// An opcode needs a mark and there is none.
    #[error("there is no mark on the stack")]
    NoMark,
    /// A memo index that was never stored.
    #[error("nothing is stored under memo index {0}")]
    MemoMissing(u32),
    /// An opcode is applied to a value of the wrong kind.
    #[error("{opcode} needs {needed}")]
    WrongKind {
        /// The opcode.
        opcode: &'static str,
        /// What it needs.
        needed: &'static str,
    },
    /// The pickle would import something that runs code or touches the system.
    #[error("it would import `{0}`, which can run code: nothing was imported")]
    Forbidden(String),
    /// The values take more memory than any reasonable file needs.
    #[error("its values take more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

impl PickleErrorKind {
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Truncated => "copy or capture the file again",
            Self::Forbidden(_) => "do not load this file with torch.load either, unless you wrote it",
            Self::TooLarge { .. } => "capture tensors, not large Python containers",
            _ => "save the file again with torch.save",
        }
    }
}

/// An error of a pickle, and the byte of its opcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PickleError {
    pub(super) offset: u64,
    pub(super) kind: PickleErrorKind,
}

#[cfg(test)]
mod tests;
