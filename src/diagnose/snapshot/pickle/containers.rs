//! Containers on the machine's stack: how they are opened with a role, referenced, and closed.

use std::io::Read;

use super::context::{Data, Open, Role};
use super::machine::Machine;
use super::memo::Kept;
use super::value::Value;
use super::{Fault, Sink};
use crate::snapshot::error::InvalidSnapshot;
use crate::snapshot::intern::StackId;

impl<R: Read, S: Sink> Machine<'_, R, S> {
    /// The role of a container that is opened now, and the list that gives it this role.
    fn context(&self, list: bool) -> (Role, u32) {
        let container = |at: Option<usize>| match at.and_then(|at| self.stack.get(at)) {
            Some(&Value::Open(slot)) => Some((slot, self.open[slot as usize].role)),
            _ => None,
        };
        let other = (Role::other(list), u32::MAX);
        let floor = self.floor();
        // A function that returns its argument is below it on the stack.
        let top = self.stack.len() - usize::from(self.stack.last() == Some(&Value::Rebuild));
        let around = if self.marks.is_empty() { None } else { container(floor.checked_sub(1)) };
        if top <= floor {
            return match around {
                Some((slot, role)) => role.item_as(list).map_or(other, |item| (item, slot)),
                None if self.stack.len() == usize::from(top != self.stack.len()) && self.marks.is_empty() => {
                    (if list { Role::Segments } else { Role::Root }, u32::MAX)
                }
                None => other,
            };
        }
        if let Value::Text(key) = self.stack[top - 1] {
            return match around {
                Some((_, role)) if !role.is_list() && (top - floor) % 2 == 1 => (role.value_as(key, list), u32::MAX),
                _ => match container(top.checked_sub(2)) {
                    Some((_, role)) if top - 2 >= floor && !role.is_list() => (role.value_as(key, list), u32::MAX),
                    _ => other,
                },
            };
        }
        // A list with a single item has no mark; its item is right above it.
        if let Some((slot, role)) = container(Some(top - 1))
            && let Some(item) = role.item_as(list)
        {
            return (item, slot);
        }
        around.and_then(|(slot, role)| role.item_as(list).map(|item| (item, slot))).unwrap_or(other)
    }

    pub(super) fn open(&mut self, list: bool) -> Result<(), Fault> {
        self.drop_done();
        let (role, parent) = self.context(list);
        let data = match role {
            Role::Root => Data::Root(false),
            Role::Traces => Data::Device(0),
            Role::Settings => Data::Settings(Vec::new()),
            Role::Trace => {
                let Data::Device(devices) = &mut self.open[parent as usize].data else {
                    return Err(InvalidSnapshot::Shape("a trace outside of `device_traces`").into());
                };
                let device = *devices;
                *devices += 1;
                self.sink.trace(device)?;
                Data::Device(device)
            }
            _ => Data::Nothing,
        };
        let open = Open { role, parent, memo: None, data };
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.open[slot as usize] = open;
                slot
            }
            None => {
                self.open.push(open);
                self.open.len() as u32 - 1
            }
        };
        self.push(Value::Open(slot))
    }

    /// Closes a container: references to it now yield `kept`.
    pub(super) fn close(&mut self, slot: u32, kept: Kept) {
        let open = &mut self.open[slot as usize];
        let memo = open.memo.take();
        let freed = match std::mem::replace(&mut open.data, Data::Nothing) {
            Data::Frames(frames) => frames.len(),
            Data::Blocks(blocks) => blocks.len(),
            _ => 0,
        };
        self.items -= freed as u64;
        self.vacant.push(slot);
        if let Some(index) = memo {
            self.memo.set(index, kept);
        }
    }

    /// The value of a finished item of a container: a list of frames becomes a stack.
    pub(super) fn finished(&mut self, value: Value) -> Result<Value, Fault> {
        let Value::Open(slot) = value else {
            return if value == Value::Rebuild {
                Err(InvalidSnapshot::Refused("GLOBAL without its call".to_owned()).into())
            } else {
                Ok(value)
            };
        };
        // Every other value belongs to the single record that takes it.
        let Some(done) = self.sealed(slot) else { return Ok(value) };
        self.close(slot, Kept::Value(done));
        Ok(done)
    }

    /// The value of a container that is referenced before a record takes it: the frames of a segment are also those of
    /// its first block. Nothing can be added to the container after that.
    pub(super) fn sealed(&mut self, slot: u32) -> Option<Value> {
        let value = match (self.open[slot as usize].role, &self.open[slot as usize].data) {
            (Role::Frames | Role::OtherList, Data::Frames(frames)) => {
                self.items -= frames.len() as u64;
                Value::Stack(self.interner.stack(frames))
            }
            (Role::Frames | Role::OtherList, Data::Nothing) => Value::Stack(StackId::EMPTY),
            (_, &Data::Sealed(value)) => value,
            (Role::OtherList | Role::OtherDict, _) => Value::Opaque,
            _ => return None,
        };
        self.open[slot as usize].data = Data::Sealed(value);
        Some(value)
    }

    /// Closes a container that nothing took.
    pub(super) fn discard(&mut self, value: Value) {
        if let Value::Open(slot) = value {
            self.close(slot, Kept::Gone);
        }
    }
}
