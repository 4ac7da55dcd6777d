//! Fills containers and turns them into records.

use std::io::Read;

use super::context::{Data, Role};
use super::machine::Machine;
use super::memo::Kept;
use super::value::Value;
use super::{Fault, Sink};
use crate::snapshot::error::InvalidSnapshot;
use crate::snapshot::intern::{FrameId, FrameParts, StackId, TextId};
use crate::snapshot::keys;
use crate::snapshot::model::{Action, Block, BlockState, Entry, Segment, Setting};

fn wrong(field: &'static str, found: Value, expected: &'static str) -> Fault {
    InvalidSnapshot::Field { field, found: found.kind(), expected }.into()
}

fn amount(field: &'static str, value: Value) -> Result<u64, Fault> {
    value.unsigned().ok_or_else(|| wrong(field, value, "an int of 0 or more"))
}

/// An amount that may be None.
fn maybe<T>(value: Value, get: impl FnOnce(Value) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    if value == Value::None { Ok(None) } else { get(value).map(Some) }
}

fn address(field: &'static str, value: Value) -> Result<u64, Fault> {
    value.address().ok_or_else(|| wrong(field, value, "an address"))
}

fn text(field: &'static str, value: Value) -> Result<TextId, Fault> {
    match value {
        Value::Text(text) => Ok(text),
        other => Err(wrong(field, other, "a str")),
    }
}

/// The stack under `frames`, which may be None.
fn stack(value: Value) -> Result<StackId, Fault> {
    match value {
        Value::Stack(stack) => Ok(stack),
        Value::None => Ok(StackId::EMPTY),
        other => Err(wrong("frames", other, "a list of frames")),
    }
}

fn missing(record: &'static str, field: &'static str) -> Fault {
    InvalidSnapshot::Missing { record, field }.into()
}

impl<R: Read, S: Sink> Machine<'_, R, S> {
    /// Adds the keys and values from `start` to the dictionary below them.
    pub(super) fn set_items(&mut self, start: usize) -> Result<(), Fault> {
        let Some(&target) = start.checked_sub(1).and_then(|at| self.stack.get(at)) else {
            return Err(InvalidSnapshot::Underflow.into());
        };
        if !(self.stack.len() - start).is_multiple_of(2) {
            return Err(InvalidSnapshot::Shape("SETITEMS with a key that has no value").into());
        }
        let slot = match target {
            Value::Open(slot) if !self.open[slot as usize].role.is_list() => slot,
            other => return Err(wrong("SETITEMS", other, "a dict that is being filled")),
        };
        for at in start..self.stack.len() {
            self.stack[at] = self.finished(self.stack[at])?;
        }
        let (role, parent) = (self.open[slot as usize].role, self.open[slot as usize].parent);
        let done = match role {
            Role::Entry => {
                self.entry(start, parent)?;
                Some(Value::Done(parent))
            }
            Role::Frame => {
                let frame = self.frame(start).ok_or_else(|| missing("frame", "filename, name and line"))?;
                Some(Value::Frame(frame))
            }
            Role::Block => {
                let block = self.block(start)?;
                self.add_block(parent, block);
                Some(Value::Done(parent))
            }
            Role::Segment => {
                self.segment(start)?;
                Some(Value::Done(parent))
            }
            Role::History => {
                self.history(start, parent)?;
                Some(Value::Done(parent))
            }
            Role::Annotation => {
                self.sink.annotation();
                Some(Value::Done(parent))
            }
            Role::Root => {
                self.root(slot, start)?;
                None
            }
            Role::Settings | Role::Divisions => {
                self.settings(slot, role, start)?;
                None
            }
            _ => self.frame(start).map(Value::Frame),
        };
        while self.stack.len() > start {
            let value = self.stack[self.stack.len() - 1];
            self.discard(value);
            self.stack.pop();
        }
        if let Some(value) = done {
            self.stack[start - 1] = value;
            self.close(slot, if let Value::Done(_) = value { Kept::Gone } else { Kept::Value(value) });
        }
        Ok(())
    }

    /// Adds the values from `start` to the list below them.
    pub(super) fn append(&mut self, start: usize) -> Result<(), Fault> {
        let Some(&target) = start.checked_sub(1).and_then(|at| self.stack.get(at)) else {
            return Err(InvalidSnapshot::Underflow.into());
        };
        let slot = match target {
            Value::Open(slot) if self.open[slot as usize].role.is_list() => slot,
            other => return Err(wrong("APPENDS", other, "a list that is being filled")),
        };
        let role = self.open[slot as usize].role;
        if let Data::Sealed(_) = self.open[slot as usize].data {
            return Err(InvalidSnapshot::Shape("a list is added to after it was referred to").into());
        }
        for at in start..self.stack.len() {
            let value = self.finished(self.stack[at])?;
            match (role, value) {
                (role, Value::Done(list)) if role.streams() && list == slot => {}
                (Role::Traces, Value::Open(trace)) if self.open[trace as usize].role == Role::Trace => {}
                (Role::Frames | Role::OtherList, Value::Frame(frame)) => self.add_frame(slot, frame),
                // A later version may write frames as texts.
                (Role::Frames, Value::Text(function)) => {
                    let frame = self.interner.frame(FrameParts { file: keys::EMPTY, function, line: 0 });
                    self.add_frame(slot, frame);
                }
                (Role::OtherList, _) => self.not_frames(slot),
                (role, other) => return Err(wrong(role.name(), other, "an item of its own")),
            }
            self.discard(value);
        }
        self.stack.truncate(start);
        Ok(())
    }

    fn add_frame(&mut self, list: u32, frame: FrameId) {
        match &mut self.open[list as usize].data {
            Data::Frames(frames) => frames.push(frame),
            Data::NotFrames => return,
            data => *data = Data::Frames(vec![frame]),
        }
        self.items += 1;
    }

    fn not_frames(&mut self, list: u32) {
        if let Data::Frames(frames) = std::mem::replace(&mut self.open[list as usize].data, Data::NotFrames) {
            self.items -= frames.len() as u64;
        }
    }

    fn add_block(&mut self, list: u32, block: Block) {
        match &mut self.open[list as usize].data {
            Data::Blocks(blocks) => blocks.push(block),
            data => *data = Data::Blocks(vec![block]),
        }
        self.items += 1;
    }

    /// The keys and values from `start`; keys that are not texts are ignored.
    fn fields(&self, start: usize) -> impl Iterator<Item = (TextId, Value)> + use<'_, R, S> {
        self.stack[start..].as_chunks().0.iter().filter_map(|&[key, value]| match key {
            Value::Text(key) => Some((key, value)),
            _ => None,
        })
    }

    fn frame(&mut self, start: usize) -> Option<FrameId> {
        let (mut file, mut function, mut line) = (None, None, None);
        for (key, value) in self.fields(start) {
            match (key, value) {
                (keys::FILENAME, Value::Text(text)) => file = Some(text),
                (keys::NAME, Value::Text(text)) => function = Some(text),
                // C++ frames without a line have 0 or 2^64 - 1.
                (keys::LINE, value) => line = value.address().map(|line| u32::try_from(line).unwrap_or(0)),
                _ => {}
            }
        }
        Some(self.interner.frame(FrameParts { file: file?, function: function?, line: line? }))
    }

    fn entry(&mut self, start: usize, trace: u32) -> Result<(), Fault> {
        let Data::Device(device) = self.open[trace as usize].data else {
            return Err(InvalidSnapshot::Shape("a trace entry outside of a trace").into());
        };
        let mut action = None;
        let mut entry = Entry {
            action: Action::Unknown,
            address: 0,
            size: 0,
            stream: 0,
            time_us: None,
            stack: StackId::EMPTY,
            category: None,
        };
        let (mut placed, mut sized) = (false, false);
        for (key, value) in self.fields(start) {
            match key {
                keys::ACTION => {
                    let name = text("action", value)?;
                    action = Some(name);
                    entry.action = Action::named(self.interner.text_of(name));
                }
                keys::ADDR | keys::DEVICE_FREE => {
                    (entry.address, placed) = (address("addr", value)?, true);
                }
                keys::SIZE => (entry.size, sized) = (amount("size", value)?, true),
                keys::STREAM => entry.stream = address("stream", value)?,
                keys::TIME_US => entry.time_us = value.int(),
                keys::FRAMES => entry.stack = stack(value)?,
                keys::CATEGORY => entry.category = maybe(value, |value| text("category", value))?,
                _ => {}
            }
        }
        if action.is_none() {
            return Err(missing("trace entry", "action"));
        }
        if entry.action != Action::Unknown && !(placed && sized) {
            return Err(missing("trace entry", if placed { "size" } else { "addr" }));
        }
        let category = entry.category.map(|word| self.interner.text_of(word));
        self.sink.entry(device, entry, category)
    }

    fn block(&mut self, start: usize) -> Result<Block, Fault> {
        let (mut place, mut size, mut requested, mut state) = (None, None, None, None);
        let (mut frames, mut real) = (StackId::EMPTY, None);
        for (key, value) in self.fields(start) {
            match key {
                keys::ADDRESS => place = maybe(value, |value| address("address", value))?,
                keys::SIZE => size = Some(amount("size", value)?),
                keys::REQUESTED_SIZE => requested = maybe(value, |value| amount("requested_size", value))?,
                keys::STATE => {
                    state = Some(match text("state", value)? {
                        keys::ACTIVE_ALLOCATED => BlockState::ActiveAllocated,
                        keys::ACTIVE_PENDING_FREE | keys::ACTIVE_AWAITING_FREE => BlockState::ActivePendingFree,
                        keys::INACTIVE => BlockState::Inactive,
                        _ => return Err(wrong("state", value, "a known state of a block")),
                    });
                }
                keys::FRAMES => frames = stack(value)?,
                keys::HISTORY => {
                    if let Value::Open(list) = value
                        && let Data::History(Some((size, Value::Stack(stack)))) = self.open[list as usize].data
                    {
                        real = Some((size, stack));
                    }
                }
                _ => {}
            }
        }
        let size = size.ok_or_else(|| missing("block", "size"))?;
        let state = state.ok_or_else(|| missing("block", "state"))?;
        if let Some((size, stack)) = real {
            requested = requested.or(Some(size));
            frames = if frames == StackId::EMPTY { stack } else { frames };
        }
        Ok(Block { address: place, size, requested: requested.unwrap_or(size), state, stack: frames })
    }

    /// An item of an old block's history. The first item is the current use of the memory.
    fn history(&mut self, start: usize, list: u32) -> Result<(), Fault> {
        if let Data::History(Some(_)) = self.open[list as usize].data {
            return Ok(());
        }
        let (mut size, mut frames) = (None, StackId::EMPTY);
        for (key, value) in self.fields(start) {
            match key {
                keys::REAL_SIZE => size = Some(amount("real_size", value)?),
                keys::FRAMES => frames = stack(value)?,
                _ => {}
            }
        }
        let size = size.ok_or_else(|| missing("item of history", "real_size"))?;
        self.open[list as usize].data = Data::History(Some((size, Value::Stack(frames))));
        Ok(())
    }

    fn segment(&mut self, start: usize) -> Result<(), Fault> {
        let mut segment = Segment::default();
        let (mut total, mut blocks) = (None, None);
        for (key, value) in self.fields(start) {
            let amount_of = |field| maybe(value, |value| amount(field, value));
            match key {
                keys::DEVICE => {
                    let device = value.unsigned().and_then(|device| u32::try_from(device).ok());
                    segment.device = device.ok_or_else(|| wrong("device", value, "the index of a device"))?;
                }
                keys::ADDRESS => segment.address = maybe(value, |value| address("address", value))?,
                keys::TOTAL_SIZE => total = amount_of("total_size")?,
                keys::ALLOCATED_SIZE => segment.allocated = amount_of("allocated_size")?,
                keys::ACTIVE_SIZE => segment.active = amount_of("active_size")?,
                keys::REQUESTED_SIZE => segment.requested = amount_of("requested_size")?,
                keys::STREAM => segment.stream = address("stream", value)?,
                keys::SEGMENT_TYPE => segment.large = Some(value == Value::Text(keys::LARGE)),
                keys::SEGMENT_POOL_ID => {
                    if let Value::Pair(pair) = value {
                        segment.pool = Some(self.pairs[pair.0 as usize]);
                    }
                }
                keys::IS_EXPANDABLE => segment.expandable = value.bool().unwrap_or(false),
                keys::BLOCKS => match value {
                    Value::Open(list) if self.open[list as usize].role == Role::Blocks => blocks = Some(list),
                    other => return Err(wrong("blocks", other, "a list of blocks of its own")),
                },
                _ => {}
            }
        }
        segment.total = total.ok_or_else(|| missing("segment", "total_size"))?;
        let list = blocks.ok_or_else(|| missing("segment", "blocks"))?;
        if let Data::Blocks(blocks) = std::mem::replace(&mut self.open[list as usize].data, Data::Nothing) {
            self.items -= blocks.len() as u64;
            segment.blocks = blocks;
        }
        self.sink.segment(&segment)
    }

    fn root(&mut self, slot: u32, start: usize) -> Result<(), Fault> {
        let mut found = false;
        for at in (start..self.stack.len()).step_by(2) {
            let (key, value) = (self.stack[at], self.stack[at + 1]);
            let expected = match key {
                Value::Text(keys::SEGMENTS) => Role::Segments,
                Value::Text(keys::DEVICE_TRACES) => Role::Traces,
                Value::Text(keys::ALLOCATOR_SETTINGS) => Role::Settings,
                Value::Text(keys::EXTERNAL_ANNOTATIONS) => Role::Annotations,
                _ => continue,
            };
            match value {
                Value::Open(list) if self.open[list as usize].role == expected => {
                    if let Data::Settings(settings) = &mut self.open[list as usize].data {
                        for (name, setting) in std::mem::take(settings) {
                            self.sink.setting(&name, setting);
                        }
                    }
                }
                Value::None => {}
                other if matches!(expected, Role::Segments | Role::Traces) => {
                    return Err(wrong(expected.name(), other, "a list"));
                }
                _ => {}
            }
            found |= matches!(expected, Role::Segments | Role::Traces);
        }
        if let Data::Root(known) = &mut self.open[slot as usize].data {
            *known |= found;
        }
        Ok(())
    }

    fn settings(&mut self, slot: u32, role: Role, start: usize) -> Result<(), Fault> {
        /// More settings than any allocator has; further settings are dropped.
        const MOST_SETTINGS: usize = 256;
        for at in (start..self.stack.len()).step_by(2) {
            let (key, value) = (self.stack[at], self.stack[at + 1]);
            let Value::Text(key) = key else { continue };
            let name = self.owned(key);
            let setting = match value {
                Value::Bool(value) => Setting::Bool(value),
                Value::Int(value) => Setting::Int(value),
                // SIZE_MAX: no limit; other versions write -1.
                Value::Large(value) => Setting::Int(value as i64),
                Value::Float(value) => Setting::Float(value),
                Value::Text(value) => Setting::Text(self.owned(value)),
                Value::Open(inner) => match &mut self.open[inner as usize].data {
                    Data::Divisions(divisions) => Setting::Divisions(std::mem::take(divisions)),
                    _ => continue,
                },
                _ => continue,
            };
            let data = &mut self.open[slot as usize].data;
            match (role, data, setting) {
                (Role::Settings, Data::Settings(settings), setting) if settings.len() < MOST_SETTINGS => {
                    settings.push((name, setting));
                }
                (Role::Divisions, Data::Divisions(divisions), Setting::Int(value))
                    if divisions.len() < MOST_SETTINGS =>
                {
                    divisions.push((name, value));
                }
                (Role::Divisions, data @ Data::Nothing, Setting::Int(value)) => {
                    *data = Data::Divisions(vec![(name, value)]);
                }
                _ => {}
            }
        }
        Ok(())
    }
}
