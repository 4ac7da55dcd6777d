//! [`EarlyCopy`]: bytes of a device's memory as they are when a stream ends.

use std::rc::Rc;

use super::context::{DeviceMemory, Gpu, PinnedMemory};
use super::error::GpuError;
use super::stream::Stream;

/// Bytes of a device's memory as they are when the work of a stream ends: work that the stream does not wait for may
/// not be done then.
#[derive(Debug)]
pub struct EarlyCopy {
    memory: PinnedMemory,
}

impl EarlyCopy {
    /// The most bytes that are copied.
    pub const BYTES: u64 = 4096;

    /// Allocates room on the host.
    ///
    /// # Errors
    /// [`GpuError`] if the memory cannot be locked.
    pub fn new(gpu: &Rc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { memory: gpu.pinned(Self::BYTES as usize)? })
    }

    /// Puts a copy of `bytes` bytes from `at` on, at most [`Self::BYTES`], into the stream, after the work already there.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn take(&mut self, stream: &Stream, from: &DeviceMemory, at: u64, bytes: u64) -> Result<(), GpuError> {
        stream.copy_out(from, at, bytes.min(Self::BYTES), &self.memory)
    }

    /// What was copied, once the stream has ended.
    ///
    /// # Errors
    /// [`GpuError`] if any of the work before it failed.
    pub fn taken(&mut self, stream: &Stream) -> Result<&[u8], GpuError> {
        stream.synchronize()?;
        Ok(self.memory.bytes())
    }
}
