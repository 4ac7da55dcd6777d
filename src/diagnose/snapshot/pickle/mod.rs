//! A pickle machine that reads a memory snapshot as a stream.
//!
//! The machine that reads captures keeps the whole pickle as a graph. A snapshot may be larger than the memory of the
//! machine that reads it, so here only the interner's data is kept: a trace entry, a block or a segment goes to a
//! [`Sink`] at the opcode that completes it, and is then dropped. The role of a container is known when it is opened,
//! from the key and the container around it.
//!
//! **Memory.** Four bytes for each memo entry, each distinct text, frame and stack once, and the blocks of one segment.
//! All of it counts against a budget, and a pickle that needs more is refused.
//!
//! **Opcodes.** Those of Python's pickler for plain data in protocols 2 to 5, and of torch's C++ Pickler. Anything that
//! would import or call something is refused, except the four functions of `torch.jit._pickle` that return the list or
//! dictionary they are called with.

use std::io;

use super::error::InvalidSnapshot;
use super::model::{Entry, Segment, Setting};

mod containers;
mod context;
mod input;
mod machine;
mod memo;
mod records;
mod refused;
mod value;

pub(super) use machine::read;

/// Why reading stopped.
#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    Spool(io::Error),
    Invalid(InvalidSnapshot),
}

impl From<InvalidSnapshot> for Fault {
    fn from(kind: InvalidSnapshot) -> Self {
        Self::Invalid(kind)
    }
}

/// Takes the records of a snapshot in the order of the file.
pub(super) trait Sink {
    fn segment(&mut self, segment: &Segment) -> Result<(), Fault>;
    /// The trace of the next device begins.
    fn trace(&mut self, device: u32) -> Result<(), Fault>;
    /// `category` is the profiler's word for the memory of `entry`.
    fn entry(&mut self, device: u32, entry: Entry, category: Option<&str>) -> Result<(), Fault>;
    fn setting(&mut self, name: &str, setting: Setting);
    fn annotation(&mut self);
    /// The bytes in use.
    fn taken(&self) -> u64;
}
