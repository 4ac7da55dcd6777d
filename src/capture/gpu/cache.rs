//! [`CudaCache`]: the L2 of a device, emptied by a write larger than it.

use super::clock::CudaClock;
use super::context::DeviceMemory;
use super::error::GpuError;
use super::stream::Stream;
use crate::timing::{Cache, ClockError, Flush};

/// The L2 of a device. A flush is put into the stream, so it is done before the launch after it, and the host does not
/// wait for it.
#[derive(Debug)]
pub struct CudaCache<'a> {
    stream: &'a Stream,
    memory: Option<DeviceMemory>,
    failed: Option<GpuError>,
}

impl<'a> CudaCache<'a> {
    /// The cache of the device of `stream`.
    pub fn new(stream: &'a Stream) -> Self {
        Self { stream, memory: None, failed: None }
    }

    /// Returns the error of a flush, which cannot return it itself: the launches after a failed flush did not find the
    /// cache empty.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn intact(&mut self) -> Result<(), GpuError> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Cache for CudaCache<'_> {
    fn prepare(&mut self) -> Result<Flush, ClockError> {
        let gpu = self.stream.gpu();
        let flush = Flush::of_device(gpu.facts().l2_cache);
        if self.memory.is_none() {
            let memory = gpu.allocate(flush.written.bytes());
            let refused = |error: GpuError| ClockError { clock: CudaClock::NAME, reason: error.to_string() };
            self.memory = Some(memory.map_err(refused)?);
        }
        Ok(flush)
    }

    fn flush(&mut self) {
        let Some(memory) = &self.memory else { return };
        if let Err(error) = self.stream.fill(memory, 0, memory.bytes(), 0) {
            self.failed.get_or_insert(error);
        }
    }
}
