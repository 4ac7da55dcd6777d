//! The pickle machine: takes opcodes, emits records.

use std::io::Read;

use super::context::{Data, Open, Role};
use super::input::Input;
use super::memo::{Kept, Memo};
use super::refused::refused;
use super::value::{PairId, Value};
use super::{Fault, Sink};
use crate::snapshot::error::InvalidSnapshot;
use crate::snapshot::intern::{Interner, TextId};
use crate::snapshot::keys;
use plimsoll_memory::bytes::ByteSize;

/// How many opcodes run between two checks of the budget. They can add little: a text is cut at 1 KiB.
const CHECK_EVERY: u32 = 1 << 12;

/// How many bytes unused texts may take before they are dropped.
const UNUSED_TEXTS: u64 = 8 << 20;

/// Functions of `torch.jit._pickle` that return their first argument.
const REBUILDS: [&str; 4] = ["restore_type_tag", "build_intlist", "build_doublelist", "build_boollist"];

/// Facts about a pickle after reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::snapshot) struct Summary {
    /// The declared protocol.
    pub(in crate::snapshot) protocol: Option<u8>,
    pub(in crate::snapshot) bytes: u64,
}

/// Reads a snapshot within `budget` bytes and passes its records to `sink`. An error comes with the byte of its opcode.
pub(in crate::snapshot) fn read<R: Read, S: Sink>(
    reader: R,
    interner: &mut Interner,
    sink: &mut S,
    budget: ByteSize,
) -> Result<Summary, (u64, Fault)> {
    let mut machine = Machine {
        input: Input::new(reader),
        interner,
        sink,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Memo::default(),
        open: Vec::new(),
        vacant: Vec::new(),
        pairs: Vec::new(),
        items: 0,
        unused: 0,
        budget,
    };
    let mut protocol = None;
    let mut until_check = CHECK_EVERY;
    loop {
        let offset = machine.input.position();
        match machine.step(&mut protocol) {
            Ok(true) => return Ok(Summary { protocol, bytes: machine.input.position() }),
            Ok(false) => {}
            Err(fault) => return Err((offset, fault)),
        }
        until_check -= 1;
        if until_check == 0 {
            until_check = CHECK_EVERY;
            machine.check_budget().map_err(|fault| (offset, fault))?;
        }
    }
}

pub(super) struct Machine<'a, R, S> {
    input: Input<R>,
    pub(super) interner: &'a mut Interner,
    pub(super) sink: &'a mut S,
    pub(super) stack: Vec<Value>,
    /// The heights of the stack at its marks.
    pub(super) marks: Vec<u32>,
    pub(super) memo: Memo,
    pub(super) open: Vec<Open>,
    /// Slots of `open` that are free.
    pub(super) vacant: Vec<u32>,
    pub(super) pairs: Vec<(u64, u64)>,
    /// How many items open containers hold.
    pub(super) items: u64,
    /// Bytes of unused texts.
    unused: u64,
    budget: ByteSize,
}

impl<R: Read, S: Sink> Machine<'_, R, S> {
    fn check_budget(&self) -> Result<(), Fault> {
        // The vectors may be about to double, when old and new exist together.
        let taken = self.memo.taken()
            + self.interner.taken()
            + self.sink.taken()
            + self.items * 2 * size_of::<crate::snapshot::model::Block>() as u64
            + 3 * (self.stack.capacity() * size_of::<Value>()) as u64
            + 3 * (self.marks.capacity() * size_of::<u32>()) as u64
            + 3 * (self.open.capacity() * size_of::<Open>()) as u64
            + 3 * (self.vacant.capacity() * size_of::<u32>()) as u64
            + 3 * (self.pairs.capacity() * size_of::<(u64, u64)>()) as u64;
        if taken > self.budget.bytes() {
            return Err(InvalidSnapshot::Budget { budget: self.budget }.into());
        }
        Ok(())
    }

    /// Runs one opcode; returns whether it was STOP.
    fn step(&mut self, protocol: &mut Option<u8>) -> Result<bool, Fault> {
        match self.input.u8()? {
            b'h' => {
                let index = u32::from(self.input.u8()?);
                self.get(index)?;
            }
            b'j' => {
                let index = self.input.u32()?;
                self.get(index)?;
            }
            b'q' => {
                let index = u32::from(self.input.u8()?);
                self.put(index)?;
            }
            b'r' => {
                let index = self.input.u32()?;
                self.put(index)?;
            }
            0x94 => self.put(self.memo.next())?,
            b'K' => {
                let value = self.input.u8()?;
                self.push(Value::Int(value.into()))?;
            }
            b'M' => {
                let value = self.input.u16()?;
                self.push(Value::Int(value.into()))?;
            }
            b'J' => {
                let value = self.input.array().map(i32::from_le_bytes)?;
                self.push(Value::Int(value.into()))?;
            }
            0x8a => self.long()?,
            b'(' => {
                self.drop_done();
                self.marks.push(self.stack.len() as u32);
            }
            b'}' => self.open(false)?,
            b']' => self.open(true)?,
            b'u' => {
                let start = self.pop_mark()?;
                self.set_items(start)?;
            }
            b's' => {
                let start = self.below(2)?;
                self.set_items(start)?;
            }
            b'e' => {
                let start = self.pop_mark()?;
                self.append(start)?;
            }
            b'a' => {
                let start = self.below(1)?;
                self.append(start)?;
            }
            0x8c => {
                let length = u64::from(self.input.u8()?);
                self.text(length)?;
            }
            b'X' => {
                let length = u64::from(self.input.u32()?);
                self.text(length)?;
            }
            0x8d => {
                let length = self.input.u64()?;
                self.text(length)?;
            }
            // Frames only hint how much to read ahead.
            0x95 => drop(self.input.u64()?),
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            b'G' => {
                let value = self.input.array().map(f64::from_be_bytes)?;
                self.push(Value::Float(value))?;
            }
            b')' => self.push(Value::Opaque)?,
            opcode @ 0x85..=0x87 => {
                let start = self.below(usize::from(opcode - 0x84))?;
                self.tuple(start)?;
            }
            b't' => {
                let start = self.pop_mark()?;
                self.tuple(start)?;
            }
            b'c' => {
                let (module, name) = (self.input.line()?, self.input.line()?);
                if module != "torch.jit._pickle" || !REBUILDS.contains(&name.as_str()) {
                    return Err(InvalidSnapshot::Refused(format!("GLOBAL {module}.{name}")).into());
                }
                self.push(Value::Rebuild)?;
            }
            b'R' => {
                let start = self.below(2)?;
                if self.stack[start] != Value::Rebuild {
                    return Err(InvalidSnapshot::Refused("REDUCE".to_owned()).into());
                }
                self.stack.remove(start);
            }
            0x80 => match self.input.u8()? {
                declared @ 0..=5 => *protocol = Some(declared),
                declared => return Err(InvalidSnapshot::Protocol(declared).into()),
            },
            b'.' => return self.stop().map(|()| true),
            opcode => return Err(refused(opcode).into()),
        }
        Ok(false)
    }

    /// An integer of up to 2^64 - 1 in two's complement.
    fn long(&mut self) -> Result<(), Fault> {
        let mut bytes = [0; 16];
        let length = usize::from(self.input.u8()?);
        if length > 9 {
            return Err(InvalidSnapshot::Refused(format!("an int of {length} bytes")).into());
        }
        for byte in &mut bytes[..length] {
            *byte = self.input.u8()?;
        }
        if length > 0 && bytes[length - 1] & 0x80 != 0 {
            bytes[length..].fill(0xff);
        }
        let value = i128::from_le_bytes(bytes);
        let value = match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => Value::Int(value),
            (_, Ok(value)) => Value::Large(value),
            _ => return Err(InvalidSnapshot::Refused("an int of more than 64 bits".to_owned()).into()),
        };
        self.push(value)
    }

    fn text(&mut self, length: u64) -> Result<(), Fault> {
        let unused = matches!(self.stack.last(), Some(&Value::Text(key)) if keys::is_unused(key));
        let bytes = self.input.text(length)?;
        let text = String::from_utf8_lossy(bytes);
        let value = if unused && self.unused > UNUSED_TEXTS {
            self.interner.find(&text).map_or(Value::Opaque, Value::Text)
        } else {
            let before = self.interner.taken();
            let id = self.interner.text(&text);
            if unused {
                self.unused += self.interner.taken() - before;
            }
            Value::Text(id)
        };
        self.push(value)
    }

    /// The height of the stack below which nothing may be taken.
    pub(super) fn floor(&self) -> usize {
        self.marks.last().map_or(0, |&mark| mark as usize)
    }

    /// Drops a record that was emitted and is alone in its list: the list does not need it.
    pub(super) fn drop_done(&mut self) {
        if let Some(&Value::Done(list)) = self.stack.last()
            && let Some(&mark) = self.marks.last()
            && mark as usize + 1 == self.stack.len()
            && mark > 0
            && self.stack[mark as usize - 1] == Value::Open(list)
        {
            self.stack.pop();
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) -> Result<(), Fault> {
        if matches!(self.stack.last(), Some(Value::Done(_))) {
            self.drop_done();
        }
        if self.stack.len() >= u32::MAX as usize {
            return Err(InvalidSnapshot::Budget { budget: self.budget }.into());
        }
        self.stack.push(value);
        Ok(())
    }

    /// The height of the stack below its top `count` values.
    fn below(&self, count: usize) -> Result<usize, Fault> {
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= self.floor() => Ok(start),
            _ => Err(InvalidSnapshot::Underflow.into()),
        }
    }

    fn pop_mark(&mut self) -> Result<usize, Fault> {
        self.marks.pop().map(|mark| mark as usize).ok_or(InvalidSnapshot::Underflow.into())
    }

    fn get(&mut self, index: u32) -> Result<(), Fault> {
        let gone = |what| Err(InvalidSnapshot::MemoGone { index, what }.into());
        match self.memo.get(index) {
            Some(Kept::Value(value)) => self.push(value),
            Some(Kept::Open(slot)) => match self.sealed(slot) {
                Some(value) => self.push(value),
                None => gone("a list or dict that is not finished"),
            },
            Some(Kept::Gone) => gone("a record that was already read"),
            None => Err(InvalidSnapshot::MemoMissing(index).into()),
        }
    }

    fn put(&mut self, index: u32) -> Result<(), Fault> {
        let top = *self.stack[self.floor()..].last().ok_or(InvalidSnapshot::Underflow)?;
        let kept = match top {
            Value::Open(slot) => {
                if self.open[slot as usize].memo.replace(index).is_some() {
                    return Err(InvalidSnapshot::Shape("a list or dict is stored in the memo twice").into());
                }
                Kept::Open(slot)
            }
            Value::Done(_) => Kept::Gone,
            value => Kept::Value(value),
        };
        self.memo.set(index, kept);
        Ok(())
    }

    /// Makes a tuple of the values from `start`. Two integers become a pair; a function's arguments become the first
    /// argument.
    fn tuple(&mut self, start: usize) -> Result<(), Fault> {
        if start > 0 && self.stack[start - 1] == Value::Rebuild {
            if start == self.stack.len() {
                return Err(InvalidSnapshot::Underflow.into());
            }
            self.stack.truncate(start + 1);
            return Ok(());
        }
        let value = match self.stack[start..] {
            [first, second] => match (first.address(), second.address()) {
                (Some(first), Some(second)) => Value::Pair(self.pair(first, second)),
                _ => Value::Opaque,
            },
            _ => Value::Opaque,
        };
        for at in start..self.stack.len() {
            let item = self.finished(self.stack[at])?;
            self.discard(item);
        }
        self.stack.truncate(start);
        self.push(value)
    }

    fn pair(&mut self, first: u64, second: u64) -> PairId {
        // Programs have a handful of pools: only the latest pairs are searched, and a pair that is not among them is
        // stored again.
        let recent = self.pairs.len().saturating_sub(64);
        let found = self.pairs[recent..].iter().position(|&pair| pair == (first, second));
        PairId(found.map_or_else(
            || {
                self.pairs.push((first, second));
                self.pairs.len() - 1
            },
            |at| recent + at,
        ) as u32)
    }

    fn stop(&mut self) -> Result<(), Fault> {
        if let Some(&Value::Open(slot)) = self.stack.last()
            && self.stack.len() == 1
            && self.marks.is_empty()
        {
            match (self.open[slot as usize].role, &self.open[slot as usize].data) {
                (Role::Root, Data::Root(true)) | (Role::Segments, _) => return Ok(()),
                (Role::Root, _) => {
                    let kind = "a dict with neither `segments` nor `device_traces`".to_owned();
                    return Err(InvalidSnapshot::NotASnapshot(kind).into());
                }
                _ => {}
            }
        }
        let kind = self.stack.last().map_or("nothing", |value| value.kind());
        Err(InvalidSnapshot::NotASnapshot(format!("it holds {kind}")).into())
    }

    /// The text as a string, for records.
    pub(super) fn owned(&self, text: TextId) -> String {
        self.interner.text_of(text).to_owned()
    }
}
