//! [`InProcess`]: launches a kernel in this process, for the library and for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::record::{Failure, FailureKind, Release, ReleaseReason};
use plimsoll_capture::MappedEntry;
use plimsoll_capture::kernel::{Call, CapturedOutput, Kernel, KernelError, KernelIdentity, OutputBuffer};
use plimsoll_capture::timing::{CpuCache, CpuClock, MeasureError, Protocol, measure};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::last_level_cache;

use super::launcher::{Job, Launched, Launcher, Timed};
use super::placement::Placement;

/// Launches a kernel in this process. A kernel that crashes takes the process with it, and the kernel's memory is this
/// process's: untrusted kernels belong in a worker.
pub struct InProcess<K> {
    kernel: K,
    outputs: Spare,
}

/// The memory of the last outputs, for the next: the system hands out fresh memory page by page, as it is filled.
#[derive(Clone, Default)]
struct Spare(Arc<Mutex<Vec<u8>>>);

impl Spare {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Memory for outputs of `bytes` bytes, whatever it holds.
    fn lend(&self, bytes: usize) -> Lent {
        let mut memory = self.take();
        if memory.capacity() < bytes {
            // Before the larger piece is allocated, so that both are never held.
            drop(memory);
            memory = vec![0; bytes];
        }
        memory.resize(bytes, 0);
        Lent { memory, spare: self.clone() }
    }
}

/// The memory of outputs, which goes back when it is dropped.
struct Lent {
    memory: Vec<u8>,
    spare: Spare,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        *self.spare.0.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.memory);
    }
}

impl<K: Kernel> InProcess<K> {
    /// A launcher of `kernel`.
    pub fn new(kernel: K) -> Self {
        Self { kernel, outputs: Spare::default() }
    }

    /// Allocates the outputs of `job` and hands them with its call to `work`, which returns the time of its last
    /// launch.
    fn with_call<T>(
        &self,
        job: Job<'_>,
        work: impl FnOnce(&Call<'_>, &mut [OutputBuffer<'_>]) -> Result<(T, Duration), KernelError>,
    ) -> Result<(T, Launched), Failure> {
        let fetched = job.entry.fetch(job.bound, self.kernel.looks_up())?;
        let mapped: MappedEntry = job.entry.map()?;
        let bytes = |index| fetched.storage(index).map_or_else(|| mapped.storage(index), Ok);
        let storages = (0..job.entry.storages().len()).map(bytes).collect::<Result<Vec<_>, _>>()?;
        let captured = CapturedOutput::all(job.entry.output());
        let call = Call { params: &job.bound.params, args: &job.bound.args, storages: &storages, outputs: &captured };
        let placed = Placement::of(&self.kernel.outputs(&call)?, &captured)?;
        let mut lent = self.outputs.lend(placed.bytes);
        let mut buffers = placed.buffers(&mut lent.memory)?;
        buffers.iter_mut().for_each(OutputBuffer::poison);
        let (value, elapsed) = work(&call, &mut buffers)?;
        drop(buffers);
        mapped.intact()?;
        let outputs = placed.outputs_from(0);
        Ok((value, Launched { outputs, memory: Box::new(lent), elapsed, mutated: Vec::new(), device: None }))
    }
}

impl<K: Kernel> Launcher for InProcess<K> {
    fn kernel(&self) -> KernelIdentity {
        self.kernel.identity()
    }

    fn launch(&mut self, job: Job<'_>) -> Result<Launched, Failure> {
        let done = self.with_call(job, |call, outputs| {
            let start = Instant::now();
            self.kernel.launch(call, outputs)?;
            Ok(((), start.elapsed()))
        });
        done.map(|((), launched)| launched)
    }

    fn profile(&mut self, batch: &[Job<'_>], protocol: Protocol, each: &mut dyn FnMut(usize, Result<Timed, Failure>)) {
        let mut cache = CpuCache::new(last_level_cache);
        for (index, job) in batch.iter().enumerate() {
            let timed = self.with_call(*job, |call, outputs| {
                let samples = {
                    let mut launch = self.kernel.bind(call, outputs)?;
                    measure(protocol, &mut CpuClock::default(), &mut cache, &mut launch)
                };
                outputs.iter_mut().for_each(OutputBuffer::poison);
                let start = Instant::now();
                self.kernel.launch(call, outputs)?;
                Ok((samples, start.elapsed()))
            });
            let timed = timed.and_then(|(samples, again)| {
                let samples = samples.map_err(|error| match error {
                    MeasureError::Launch(error) => error.into(),
                    MeasureError::Clock(error) => Failure::new(FailureKind::Unsupported, error.to_string()),
                })?;
                Ok(Timed { samples, again, state: None, audit: None })
            });
            each(index, timed);
        }
    }

    fn drop_caches(&mut self) {
        drop(self.outputs.take());
    }

    fn end_worker(&mut self, _reason: ReleaseReason) {
        self.drop_caches();
    }

    fn proofs(&mut self) -> Vec<Release> {
        Vec::new()
    }

    fn worker(&self) -> Option<u32> {
        None
    }

    fn worker_rss(&self) -> Option<ByteSize> {
        None
    }

    fn versions(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

impl From<KernelError> for Failure {
    /// A kernel's refusal is the failure of that entry.
    fn from(error: KernelError) -> Self {
        let kind = match &error {
            KernelError::Unsupported { .. }
            | KernelError::NotForLibraries { .. }
            | KernelError::NotReachable { .. }
            | KernelError::NoOutputs { .. } => FailureKind::Unsupported,
            KernelError::OutOfMemory { .. } | KernelError::NoPages { .. } => FailureKind::HostOom,
            KernelError::ChangedDescription { .. } => FailureKind::MutatedInput,
            KernelError::DeviceOutOfMemory { .. } => FailureKind::DeviceOom,
            KernelError::Raised { raised: Some(raised), .. } if raised.kind == "MemoryError" => FailureKind::HostOom,
            KernelError::Raised { raised: Some(raised), .. } if raised.kind == "OutOfMemoryError" => {
                FailureKind::DeviceOom
            }
            _ => FailureKind::Exception,
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_outputs_is_used_again_and_never_two_pieces_of_it() {
        let spare = Spare::default();
        let place = |lent: &Lent| lent.as_ref().as_ptr();
        let first = spare.lend(1 << 20);
        assert!(first.as_ref().len() == 1 << 20 && spare.take().is_empty());
        let at = place(&first);
        drop(first);
        let second = spare.lend(1 << 10);
        assert_eq!((place(&second), second.as_ref().len()), (at, 1 << 10));
        drop(second);
        assert_eq!(spare.lend(1 << 19).as_ref().len(), 1 << 19);
        assert_eq!(spare.take().capacity(), 1 << 20);
        assert_eq!(spare.lend(4).as_ref().len(), 4, "what was taken is gone");
    }
}
