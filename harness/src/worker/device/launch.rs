//! [`DeviceLaunches`]: a kernel, its device, and the memory of its launches.

use std::io;
use std::rc::Rc;
use std::time::Instant;

use plimsoll::ByteSize;
use plimsoll::gpu::{CudaCache, CudaClock, DeviceUse, Gpu, GpuError, Graph, IdleCheck, Ring, Stream};
use plimsoll::kernel::OutputBuffer;
use plimsoll::timing::{MeasureError, Protocol, Samples, measure};

use super::kernel::{DeviceKernel, DeviceLaunch};
use super::on_device::OnDevice;
use super::outputs::{filled, given};
use super::resident::{Arena, Home, Resident, SLACK, changed, reached, upload};
use super::seen::{Judged, Resources, Seen};
use crate::protocol::{CallMessage, Outcome, Reply};
use crate::worker::canaries::Left;
use crate::worker::error::CallError;
use crate::worker::inputs::touching;
use crate::worker::outputs::Outputs;

/// The stack that a context reserves per thread if the device's memory has a ceiling. The usual 1 KiB is 264 MiB on an
/// H200, with 132 processors of 2048 threads each.
const SMALL_STACK: ByteSize = ByteSize::new(256);

/// How often work is run whose end the device passes.
const TRIES: u32 = 3;

/// The device of this number, in its context.
///
/// # Errors
/// The device cannot be used.
pub fn opened(index: u32, small_context: bool) -> Result<Rc<Gpu>, GpuError> {
    let gpu = Gpu::open(index)?;
    if small_context {
        gpu.keep_stack(SMALL_STACK)?;
    }
    Ok(gpu)
}

/// A kernel and its device.
pub struct DeviceLaunches {
    pub(super) kernel: DeviceKernel,
    pub(super) gpu: Rc<Gpu>,
    pub(super) index: u32,
    pub(super) ring: Ring,
    pub(super) stream: Stream,
    idle: IdleCheck,
    arena: Arena,
    /// Whether the kernel can be launched into a held stream: a kernel that waits for its stream cannot.
    pub(super) holds: bool,
}

/// How the calls of a batch are timed.
#[derive(Clone, Copy)]
pub struct Timing {
    pub protocol: Protocol,
    /// Whether replays of a CUDA graph of one launch are timed.
    pub graph: bool,
}

impl DeviceLaunches {
    /// Launches of `kernel` on `gpu`, which has the number `index`.
    ///
    /// # Errors
    /// Memory for uploads cannot be had.
    pub fn of(kernel: DeviceKernel, gpu: Rc<Gpu>, index: u32) -> Result<Self, GpuError> {
        let (ring, stream, idle) = (Ring::usual(&gpu)?, Stream::default_of(&gpu), IdleCheck::new(&gpu)?);
        Ok(Self { kernel, gpu, index, ring, stream, idle, arena: Arena::default(), holds: true })
    }

    /// Releases the device's memory, except what a library holds.
    pub fn drop_caches(&mut self) {
        self.arena.clear();
        // The next launch reports a device that failed.
        let _ = self.kernel.trim();
    }

    /// Launches once.
    pub fn launch(&mut self, id: u64, call: &CallMessage, outputs: &mut Outputs) -> Reply {
        match repeated(|| self.validated(call, outputs)) {
            Ok(outcome) => Reply::Launched { id, outcome },
            Err(error) => error.reply(id, None),
        }
    }

    fn validated(&mut self, call: &CallMessage, outputs: &mut Outputs) -> Result<Outcome, CallError> {
        self.gpu.make_current()?;
        let placement = self.kernel.placement(call)?;
        let reached = reached(call);
        let inputs = call.storages.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(s, _)| s.bytes);
        let sizes = [placement.bytes as u64].into_iter().chain(inputs).collect::<Vec<_>>();
        let mut homes = self.arena.cut(&self.gpu, sizes.into_iter())?.into_iter();
        let room = homes.next().expect("the outputs have a home");
        let homes: Vec<Option<Home>> = reached.iter().map(|reached| reached.then(|| homes.next()).flatten()).collect();
        for (storage, home) in call.storages.iter().zip(&homes) {
            if let Some(home) = home {
                upload(&mut self.ring, storage, home)?;
            }
        }
        let on_device = OnDevice::new(call, homes, placement, room);
        self.launched(call, &on_device, outputs)
    }

    /// One launch, its outputs copied to the shared memory.
    fn launched(&mut self, call: &CallMessage, on: &OnDevice, outputs: &mut Outputs) -> Result<Outcome, CallError> {
        self.kernel.trim()?;
        let live = self.kernel.allocated()?.map(|allocator| allocator.allocated);
        let before = self.gpu.memory()?.used();
        poison(&self.stream, on)?;
        let bound = on.call(call, self.index, &self.stream);
        let start = Instant::now();
        let mut launch = self.kernel.bind(&bound)?;
        let launched = launch.launch();
        let checked = self.idle.begin(&self.stream);
        // A fault on the device says more than the kernel's own error.
        let late = checked.and_then(|checked| self.idle.finish(&self.stream, checked));
        let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Err(error @ GpuError::Fault { .. }) = late {
            return Err(error.into());
        }
        launched?;
        if let Some(late) = late? {
            return Err(CallError::Late(late));
        }
        let growth = self.gpu.memory()?.used().saturating_sub(before);
        let mut allocator = self.kernel.allocated()?;
        let (leaves, output_bytes) = match launch {
            DeviceLaunch::Filled(_) => {
                (filled(&mut self.ring, &on.room, &on.placement, 0, outputs)?, ByteSize::new(on.room.bytes))
            }
            DeviceLaunch::Given(mut evaluation) => {
                let given = given(&mut self.ring, &self.stream, &on.ranges, evaluation.given()?, 0, outputs)?;
                if let Some((allocator, live)) = allocator.as_mut().zip(live) {
                    let more = allocator.allocated_peak.saturating_sub(live);
                    allocator.workspace = Some(more.saturating_sub(given.fresh));
                }
                (given.leaves, given.bytes)
            }
        };
        let changed = changed(&mut self.ring, call, &on.homes)?;
        Ok(Outcome {
            elapsed_ns,
            outputs: leaves,
            mutated: touching(&call.params, &on.args, &changed),
            device: Some(DeviceUse {
                inputs: on.homes.iter().flatten().map(|home| ByteSize::new(home.bytes)).sum(),
                outputs: output_bytes,
                growth: Some(growth),
                allocator,
            }),
            sources: Vec::new(),
        })
    }

    /// Uploads every call of the batch, then times each separately, and launches each once more with everything at
    /// other addresses. `next` waits until the supervisor has judged the result.
    pub fn profile(
        &mut self,
        id: u64,
        calls: &[CallMessage],
        timing: Timing,
        outputs: &mut Outputs,
        say: &mut dyn FnMut(Reply) -> io::Result<()>,
        next: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        self.drop_caches();
        let mut resident = Resident::default();
        let ready = self.gpu.make_current();
        let batch: Vec<Result<_, CallError>> = calls
            .iter()
            .map(|call| {
                ready.clone()?;
                resident.homes(&self.gpu, &mut self.ring, call)
            })
            .collect();
        for (index, (call, homes)) in calls.iter().zip(batch).enumerate() {
            match homes.and_then(|_| repeated(|| self.profiled(call, &mut resident, timing, outputs))) {
                Ok((samples, again)) => {
                    say(Reply::Timed { id, index, samples, again })?;
                    next()?;
                }
                Err(error) => {
                    say(error.reply(id, Some(index)))?;
                    if error.is_fault() {
                        // The supervisor ends this process, and gives the rest to another.
                        return Ok(());
                    }
                }
            }
        }
        say(Reply::Profiled { id })
    }

    fn profiled(
        &mut self,
        call: &CallMessage,
        resident: &mut Resident,
        timing: Timing,
        outputs: &mut Outputs,
    ) -> Result<(Samples, Outcome), CallError> {
        let on = self.on_device(call, resident)?;
        let timed = self.timed(call, &on, timing, resident, outputs);
        // A fault of the kernel is reported by whatever call comes after it.
        if let Err(error @ GpuError::Fault { .. }) = self.gpu.synchronize() {
            return Err(error.into());
        }
        // Other entries may share storages that hold altered contents. If they cannot be uploaded, nothing can.
        let placed = resident.place(&mut self.ring, call, &on.homes, 1);
        let (samples, judged, first) = timed?;
        placed?;
        drop(on);
        let on = self.on_device(call, resident)?;
        let mut again = self.launched(call, &on, outputs)?;
        let left = judged.left.error().filter(|_| outputs.is_written(on.placement.bytes));
        if let Some(error) = left.or(judged.kept) {
            return Err(error);
        }
        if let Some(device) = &mut again.device {
            device.growth = device.growth.max(first);
        }
        again.add_mutated(judged.mutated);
        Ok((samples, again))
    }

    /// The call over resident storages, with its own outputs.
    pub(super) fn on_device(&mut self, call: &CallMessage, resident: &mut Resident) -> Result<OnDevice, CallError> {
        let homes = resident.homes(&self.gpu, &mut self.ring, call)?;
        let placement = self.kernel.placement(call)?;
        let bytes = placement.bytes as u64;
        let room = Home { memory: Rc::new(self.gpu.allocate(bytes.saturating_add(SLACK))?), at: 0, bytes };
        Ok(OnDevice::new(call, homes, placement, room))
    }

    /// The samples, side effects of launches at the timed addresses, and the device memory taken by the first launch.
    fn timed(
        &mut self,
        call: &CallMessage,
        on: &OnDevice,
        timing: Timing,
        resident: &mut Resident,
        outputs: &mut Outputs,
    ) -> Result<(Samples, Judged, Option<ByteSize>), CallError> {
        poison(&self.stream, on)?;
        let own = if timing.graph { Some(Stream::new(&self.gpu)?) } else { None };
        let stream = own.as_ref().unwrap_or(&self.stream);
        let bound = on.call(call, self.index, stream);
        let mut bound = self.kernel.bind(&bound)?;
        // One-time work, to load the kernel's code or allocate a workspace, is impossible while a stream is captured.
        let before = self.gpu.memory()?.used();
        bound.launch()?;
        self.gpu.synchronize()?;
        let growth = self.gpu.memory()?.used().saturating_sub(before);
        let graph = if timing.graph { Some(captured(stream, &mut bound)?) } else { None };
        let mut launch = || match &graph {
            Some(graph) => Ok(graph.launch(stream)?),
            None => Ok(bound.launch()?),
        };
        let samples = measured(stream, timing.protocol, &mut launch)?;
        let seen = Seen {
            kernel: &self.kernel,
            index: self.index,
            call,
            on,
            stream,
            elsewhere: &self.stream,
            idle: &self.idle,
            mean_ns: mean_ns(&samples),
        };
        let ring = &mut self.ring;
        let judged = if matches!(self.kernel, DeviceKernel::Operator(_)) {
            // The kernel is given no buffers that it could leave unchanged.
            Judged { left: Left::Nothing, mutated: seen.mutated(ring)?, kept: None }
        } else {
            seen.judged(&mut Resources { ring, resident, outputs, holds: &mut self.holds }, &mut launch)?
        };
        Ok((samples, judged, Some(growth)))
    }
}

/// Runs `run` again if the device continued after the kernel's stream: programs that share the device may have had their
/// turn in between. A kernel that works on a stream of its own is late every time.
fn repeated<T>(mut run: impl FnMut() -> Result<T, CallError>) -> Result<T, CallError> {
    let mut ended = run();
    for _ in 1..TRIES {
        let Err(CallError::Late(_)) = ended else { break };
        ended = run();
    }
    ended
}

/// A CUDA graph of one launch.
fn captured(stream: &Stream, bound: &mut DeviceLaunch<'_>) -> Result<Graph, CallError> {
    Graph::begin(stream)?;
    let launched = bound.launch();
    let captured = Graph::end(stream);
    launched?;
    let graph = captured.map_err(|error| match error {
        GpuError::Unjoined => error.into(),
        other => CallError::NoGraph(other.to_string()),
    })?;
    graph.ok_or_else(|| CallError::NoGraph("it put nothing into the stream that TVMFFIEnvGetStream returns".to_owned()))
}

/// Launches as the protocol asks, timed by events in `stream`.
fn measured(
    stream: &Stream,
    protocol: Protocol,
    launch: &mut dyn FnMut() -> Result<(), CallError>,
) -> Result<Samples, CallError> {
    let (mut clock, mut cache) = (CudaClock::new(stream)?, CudaCache::new(stream));
    let samples = measure(protocol, &mut clock, &mut cache, launch);
    if let Some(late) = clock.late() {
        return Err(CallError::Late(late));
    }
    cache.intact()?;
    samples.map_err(|error| match error {
        MeasureError::Launch(error) => error,
        MeasureError::Clock(error) => error.into(),
    })
}

/// The mean of the samples, or no time if there are none.
fn mean_ns(samples: &Samples) -> f64 {
    samples.statistics().map_or(0.0, |statistics| statistics.mean_ns)
}

fn poison(stream: &Stream, on: &OnDevice) -> Result<(), GpuError> {
    stream.fill(&on.room.memory, on.room.at, on.room.bytes, OutputBuffer::POISON)?;
    stream.synchronize()
}
