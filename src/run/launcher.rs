//! [`Launcher`]: runs kernels in this process ([`InProcess`](super::InProcess)), or in a worker that the `plimsoll`
//! command supervises; validation and profiling are written once, over this trait.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::record::{Audit, Failure, FailureKind, Gpu, Isolation, Release, ReleaseReason};
use plimsoll_capture::gpu::{DeviceUse, GpuState, PlaceKind};
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::{Protocol, Samples};
use plimsoll_capture::{Bound, Dtype, Entry};
use plimsoll_memory::bytes::ByteSize;

use super::output::{Output, OutputValue};
use super::overhead::Overhead;
use super::placement::OUTPUT_ALIGNMENT;

/// Why a kernel cannot be launched at all, as reported by its launcher.
pub type LaunchError = Box<dyn std::error::Error + Send + Sync>;

/// An entry with its arguments bound, ready to be launched.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The entry.
    pub entry: &'a Entry,
    /// Its arguments.
    pub bound: &'a Bound,
}

/// The result of one launch.
pub struct Launched {
    /// The outputs, flattened.
    pub outputs: Vec<Output>,
    /// The bytes under the tensors.
    pub memory: Box<dyn AsRef<[u8]>>,
    /// The time of the launch.
    pub elapsed: Duration,
    /// The arguments whose bytes the kernel changed.
    pub mutated: Vec<String>,
    /// The GPU memory that the launch took; absent on the CPU.
    pub device: Option<DeviceUse>,
}

/// The result of timing an entry.
pub struct Timed {
    /// The samples.
    pub samples: Samples,
    /// One more launch after the last timed one, on arguments and outputs at other addresses.
    pub again: Launched,
    /// The GPU's state meanwhile; absent on the CPU, or if it cannot be read.
    pub state: Option<GpuState>,
    /// The findings of an audit, which has judged its outputs already; absent for plain timing.
    pub audit: Option<Audit>,
}

/// Bytes that are put into a storage of a call before a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The storage, by its number in the call.
    pub storage: usize,
    /// The offset in the storage.
    pub at: u64,
    /// The bytes.
    pub bytes: Arc<Vec<u8>>,
    /// Whether they take the place of all that was put into the storage.
    pub whole: bool,
    /// Whether they are what was there before anything was put there: the captured bytes, or those of the last patch that
    /// took the place of all.
    pub restores: bool,
}

/// What is wanted of a region besides its times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'w> {
    /// The launches whose outputs are kept, in order; all if absent. The kernel's process learns of each after the
    /// launch.
    pub keep: Option<&'w [usize]>,
    /// The fill of the memory for outputs before each launch, if the kernel is given it.
    pub fill: u8,
    /// The contents of arguments that are kept with the outputs, after them.
    pub contents: &'w [Contents],
}

/// A part of an argument that the kernel may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The name of the argument.
    pub argument: String,
    /// Its storage, by its number in the call.
    pub storage: usize,
    /// The offset in the storage.
    pub at: u64,
    /// The size.
    pub bytes: u64,
    /// The type of the elements.
    pub dtype: Dtype,
}

/// One launch by the caller's clock: from when its values were handed out until the next ones were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How long it took.
    pub seen: Duration,
    /// For how much of it the launching thread, or the caller, waited for a processor or for the other.
    pub waited: Duration,
    /// For how much of it the caller slept on after it had been asked.
    pub late: Duration,
}

impl Span {
    /// How much longer than a launch of this duration it took, less what was waited, in nanoseconds; below 0 if the launch
    /// itself waited.
    pub fn beside_ns(&self, launch_ns: f64) -> f64 {
        self.seen.as_nanos() as f64 - self.waited.as_nanos() as f64 - launch_ns
    }

    /// How much longer the launch can have been than it was reported: who asks too early works on until the caller looks.
    pub fn hidden_ns(&self, launch_ns: f64) -> f64 {
        (self.beside_ns(launch_ns) + self.late.as_nanos() as f64).max(0.0)
    }
}

/// A region of launches, each on other values.
pub struct Region {
    /// Each launch.
    pub spans: Vec<Span>,
    /// Whether the caller was stopped, and continued, meanwhile.
    pub stopped: bool,
    /// Whether each launch was after its values were handed out, and before its process spoke again, if it says when.
    pub placed: bool,
    /// Each launch, in nanoseconds, as its process timed it.
    pub durations_ns: Vec<f64>,
    /// The kept outputs, in their order, each with the kept contents of arguments after it.
    pub outputs: Vec<Vec<Output>>,
    /// The bytes under their tensors.
    pub memory: Box<dyn AsRef<[u8]>>,
}

impl Region {
    /// A copy of the leaves `range` of the kept output `index`.
    pub fn output(&self, index: usize, range: Range<usize>) -> Launched {
        let (mut memory, mut outputs) = (Vec::new(), Vec::new());
        for output in &self.outputs[index][range] {
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
    /// The overhead of a region beside its launches, measured before the kernel was loaded.
    fn overhead(&self) -> Overhead;

    /// Launches once on each of these sets of patches, one after the other, each applied on top of the earlier ones.
    fn region(&mut self, launches: &[Vec<Patch>], wanted: &Wanted<'_>) -> Result<Region, Failure>;

    /// Restores the captured contents, and returns the arguments that the kernel changed.
    fn settle(&mut self) -> Result<Vec<String>, Failure>;
}

/// The launchers of a run.
pub struct Launchers<'k, 'r> {
    /// The launcher of the kernel.
    pub kernel: &'k mut dyn Launcher,
    /// The launcher of the reference, whose outputs validated entries should have; without one, the captured outputs
    /// count.
    pub reference: Option<&'r mut dyn Launcher>,
}

/// Runs a kernel on jobs. Any failure is a typed [`Failure`] of that job, and the next job still runs.
pub trait Launcher {
    /// The kernel, as recorded in the semantics.
    fn kernel(&self) -> KernelIdentity;

    /// Whether the kernel takes its arguments by name instead of by position.
    fn by_name(&self) -> bool {
        false
    }

    /// The place of launches.
    fn place(&self) -> PlaceKind {
        PlaceKind::Cpu
    }

    /// The rights that the kernel lacks; `None` if it has those of its user.
    fn isolation(&self) -> Option<Isolation> {
        None
    }

    /// Whether timed launches are replays of a CUDA graph of one launch.
    fn replays(&self) -> bool {
        false
    }

    /// The GPUs that it is launched on.
    fn gpus(&self) -> Vec<Gpu> {
        Vec::new()
    }

    /// Launches the kernel once.
    fn launch(&mut self, job: Job<'_>) -> Result<Launched, Failure>;

    /// Keeps the jobs of a batch resident together and times each separately; `each` is called once per job, in order,
    /// and has exclusive use of the outputs of its last launch until it returns.
    fn profile(&mut self, batch: &[Job<'_>], protocol: Protocol, each: &mut dyn FnMut(usize, Result<Timed, Failure>));

    /// Starts the process for kernels, if there is none, without waiting for it.
    fn start_early(&mut self) {}

    /// Begins an audit of a job.
    ///
    /// # Errors
    /// The launcher does not audit, or the job cannot be made resident.
    fn audit<'s>(&'s mut self, _job: Job<'s>) -> Result<Box<dyn Audited + 's>, Failure> {
        let message = "an audit needs a kernel in a worker process of its own: run it by `plimsoll check --audit`";
        Err(Failure::new(FailureKind::Unsupported, message))
    }

    /// Drops inputs, outputs and caches of the last jobs.
    fn drop_caches(&mut self);

    /// Ends the process of kernels, if there is one, and waits until its memory has been released.
    fn end_worker(&mut self, reason: ReleaseReason);

    /// The proofs of released memory for every process that ended since the last call, in order.
    fn proofs(&mut self) -> Vec<Release>;

    /// The longest that one launch may take; `None` if the launcher does not limit it.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Prepares the launcher before a run begins, so that a run that could measure nothing does not begin.
    ///
    /// # Errors
    /// A requirement of the kernel is missing.
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

    /// Returns the proofs.
    #[deprecated(note = "call `proofs`")]
    fn releases(&mut self) -> Vec<Release> {
        self.proofs()
    }

    /// The number of the worker that the last launch ran in, from 1; `None` if kernels run in this process.
    fn worker(&self) -> Option<u32>;

    /// The current resident memory of the worker, if there is one and it can be read.
    fn worker_rss(&self) -> Option<ByteSize>;

    /// Versions of the software that the kernel runs on (`torch`, `python`), known after the first launch.
    fn versions(&self) -> BTreeMap<String, String>;
}
