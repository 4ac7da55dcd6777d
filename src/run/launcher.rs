//! [`Launcher`]: where kernels run. In this process ([`InProcess`](super::InProcess)), or in a worker that the `plimsoll`
//! command supervises; validation and profiling are written once, over this trait.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{Audit, Failure, FailureKind, Gpu, Isolation, Release, ReleaseReason};
use plimsoll_capture::gpu::{DeviceUse, GpuState, PlaceKind};
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::{Protocol, Samples};
use plimsoll_capture::{Bound, Entry};
use plimsoll_memory::bytes::ByteSize;

use super::audit::Overhead;
use super::output::{Output, OutputValue};
use super::placement::OUTPUT_ALIGNMENT;

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
    /// What it took of the memory of a GPU; absent if it ran on the CPU.
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
    /// What an audit held the launches to, whose outputs are judged already; absent of plain timing.
    pub audit: Option<Audit>,
}

/// Bytes that are put into a storage of a call before a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The storage, by its number in the call.
    pub storage: usize,
    /// Where in it.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they are those that were captured.
    pub captured: bool,
}

/// A region of launches, each on other values.
pub struct Region {
    /// From the request to the answer, by the clock of whoever asked.
    pub seen: Duration,
    /// How much of it the launching thread, or whoever asked, waited for a processor.
    pub waited: Duration,
    /// Each launch, in nanoseconds, as its process timed it.
    pub durations_ns: Vec<f64>,
    /// The outputs that were to be kept, in their order.
    pub outputs: Vec<Vec<Output>>,
    /// The bytes under their tensors.
    pub memory: Box<dyn AsRef<[u8]>>,
}

impl Region {
    /// A copy of the output `index` of those that were kept.
    pub fn output(&self, index: usize) -> Launched {
        let (mut memory, mut outputs) = (Vec::new(), Vec::new());
        for output in &self.outputs[index] {
            let mut output = output.clone();
            if let OutputValue::Tensor(placed) = &mut output.value {
                let bytes = placed.bytes_in((*self.memory).as_ref()).unwrap_or_default();
                placed.offset = memory.len();
                memory.extend_from_slice(bytes);
                memory.resize(memory.len().next_multiple_of(OUTPUT_ALIGNMENT), 0);
            }
            outputs.push(output);
        }
        Launched { outputs, memory: Box::new(memory), elapsed: Duration::ZERO, mutated: Vec::new(), device: None }
    }
}

/// One call whose launches are audited, its arguments resident.
pub trait Audited {
    /// What a region takes beside its launches, as measured before the kernel was loaded.
    fn overhead(&self) -> Overhead;

    /// Launches once on each of these sets of patches, one after the other, each put over those before; keeps the outputs of
    /// the launches `keep`. Memory for outputs is filled with `fill` before each launch if the kernel is handed it.
    fn region(&mut self, launches: &[Vec<Patch>], keep: &[usize], fill: u8) -> Result<Region, Failure>;

    /// Puts back what was captured, and gives the arguments that the kernel changed.
    fn settle(&mut self) -> Result<Vec<String>, Failure>;
}

/// The launchers of a run.
pub struct Launchers<'k, 'r> {
    /// The launcher of the kernel.
    pub kernel: &'k mut dyn Launcher,
    /// The launcher of the reference, whose outputs are expected of validated entries; without one, the captured outputs are.
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

    /// Which rights the kernel does not have; `None` if it has those of its user.
    fn isolation(&self) -> Option<Isolation> {
        None
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

    /// Starts the process that kernels are to run in, if there is none, without waiting for it.
    fn start_early(&mut self) {}

    /// Begins an audit of a job.
    ///
    /// # Errors
    /// The launcher does not audit, or the job cannot be made resident.
    fn audit<'s>(&'s mut self, _job: Job<'s>) -> Result<Box<dyn Audited + 's>, Failure> {
        let message = "an audit needs a kernel in a worker process of its own: run it by `plimsoll check --audit`";
        Err(Failure::new(FailureKind::Unsupported, message))
    }

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

    /// The number of the worker that the last launch ran in, from 1; `None` if kernels run in this process.
    fn worker(&self) -> Option<u32>;

    /// The resident memory of the worker now, if there is one and it can be read.
    fn worker_rss(&self) -> Option<ByteSize>;

    /// Versions of what the kernel runs on (`torch`, `python`), known after the first launch.
    fn versions(&self) -> BTreeMap<String, String>;
}
