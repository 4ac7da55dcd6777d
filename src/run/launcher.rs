//! [`Launcher`]: where kernels run. In this process ([`InProcess`](super::InProcess)), or in a worker that the `plimsoll`
//! command supervises; validation and profiling are written once, over this trait.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{Failure, Gpu, Release, ReleaseReason};
use plimsoll_capture::gpu::{DeviceUse, GpuState, PlaceKind};
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::{Protocol, Samples};
use plimsoll_capture::{Bound, Entry};
use plimsoll_memory::bytes::ByteSize;

use super::output::Output;

/// Why a kernel cannot be launched at all, as whoever launches kernels says it.
pub type LaunchError = Box<dyn std::error::Error + Send + Sync>;

/// An entry with its arguments bound, ready to be launched.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Its arguments.
    pub bound: &'a Bound,
}

/// What one launch gave.
pub struct Launched {
    /// The outputs, flattened.
    pub outputs: Vec<Output>,
    /// The bytes under the tensors.
    pub memory: Box<dyn AsRef<[u8]>>,
    /// The time of the launch.
    pub elapsed: Duration,
    /// The arguments whose bytes the kernel changed.
    pub mutated: Vec<String>,
    /// What it took of the memory of a GPU; absent where it ran on the CPU.
    pub device: Option<DeviceUse>,
}

/// What timing an entry gave.
pub struct Timed {
    /// The samples.
    pub samples: Samples,
    /// One more launch after the last that was timed, on arguments and outputs that lie elsewhere.
    pub again: Launched,
    /// What the GPU was like meanwhile; absent on the CPU, and where it cannot be read.
    pub state: Option<GpuState>,
}

/// The launchers of a run.
pub struct Launchers<'k, 'r> {
    /// That of the kernel.
    pub kernel: &'k mut dyn Launcher,
    /// That of the kernel whose outputs are expected of validated entries; those that were captured where there is none.
    pub reference: Option<&'r mut dyn Launcher>,
}

/// Runs a kernel on jobs. Whatever goes wrong is a typed [`Failure`] of that job, and the next job runs all the same.
pub trait Launcher {
    /// The kernel, as it goes into a record's semantics.
    fn kernel(&self) -> KernelIdentity;

    /// Whether the kernel is given its arguments by their names, and not by their positions.
    fn by_name(&self) -> bool {
        false
    }

    /// Where the kernel is launched.
    fn place(&self) -> PlaceKind {
        PlaceKind::Cpu
    }

    /// Whether timed launches are replays of a CUDA graph of one.
    fn replays(&self) -> bool {
        false
    }

    /// The GPUs that it is launched on.
    fn gpus(&self) -> Vec<Gpu> {
        Vec::new()
    }

    /// Launches the kernel once.
    fn launch(&mut self, job: Job<'_>) -> Result<Launched, Failure>;

    /// Keeps the jobs of a batch resident together and times each by itself; `each` is called once a job, in order, and
    /// has the outputs of its last launch to itself until it returns.
    fn profile(&mut self, batch: &[Job<'_>], protocol: Protocol, each: &mut dyn FnMut(usize, Result<Timed, Failure>));

    /// Drops inputs, outputs and caches that the last jobs left.
    fn drop_caches(&mut self);

    /// Ends the process that kernels ran in, if there is one, and waits until its memory is back with the system.
    fn end_worker(&mut self, reason: ReleaseReason);

    /// The proofs that the memory came back of every process that ended since the last call, in order.
    fn proofs(&mut self) -> Vec<Release>;

    /// The longest that one launch may take; `None` if the launcher does not limit it.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Readies the launcher before a run begins, so that a run that could measure nothing does not begin.
    ///
    /// # Errors
    /// What the kernel needs is not there.
    fn prepare(&mut self) -> Result<(), LaunchError> {
        Ok(())
    }

    /// Drops caches.
    #[deprecated(note = "call `drop_caches`")]
    fn release(&mut self) {
        self.drop_caches();
    }

    /// Ends the worker.
    #[deprecated(note = "call `end_worker`")]
    fn recycle(&mut self, reason: ReleaseReason) {
        self.end_worker(reason);
    }

    /// Gives the proofs.
    #[deprecated(note = "call `proofs`")]
    fn releases(&mut self) -> Vec<Release> {
        self.proofs()
    }

    /// The number of the worker that the last launch ran in, from 1; `None` where kernels run in this process.
    fn worker(&self) -> Option<u32>;

    /// The resident memory of the worker now, where there is one and it can be read.
    fn worker_rss(&self) -> Option<ByteSize>;

    /// Versions of what the kernel runs on (`torch`, `python`), known after the first launch.
    fn versions(&self) -> BTreeMap<String, String>;
}
