//! [`Ring`]: copies between the host and a device through a few pinned buffers, so that the host never holds more of a tensor
//! than they do.
//!
//! While the device copies from some buffers, several threads fill others: a single thread reads from the page cache
//! more slowly than a device copies. Two buffers are filled at a time, so that no thread is idle while the last pieces
//! of one are awaited.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

use rayon::prelude::*;

use super::context::{DeviceMemory, Gpu, PinnedMemory};
use super::error::GpuError;
use super::stream::{Event, Stream};
use plimsoll_memory::bytes::ByteSize;

/// The part of a buffer that one thread fills or reads at once.
const PIECE: usize = 1 << 20;

/// How many buffers are filled besides the one that is copied next.
const AHEAD: usize = 1;

/// Why a copy failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The host's memory could not be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

#[derive(Debug)]
struct Slot {
    memory: PinnedMemory,
    /// The event of the copy from or to the buffer that is under way, if there is one.
    done: Event,
    busy: bool,
}

/// A few pinned buffers, used in turn.
#[derive(Debug)]
pub struct Ring {
    // The stream comes before the slots, because destroying it ends its copies.
    stream: Stream,
    slots: Vec<Slot>,
}

/// A function that takes a downloaded part, with its offset.
pub type Take<'a, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'a;

/// A function that reads bytes of the host from an offset on, from any thread.
pub type ReadAt<'a> = dyn Fn(u64, &mut [u8]) -> io::Result<()> + Sync + 'a;

impl Ring {
    /// The number of buffers in [`Ring::usual`].
    pub const SLOTS: usize = 4;
    /// The size of each buffer in [`Ring::usual`].
    pub const SLOT: ByteSize = ByteSize::mib(16);

    /// Makes a ring of 64 MiB in all.
    ///
    /// # Errors
    /// [`GpuError`] if that much memory cannot be locked.
    pub fn usual(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Self::new(gpu, Self::SLOTS, Self::SLOT)
    }

    /// Makes a ring of `slots` buffers of `bytes`.
    ///
    /// # Errors
    /// [`GpuError`] if that much memory cannot be locked.
    pub fn new(gpu: &Rc<Gpu>, slots: usize, bytes: ByteSize) -> Result<Self, GpuError> {
        let slot = || Ok(Slot { memory: gpu.pinned(bytes.bytes() as usize)?, done: Event::new(gpu)?, busy: false });
        let slots = (0..slots.max(2)).map(|_| slot()).collect::<Result<Vec<_>, GpuError>>()?;
        Ok(Self { stream: Stream::new(gpu)?, slots })
    }

    fn slot_bytes(&self) -> u64 {
        self.slots[0].memory.bytes().len() as u64
    }

    /// Copies the bytes that `read` returns to `to` from `at` on, and waits until they are there.
    ///
    /// # Errors
    /// [`TransferError`]; the content of the memory is then unspecified.
    pub fn upload(&mut self, read: &ReadAt<'_>, bytes: u64, to: &DeviceMemory, at: u64) -> Result<(), TransferError> {
        let filled = self.fill(read, bytes, to, at);
        self.settled(filled)
    }

    fn fill(&mut self, read: &ReadAt<'_>, bytes: u64, to: &DeviceMemory, at: u64) -> Result<(), TransferError> {
        let step = self.slot_bytes();
        let (count, parts) = (self.slots.len(), bytes.div_ceil(step) as usize);
        let Self { stream, slots } = self;
        // The calling thread waits for the others to fill a buffer, and makes the device copy it, because the context
        // is its own.
        rayon::in_place_scope(|scope| {
            let mut filling = VecDeque::new();
            for turn in 0..parts + AHEAD {
                if turn < parts {
                    let offset = turn as u64 * step;
                    let slot = &mut slots[turn % count];
                    slot.wait()?;
                    filling.push_back(slot.fill(scope, read, offset, step.min(bytes - offset)));
                }
                if let Some(filled) = turn.checked_sub(AHEAD).and_then(|_| filling.pop_front()) {
                    filled.iter().collect::<io::Result<()>>()?;
                    let offset = (turn - AHEAD) as u64 * step;
                    let slot = &mut slots[(turn - AHEAD) % count];
                    stream.copy_in(&slot.memory, step.min(bytes - offset), to, at + offset)?;
                    slot.under_way(stream)?;
                }
            }
            Ok(())
        })
    }

    /// Passes the `bytes` bytes of `from` from `at` on to `take`, in order, one part at a time, with the offset of
    /// each. All earlier work in any stream must be done.
    ///
    /// # Errors
    /// [`GpuError`], or the error of `take`.
    pub fn download<E: From<GpuError>>(
        &mut self,
        from: &DeviceMemory,
        at: u64,
        bytes: u64,
        take: &mut Take<'_, E>,
    ) -> Result<(), E> {
        let taken = self.drain(from, at, bytes, take);
        self.settled(taken)
    }

    fn drain<E: From<GpuError>>(
        &mut self,
        from: &DeviceMemory,
        at: u64,
        bytes: u64,
        take: &mut Take<'_, E>,
    ) -> Result<(), E> {
        let step = self.slot_bytes();
        let count = self.slots.len();
        let parts = bytes.div_ceil(step) as usize;
        // The slots are filled ahead of the one that is taken.
        for turn in 0..parts + count - 1 {
            if turn < parts {
                let offset = turn as u64 * step;
                let slot = &mut self.slots[turn % count];
                self.stream.copy_out(from, at + offset, step.min(bytes - offset), &slot.memory)?;
                slot.under_way(&self.stream)?;
            }
            if let Some(ready) = turn.checked_sub(count - 1).filter(|&ready| ready < parts) {
                let offset = ready as u64 * step;
                let slot = &mut self.slots[ready % count];
                slot.wait()?;
                take(offset, &slot.memory.bytes()[..step.min(bytes - offset) as usize])?;
            }
        }
        Ok(())
    }

    /// Returns `ended` once no copy is under way, because copies may go on after any failure.
    fn settled<E: From<GpuError>>(&mut self, ended: Result<(), E>) -> Result<(), E> {
        let waited = self.wait_for_all();
        ended?;
        Ok(waited?)
    }

    fn wait_for_all(&mut self) -> Result<(), GpuError> {
        if self.slots.iter().any(|slot| slot.busy) {
            self.stream.synchronize()?;
            self.slots.iter_mut().for_each(|slot| slot.busy = false);
        }
        Ok(())
    }
}

impl Slot {
    /// Fills the first `length` bytes with those that `read` returns from `offset` on, and reports each piece when it
    /// is full. No copy from or to the slot is under way, and none may begin before.
    fn fill<'scope>(
        &mut self,
        scope: &rayon::Scope<'scope>,
        read: &'scope ReadAt<'_>,
        offset: u64,
        length: u64,
    ) -> Receiver<io::Result<()>> {
        let (sender, receiver) = channel();
        for (index, mut piece) in self.memory.pieces(length as usize, PIECE).enumerate() {
            let sender = sender.clone();
            scope.spawn(move |_| {
                // If nobody receives any more, the upload has failed.
                let _ = sender.send(read(offset + (index * PIECE) as u64, piece.bytes_mut()));
            });
        }
        receiver
    }

    /// Records that a copy from or to the slot was put into `stream`.
    fn under_way(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.busy = true;
        self.done.record(stream)
    }

    fn wait(&mut self) -> Result<(), GpuError> {
        if self.busy {
            self.done.wait()?;
            self.busy = false;
        }
        Ok(())
    }
}

/// Whether `bytes` are those that `read` returns from `offset` on.
///
/// # Errors
/// If the host's memory could not be read.
pub fn same(read: &ReadAt<'_>, offset: u64, bytes: &[u8]) -> io::Result<bool> {
    let differs = |(index, piece): (usize, &[u8])| -> Result<(), Option<io::Error>> {
        let mut original = vec![0; piece.len()];
        read(offset + (index * PIECE) as u64, &mut original).map_err(Some)?;
        if original == piece { Ok(()) } else { Err(None) }
    };
    match bytes.par_chunks(PIECE).enumerate().try_for_each(differs) {
        Ok(()) => Ok(true),
        Err(None) => Ok(false),
        Err(Some(error)) => Err(error),
    }
}
