//! The machine: opcodes in, a [`Document`] out.

mod objects;

use std::collections::HashMap;

use super::document::{Document, Extra, Node, NodeId, PickleBytes, Span};
use super::operand::Operands;
use super::stack::{BOX, Stack};
use super::{PickleError, integer, text};
use crate::error::PickleErrorKind;

/// The nodes of every document: None, True, False, the empty tuple, and the integers of one byte. A pickle of a million
/// of them needs no more nodes.
const NONE: NodeId = NodeId(0);
const TRUE: NodeId = NodeId(1);
const FALSE: NodeId = NodeId(2);
const EMPTY_TUPLE: NodeId = NodeId(3);
const FIRST_INT: u32 = 4;
const INTS: u32 = 256;

/// The most memory that one node and one memo entry take, growth of their vectors included.
const NODE: u64 = 2 * (size_of::<Node>() + size_of::<bool>()) as u64;
const MEMO: u64 = 24;

type Outcome<T> = Result<T, PickleErrorKind>;

/// Reads the pickle that starts at byte `start` of `pickle`.
pub(crate) fn read(pickle: PickleBytes, start: usize) -> Result<Document, PickleError> {
    if pickle.len() >= u32::MAX as usize / 2 {
        return Err(PickleError { offset: 0, kind: PickleErrorKind::TooLarge { limit: u64::from(u32::MAX / 2) } });
    }
    let mut machine = Machine {
        operands: Operands::new(&pickle, start.min(pickle.len())),
        whole: pickle.len(),
        decoded: Vec::new(),
        nodes: vec![Node::None, Node::Bool(true), Node::Bool(false), Node::Tuple(Box::default())],
        unhashable: vec![false; FIRST_INT as usize + INTS as usize],
        stack: Stack::default(),
        memo: HashMap::new(),
        opcode: start,
    };
    machine.nodes.extend((0..INTS).map(|n| Node::Int(i64::from(n))));
    let root = loop {
        machine.opcode = machine.operands.position();
        match machine.step() {
            Ok(None) => {}
            Ok(Some(root)) => break root,
            Err(kind) => return Err(PickleError { offset: machine.opcode as u64, kind }),
        }
    };
    let (end, decoded, nodes) = (machine.operands.position(), machine.decoded, machine.nodes);
    Ok(Document { pickle, decoded, nodes, root, end })
}

struct Machine<'a> {
    operands: Operands<'a>,
    /// The length of the pickle: spans from here on lie in `decoded`.
    whole: usize,
    decoded: Vec<u8>,
    nodes: Vec<Node>,
    /// For each node, whether Python would refuse it as a key or as an item of a set.
    unhashable: Vec<bool>,
    stack: Stack,
    memo: HashMap<u32, NodeId>,
    /// The offset of the opcode being read.
    opcode: usize,
}

impl Machine<'_> {
    /// Runs one opcode; STOP returns the root.
    fn step(&mut self) -> Outcome<Option<NodeId>> {
        match self.operands.u8()? {
            b'.' => return self.stack.pop().map(Some),
            0x80 => match self.operands.u8()? {
                0..=5 => {}
                protocol => return Err(PickleErrorKind::Protocol(protocol)),
            },
            // Frames only help a stream reader to know how much to fetch.
            0x95 => drop(self.operands.length64()?),
            b'(' => self.stack.mark()?,
            b'0' => self.stack.drop_top()?,
            b'1' => self.stack.drop_to_mark()?,
            b'2' => {
                let top = self.stack.top()?;
                self.stack.push(top)?;
            }
            b'N' => self.stack.push(NONE)?,
            0x88 => self.stack.push(TRUE)?,
            0x89 => self.stack.push(FALSE)?,
            opcode @ (b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a | 0x8b) => self.integer(opcode)?,
            b'F' => {
                let value = self.operands.ascii_line()?.parse().map_err(|_| PickleErrorKind::Operand("float"))?;
                self.node(Node::Float(value))?;
            }
            b'G' => {
                let value = self.operands.f64()?;
                self.node(Node::Float(value))?;
            }
            opcode @ (b'X' | 0x8c | 0x8d | b'V' | b'S' | b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96) => {
                self.string(opcode)?;
            }
            opcode @ (b'p' | b'q' | b'r' | 0x94 | b'g' | b'h' | b'j') => self.memo_opcode(opcode)?,
            opcode @ (b']' | b'l' | b')' | b't' | 0x85 | 0x86 | 0x87 | b'}' | b'd' | 0x8f | 0x91) => {
                self.container(opcode)?;
            }
            opcode @ (b'a' | b'e' | b's' | b'u' | 0x90) => self.fill(opcode)?,
            opcode @ (b'c' | 0x93 | b'R' | 0x81 | 0x92 | b'i' | b'o' | b'b' | b'P' | b'Q') => self.object(opcode)?,
            0x82..=0x84 => return Err(PickleErrorKind::OutOfBand("EXT")),
            0x97 | 0x98 => return Err(PickleErrorKind::OutOfBand("NEXT_BUFFER")),
            opcode => return Err(PickleErrorKind::UnknownOpcode(opcode)),
        }
        Ok(None)
    }

    fn integer(&mut self, opcode: u8) -> Outcome<()> {
        let bytes = match opcode {
            b'K' => {
                let value = self.operands.u8()?;
                return self.stack.push(NodeId(FIRST_INT + u32::from(value)));
            }
            b'J' => return self.operands.i32().and_then(|n| self.int(n.into())),
            b'M' => return self.operands.u16().and_then(|n| self.int(n.into())),
            b'I' | b'L' => return self.decimal(),
            0x8a => usize::from(self.operands.u8()?),
            _ => usize::try_from(self.operands.i32()?).map_err(|_| PickleErrorKind::Operand("length"))?,
        };
        let start = self.operands.position();
        let value = self.operands.take(bytes)?;
        match integer::small(value) {
            Some(value) => self.int(value),
            None => self.node(Node::BigInt(span(start, bytes))),
        }
    }

    fn int(&mut self, value: i64) -> Outcome<()> {
        match u32::try_from(value) {
            Ok(value) if value < INTS => self.stack.push(NodeId(FIRST_INT + value)),
            _ => self.node(Node::Int(value)),
        }
    }

    /// A number in decimal, or the truth values of protocol 1, `00` and `01`.
    fn decimal(&mut self) -> Outcome<()> {
        let start = self.operands.position();
        let line = self.operands.ascii_line()?;
        match line {
            "00" => return self.stack.push(FALSE),
            "01" => return self.stack.push(TRUE),
            _ => {}
        }
        let digits = line.strip_suffix('L').unwrap_or(line);
        if let Ok(value) = digits.parse() {
            return self.int(value);
        }
        let unsigned = digits.strip_prefix('-').unwrap_or(digits);
        if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) || !line.starts_with(digits) {
            return Err(PickleErrorKind::Operand("integer"));
        }
        self.node(Node::Decimal(span(start, digits.len())))
    }

    fn string(&mut self, opcode: u8) -> Outcome<()> {
        let length = match opcode {
            b'V' | b'S' => return self.escaped(opcode),
            0x8c | b'U' | b'C' => usize::from(self.operands.u8()?),
            b'X' | b'B' => self.operands.u32()? as usize,
            b'T' => usize::try_from(self.operands.i32()?).map_err(|_| PickleErrorKind::Operand("length"))?,
            _ => self.operands.length64()?,
        };
        let span = span(self.operands.position(), length);
        let bytes = self.operands.take(length)?;
        self.node(match opcode {
            b'B' | b'C' | 0x8e => Node::Bytes(span),
            0x96 => Node::ByteArray(span),
            _ if text::is_text(bytes) => Node::Str(span),
            // Python 2 writes its byte strings with these opcodes.
            b'T' | b'U' => Node::Bytes(span),
            _ => return Err(PickleErrorKind::Operand("UTF-8 text")),
        })
    }

    /// Reads a text of protocol 0, which is written with escapes.
    fn escaped(&mut self, opcode: u8) -> Outcome<()> {
        let line = self.operands.line()?;
        // Decoding gives at most twice as many bytes, in a vector that may be half empty.
        self.stack.charge(4 * line.len() as u64)?;
        let start = self.decoded.len();
        let decode = if opcode == b'V' { text::raw_unicode_escape } else { text::quoted };
        decode(line, &mut self.decoded).ok_or(PickleErrorKind::Operand("text with valid escapes"))?;
        let decoded = &self.decoded[start..];
        let span = span(self.whole + start, decoded.len());
        let node = if text::is_text(decoded) { Node::Str(span) } else { Node::Bytes(span) };
        self.node(node)
    }

    fn memo_opcode(&mut self, opcode: u8) -> Outcome<()> {
        let index = match opcode {
            b'p' | b'g' => self.operands.ascii_line()?.parse().map_err(|_| PickleErrorKind::Operand("memo index"))?,
            b'q' | b'h' => u32::from(self.operands.u8()?),
            b'r' | b'j' => self.operands.u32()?,
            _ => self.memo.len() as u32,
        };
        if matches!(opcode, b'g' | b'h' | b'j') {
            let node = *self.memo.get(&index).ok_or(PickleErrorKind::MemoMissing(index))?;
            return self.stack.push(node);
        }
        let top = self.stack.top()?;
        if self.memo.insert(index, top).is_none() {
            self.stack.charge(MEMO)?;
        }
        Ok(())
    }

    fn container(&mut self, opcode: u8) -> Outcome<()> {
        match opcode {
            b']' => self.node(Node::List(Vec::new())),
            b'}' => self.node(Node::Dict(Vec::new())),
            0x8f => self.node(Node::Set(Vec::new())),
            b')' => self.stack.push(EMPTY_TUPLE),
            0x85..=0x87 => {
                let items = self.stack.pop_many(usize::from(opcode - 0x84))?;
                self.node(Node::Tuple(items.into()))
            }
            b't' => {
                let items = self.stack.pop_to_mark()?;
                if items.is_empty() { self.stack.push(EMPTY_TUPLE) } else { self.node(Node::Tuple(items.into())) }
            }
            0x91 => {
                let items = self.stack.pop_to_mark()?;
                self.check_hashable("FROZENSET", &items)?;
                self.node(Node::FrozenSet(items.into()))
            }
            b'l' => {
                let items = self.stack.pop_to_mark()?;
                self.node(Node::List(items))
            }
            _ => {
                let items = self.stack.pop_to_mark()?;
                let pairs = self.pairs(&items)?;
                self.node(Node::Dict(pairs))
            }
        }
    }

    /// Adds items to the container below them.
    fn fill(&mut self, opcode: u8) -> Outcome<()> {
        let items = match opcode {
            b'a' => self.stack.pop_many(1)?,
            b's' => self.stack.pop_many(2)?,
            _ => self.stack.pop_to_mark()?,
        };
        let pairs = if matches!(opcode, b's' | b'u') { self.pairs(&items)? } else { Vec::new() };
        if opcode == 0x90 {
            self.check_hashable("ADDITEMS", &items)?;
        }
        let wrong = |opcode, needed| Err(PickleErrorKind::WrongKind { opcode, needed });
        let target = self.stack.top()?;
        if matches!(self.nodes[target.0 as usize], Node::Object(_)) {
            self.stack.charge(BOX + size_of::<Extra>() as u64)?;
        }
        let node = &mut self.nodes[target.0 as usize];
        match (opcode, node) {
            (b'a' | b'e', Node::List(list)) => list.extend(items),
            (b's' | b'u', Node::Dict(dict)) => dict.extend(pairs),
            (0x90, Node::Set(set)) => set.extend(items),
            (b's' | b'u', Node::Object(object)) => object.extra.get_or_insert_default().pairs.extend(pairs),
            (_, Node::Object(object)) => object.extra.get_or_insert_default().items.extend(items),
            (b'a' | b'e', _) => return wrong("APPEND", "a list"),
            (0x90, _) => return wrong("ADDITEMS", "a set"),
            _ => return wrong("SETITEM", "a dict"),
        }
        Ok(())
    }

    fn pairs(&self, items: &[NodeId]) -> Outcome<Vec<(NodeId, NodeId)>> {
        match items.as_chunks() {
            (pairs, []) => {
                let pair = |&[key, value]: &[NodeId; 2]| {
                    self.check_hashable("SETITEM", &[key])?;
                    Ok((key, value))
                };
                pairs.iter().map(pair).collect()
            }
            _ => Err(PickleErrorKind::WrongKind { opcode: "SETITEMS", needed: "keys and values in pairs" }),
        }
    }

    /// Refuses items that Python could not have put into a dict or a set because they are unhashable.
    fn check_hashable(&self, opcode: &'static str, items: &[NodeId]) -> Outcome<()> {
        match items.iter().any(|item| self.unhashable[item.0 as usize]) {
            true => Err(PickleErrorKind::WrongKind { opcode, needed: "what Python can hash, not a list, dict or set" }),
            false => Ok(()),
        }
    }

    fn is_unhashable(&self, node: &Node) -> bool {
        match node {
            Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::ByteArray(_) => true,
            // The items of a tuple were made before it.
            Node::Tuple(items) => items.iter().any(|item| self.unhashable[item.0 as usize]),
            _ => false,
        }
    }

    fn node(&mut self, node: Node) -> Outcome<()> {
        self.stack.charge(NODE)?;
        let id = NodeId(self.nodes.len() as u32);
        self.unhashable.push(self.is_unhashable(&node));
        self.nodes.push(node);
        self.stack.push(id)
    }
}

/// The span of `length` bytes from `start`; both fit, because a pickle is shorter than 2^31 bytes and the text decoded
/// from it is bounded by the limit of the graph.
fn span(start: usize, length: usize) -> Span {
    Span { start: start as u32, length: length as u32 }
}
