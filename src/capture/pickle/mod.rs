//! The pickle machine: Python's object serialization, read as data.
//!
//! Nothing is imported, constructed or called. Opcodes that would do so in Python create nodes ([`Node::Global`],
//! [`Node::Object`]) of a [`Document`], an arena graph in which one node can be referenced any number of times: aliases
//! and cycles are kept, depth costs nothing, and dropping it does not recurse. What the nodes mean is decided
//! elsewhere, by name, from a list of known ones.
//!
//! **Memory.** Each byte of a pickle adds at most 64 bytes to the graph, and the graph as a whole takes at most 128
//! MiB: a pickle that needs more is refused. Texts and bytes are not copied out of the pickle.
//!
//! Protocols 0 to 5 are read, without extension codes and out-of-band buffers, which torch never writes.

use crate::error::PickleErrorKind;

mod document;
mod global;
mod integer;
mod machine;
mod operand;
mod stack;
mod text;

pub use document::NodeId;
pub(super) use document::{Document, How, Node, Object, PickleBytes, Span};
pub(super) use machine::read;

/// An error of a pickle, with the offset of its opcode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PickleError {
    pub(super) offset: u64,
    pub(super) kind: PickleErrorKind,
}

#[cfg(test)]
mod tests;
