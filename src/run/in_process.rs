//! [`InProcess`]: a kernel launched in this process, for the library and for tests.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::bytes::ByteSize;
use crate::capture::MappedEntry;
use crate::kernel::{Call, CapturedOutput, Kernel, KernelError, KernelIdentity, OutputBuffer};
use crate::record::{Failure, FailureKind, Release, ReleaseReason};
use crate::timing::{CpuClock, MeasureError, Protocol, Samples, measure};

use super::launcher::{Job, Launched, Launcher, OutputValue};
use super::placement::Placement;

/// Launches a kernel in this process. A kernel that crashes takes the process with it, and the kernel's memory is this
/// process's: kernels that are not trusted belong into a worker.
pub struct InProcess<K> {
    kernel: K,
}

/// What work on a call gave, with the outputs that it left.
struct Done<T> {
    value: T,
    outputs: Vec<(String, OutputValue)>,
    memory: Vec<u8>,
}

impl<K: Kernel> InProcess<K> {
    /// A launcher of `kernel`.
    pub fn new(kernel: K) -> Self {
        Self { kernel }
    }

    /// Allocates the outputs of `job` and hands them with its call to `work`.
    fn with_call<T>(
        &self,
        job: Job<'_>,
        work: impl FnOnce(&Call<'_>, &mut [OutputBuffer<'_>]) -> Result<T, KernelError>,
    ) -> Result<Done<T>, Failure> {
        let mapped: MappedEntry = job.entry.map()?;
        let storages = (0..job.entry.storages().len()).map(|i| mapped.storage(i)).collect::<Result<Vec<_>, _>>()?;
        let captured = CapturedOutput::all(job.entry.output());
        let call = Call { params: &job.bound.params, args: &job.bound.args, storages: &storages, outputs: &captured };
        let placed = Placement::of(&self.kernel.outputs(&call)?, &captured)?;
        let mut memory = vec![0; placed.bytes];
        let mut buffers = placed.buffers(&mut memory)?;
        buffers.iter_mut().for_each(OutputBuffer::poison);
        let done = work(&call, &mut buffers)?;
        drop(buffers);
        mapped.intact()?;
        let outputs = placed
            .outputs
            .into_iter()
            .map(|o| (o.path, OutputValue::Tensor { spec: o.spec, offset: o.offset as u64 }))
            .collect();
        Ok(Done { value: done, outputs, memory })
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
            Ok(start.elapsed())
        })?;
        Ok(Launched { outputs: done.outputs, memory: Box::new(done.memory), elapsed: done.value })
    }

    fn profile(
        &mut self,
        batch: &[Job<'_>],
        protocol: Protocol,
        each: &mut dyn FnMut(usize, Result<Samples, Failure>),
    ) {
        for (index, job) in batch.iter().enumerate() {
            let timed = self.with_call(*job, |call, outputs| {
                let mut launch = self.kernel.bind(call, outputs)?;
                Ok(measure(protocol, &mut CpuClock::default(), &mut launch))
            });
            each(
                index,
                timed.and_then(|done| {
                    done.value.map_err(|error| match error {
                        MeasureError::Launch(error) => error.into(),
                        MeasureError::Clock(error) => Failure::new(FailureKind::Unsupported, error.to_string()),
                    })
                }),
            );
        }
    }

    fn release(&mut self) {}

    fn recycle(&mut self, _reason: ReleaseReason) {}

    fn releases(&mut self) -> Vec<Release> {
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
    /// What a kernel refuses is the failure of that entry.
    fn from(error: KernelError) -> Self {
        let kind = match &error {
            KernelError::Unsupported { .. } | KernelError::NotForLibraries { .. } | KernelError::NoOutputs { .. } => {
                FailureKind::Unsupported
            }
            KernelError::Raised { raised: Some(raised), .. } if raised.kind == "MemoryError" => FailureKind::HostOom,
            _ => FailureKind::Exception,
        };
        Self::new(kind, error.to_string())
    }
}
