//! The events of a trace, outside of memory.
//!
//! A trace is written once, as it is read, and visited several times, mostly backward from its final state. Its events
//! are in an unnamed temporary file, 32 bytes each; a short trace stays in memory.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use tempfile::SpooledTempFile;

use super::category::Category;
use super::intern::StackId;
use super::model::Action;

/// How many bytes are held in memory before a file is created.
const IN_MEMORY: usize = 32 << 20;

/// The size of an event in bytes.
const EVENT: usize = 32;

/// How many events are read at a time.
const CHUNK: u64 = 1 << 14;

/// An event of the trace of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) action: Action,
    pub(super) address: u64,
    pub(super) size: u64,
    /// Microseconds since the epoch; 0 if it was not recorded.
    pub(super) time_us: i64,
    /// The stack that allocated the memory; for an out-of-memory error, the stack of the request.
    pub(super) stack: StackId,
    /// The profiler's word for the memory.
    pub(super) category: Option<Category>,
    /// Whether the freed memory was allocated within the trace.
    pub(super) known: bool,
}

impl Event {
    fn encode(self) -> [u8; EVENT] {
        let mut bytes = [0; EVENT];
        bytes[..8].copy_from_slice(&self.address.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.time_us.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.stack.0.to_le_bytes());
        bytes[28] = self.action as u8;
        bytes[29] = self.category.map_or(0, |category| 1 + category as u8);
        bytes[30] = self.known.into();
        bytes
    }

    fn decode(bytes: &[u8; EVENT]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self {
            action: Action::ALL.get(usize::from(bytes[28])).map_or(Action::Unknown, |&(action, _)| action),
            address: word(0),
            size: word(8),
            time_us: word(16) as i64,
            stack: StackId(u32::from_le_bytes(bytes[24..28].try_into().expect("four bytes"))),
            category: usize::from(bytes[29]).checked_sub(1).map(|at| Category::ALL[at]),
            known: bytes[30] != 0,
        }
    }
}

pub(super) struct Spool {
    file: SpooledTempFile,
    /// Events not yet written to the file.
    pending: Vec<u8>,
    events: u64,
}

impl Spool {
    pub(super) fn new() -> Self {
        Self { file: SpooledTempFile::new(IN_MEMORY), pending: Vec::new(), events: 0 }
    }

    /// The number of events.
    pub(super) fn len(&self) -> u64 {
        self.events
    }

    pub(super) fn push(&mut self, event: Event) -> io::Result<()> {
        self.pending.extend_from_slice(&event.encode());
        self.events += 1;
        if self.pending.len() >= CHUNK as usize * EVENT { self.flush() } else { Ok(()) }
    }

    /// Writes pending events.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }

    /// Calls `visit` with the events of `range` and their numbers, last event first.
    pub(super) fn backward(&mut self, range: Range<u64>, mut visit: impl FnMut(u64, Event)) -> io::Result<()> {
        let mut bytes = vec![0; CHUNK.min(range.end - range.start) as usize * EVENT];
        let mut end = range.end;
        while end > range.start {
            let start = end.saturating_sub(CHUNK).max(range.start);
            let chunk = &mut bytes[..(end - start) as usize * EVENT];
            self.file.seek(SeekFrom::Start(start * EVENT as u64))?;
            self.file.read_exact(chunk)?;
            for (index, bytes) in (start..end).rev().zip(chunk.as_chunks().0.iter().rev()) {
                visit(index, Event::decode(bytes));
            }
            end = start;
        }
        Ok(())
    }

    /// The most bytes it holds in memory.
    pub(super) fn taken(&self) -> u64 {
        (2 * self.pending.capacity() + 2 * IN_MEMORY.min(self.events as usize * EVENT)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_in_reverse() {
        let mut spool = Spool::new();
        let count = 3 * CHUNK + 17;
        let event = |n: u64| Event {
            action: Action::ALL[(n % 9) as usize].0,
            address: u64::MAX - n,
            size: n * 512,
            time_us: -(n as i64),
            stack: StackId(n as u32),
            category: Category::ALL.get((n % 9) as usize).copied(),
            known: n.is_multiple_of(2),
        };
        for n in 0..count {
            spool.push(event(n)).unwrap();
        }
        spool.flush().unwrap();
        let mut expected = 5..count - 5;
        spool
            .backward(5..count - 5, |index, found| {
                assert_eq!(Some(index), expected.next_back());
                assert_eq!(found, event(index));
            })
            .unwrap();
        assert_eq!(expected.next(), None);
    }
}
