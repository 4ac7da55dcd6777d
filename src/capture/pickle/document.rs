//! [`Document`]: the values of a pickle as a graph.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use super::super::map::MappedFile;
use super::{integer, text};

/// The longest name, in bytes: of a module, a class, a storage key, a keyword.
pub(super) const NAME_BYTES: u32 = 1024;

/// A value of a pickle, by its place: two items with the same id are one object in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// A range of the document's bytes: of the pickle, or decoded from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) start: u32,
    pub(super) length: u32,
}

/// A value. Containers hold node ids, so that they can hold each other.
#[derive(Debug)]
pub(crate) enum Node {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits: two's complement, little-endian.
    BigInt(Span),
    /// An integer beyond 64 bits: decimal digits, perhaps with a sign.
    Decimal(Span),
    Float(f64),
    /// UTF-8 that may hold surrogates.
    Str(Span),
    Bytes(Span),
    ByteArray(Span),
    List(Vec<NodeId>),
    Tuple(Box<[NodeId]>),
    Dict(Vec<(NodeId, NodeId)>),
    Set(Vec<NodeId>),
    FrozenSet(Box<[NodeId]>),
    /// A name that Python would import.
    Global {
        module: Span,
        name: Span,
    },
    /// The result that a call would have in Python.
    Object(Object),
    /// A persistent id, with the byte of its opcode.
    Persistent {
        id: NodeId,
        offset: u32,
    },
}

/// A call that Python would make, with what is done to its result.
#[derive(Debug)]
pub(crate) struct Object {
    pub(super) callable: NodeId,
    pub(super) args: NodeId,
    pub(super) offset: u32,
    pub(super) how: How,
    pub(super) extra: Option<Box<Extra>>,
}

/// The kind of opcode that makes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// `callable(*args)`: REDUCE.
    Call,
    /// `callable.__new__(callable, *args)`: NEWOBJ, NEWOBJ_EX, INST, OBJ.
    New,
}

/// What opcodes add to an object after it is made.
#[derive(Debug, Default)]
pub(super) struct Extra {
    pub(super) kwargs: Option<NodeId>,
    pub(super) state: Option<NodeId>,
    pub(super) items: Vec<NodeId>,
    pub(super) pairs: Vec<(NodeId, NodeId)>,
}

impl Object {
    /// The callable: mostly a [`Node::Global`].
    pub(crate) fn callable(&self) -> NodeId {
        self.callable
    }

    /// The tuple of the call's arguments.
    pub(crate) fn args(&self) -> NodeId {
        self.args
    }

    /// The offset of the opcode that makes the object.
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.offset)
    }

    /// The kind of opcode that makes the object.
    pub(crate) fn how(&self) -> How {
        self.how
    }

    /// The keyword arguments of NEWOBJ_EX: a dict.
    pub(crate) fn kwargs(&self) -> Option<NodeId> {
        self.extra.as_ref()?.kwargs
    }

    /// The state that BUILD would give the object.
    pub(crate) fn state(&self) -> Option<NodeId> {
        self.extra.as_ref()?.state
    }

    /// The items that APPENDS or ADDITEMS would add to the object.
    pub(crate) fn items(&self) -> &[NodeId] {
        self.extra.as_ref().map_or(&[], |e| &e.items)
    }

    /// The items that SETITEMS would set in the object.
    pub(crate) fn pairs(&self) -> &[(NodeId, NodeId)] {
        self.extra.as_ref().map_or(&[], |e| &e.pairs)
    }
}

/// The bytes of a pickle: read, or mapped if there are many.
#[derive(Debug)]
pub(crate) enum PickleBytes {
    Read(Vec<u8>),
    Mapped(Arc<MappedFile>),
}

impl Deref for PickleBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// The values of one pickle.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) pickle: PickleBytes,
    /// Texts that protocol 0 writes with escapes; their spans start at the pickle's end.
    pub(super) decoded: Vec<u8>,
    pub(super) nodes: Vec<Node>,
    pub(super) root: NodeId,
    pub(super) end: usize,
}

impl Document {
    /// The bytes that the pickle was read from.
    pub(crate) fn source(&self) -> &PickleBytes {
        &self.pickle
    }

    /// The value that the pickle holds.
    pub(crate) fn root(&self) -> NodeId {
        self.root
    }

    /// The offset of the byte after the pickle's STOP.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// The node of `id`.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Every node, in order: what a node is created from comes before it; what is added to it later may come after it.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// The bytes of `span`.
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        let (start, length) = (span.start as usize, span.length as usize);
        match start.checked_sub(self.pickle.len()) {
            Some(start) => &self.decoded[start..start + length],
            None => &self.pickle[start..start + length],
        }
    }

    /// The text of `span`, each surrogate replaced by U+FFFD.
    pub(crate) fn text(&self, span: Span) -> Cow<'_, str> {
        text::without_surrogates(self.bytes(span))
    }

    /// The text of `id`, if it is short enough to be a name. Longer text is never a name, and searching through it for
    /// each reference could take forever.
    pub(crate) fn as_name(&self, id: NodeId) -> Option<Cow<'_, str>> {
        match *self.node(id) {
            Node::Str(span) if span.length <= NAME_BYTES => Some(self.text(span)),
            _ => None,
        }
    }

    /// The items of `id`, if it is a tuple.
    pub(crate) fn as_tuple(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id) {
            Node::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The number of `id`, if it is an integer of at most 64 bits.
    pub(crate) fn as_int(&self, id: NodeId) -> Option<i64> {
        match *self.node(id) {
            Node::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The module and the name of `id`, if it is a global.
    pub(crate) fn as_global(&self, id: NodeId) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
        match *self.node(id) {
            Node::Global { module, name } => Some((self.text(module), self.text(name))),
            _ => None,
        }
    }

    /// An integer beyond 64 bits in decimal, or in hexadecimal if it has more digits than Python prints.
    pub(crate) fn big_int(&self, node: &Node) -> Option<String> {
        match *node {
            Node::BigInt(span) => Some(integer::text(self.bytes(span))),
            Node::Decimal(span) => Some(self.text(span).into_owned()),
            _ => None,
        }
    }
}
