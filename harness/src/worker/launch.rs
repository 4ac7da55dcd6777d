//! Launches a kernel on calls: inputs mapped from their files, outputs in the shared memory.

use std::io;
use std::time::Instant;

use plimsoll::kernel::{Call, Elements, Kernel, KernelError, Operator, OutputBuffer};
use plimsoll::meter::last_level_cache;
use plimsoll::run::{Output, Placed, Placement};
use plimsoll::timing::{CpuCache, CpuClock, Protocol, Samples, measure, nanoseconds};

use super::canaries::{Canaries, Left};
use super::error::CallError;
use super::forked::in_parent;
use super::inputs::{Files, Inputs};
use super::kept::{Before, Timed, TimedOutputs};
use super::outputs::Outputs;
use super::private::Arena;
use crate::protocol::{CallMessage, Outcome, Reply};

/// A kernel that a worker launches.
pub enum Loaded {
    /// A kernel of this program, known only to read its arguments.
    Own(Box<dyn Kernel>),
    /// A kernel from elsewhere: its arguments are where it may write, at addresses that recur, and its outputs must
    /// stay as they were when it returned.
    Foreign(Box<dyn Kernel>),
    /// A kernel that allocates its results; not part of this program either.
    Operator(Box<dyn Operator>),
}

/// A kernel, and the memory that its launches use.
pub struct Launches {
    kernel: Loaded,
    foreign: bool,
    arena: Arena,
}

impl Launches {
    /// Launches of `kernel`.
    pub fn of(kernel: Loaded) -> Self {
        let foreign = !matches!(kernel, Loaded::Own(_));
        Self { kernel, foreign, arena: Arena::default() }
    }

    /// The kernel.
    pub fn loaded(&self) -> &Loaded {
        &self.kernel
    }

    /// Launches once. The inputs are returned with the answer: unmapping them takes time, which is better spent while
    /// the supervisor judges.
    pub fn launch(&mut self, id: u64, call: &CallMessage, outputs: &mut Outputs) -> (Reply, Option<Inputs>) {
        let inputs = if self.foreign {
            Inputs::private(call, Some(&mut self.arena))
        } else {
            Inputs::shared(call, &mut Files::of(std::slice::from_ref(call)))
        };
        let done = inputs.and_then(|inputs| Ok((self.launched(call, &inputs, outputs)?, inputs)));
        match done {
            Ok((outcome, inputs)) => (Reply::Launched { id, outcome }, Some(inputs)),
            Err(error) => (error.reply(id, None), None),
        }
    }

    fn launched(&self, call: &CallMessage, inputs: &Inputs, outputs: &mut Outputs) -> Result<Outcome, CallError> {
        let (elapsed_ns, leaves) = inputs.with(call, |bound| match &self.kernel {
            Loaded::Own(kernel) | Loaded::Foreign(kernel) => self.filled(kernel.as_ref(), bound, outputs),
            Loaded::Operator(operator) => self.given(operator.as_ref(), bound, outputs),
        })?;
        let mutated = if self.foreign { inputs.mutated(call)? } else { Vec::new() };
        Ok(Outcome { elapsed_ns, outputs: leaves, mutated, device: None, sources: Vec::new() })
    }

    /// The time and outputs of one launch into the shared memory, which is poisoned first.
    fn filled(
        &self,
        kernel: &dyn Kernel,
        bound: &Call<'_>,
        outputs: &mut Outputs,
    ) -> Result<(u64, Vec<Output>), CallError> {
        let mut placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
        let memory = outputs.of_call(placement.bytes)?;
        let mut buffers = placement.buffers(memory)?;
        buffers.iter_mut().for_each(OutputBuffer::poison);
        let mut launch = kernel.bind(bound, &mut buffers)?;
        let start = Instant::now();
        in_parent(&mut launch)?;
        let elapsed_ns = nanoseconds(start.elapsed());
        drop(launch);
        drop(buffers);
        if self.foreign {
            let checked = |placed: &mut Placed| placed.crc32 = Some(crc32fast::hash(&memory[placed.range()]));
            placement.outputs.iter_mut().for_each(checked);
        }
        Ok((elapsed_ns, placement.outputs_from(0)))
    }

    /// The time of one launch of an operator, and its results, copied to the shared memory.
    fn given(
        &self,
        operator: &dyn Operator,
        bound: &Call<'_>,
        outputs: &mut Outputs,
    ) -> Result<(u64, Vec<Output>), CallError> {
        let mut evaluation = operator.bind(bound)?;
        let start = Instant::now();
        in_parent(|| evaluation.launch())?;
        let elapsed_ns = nanoseconds(start.elapsed());
        let (leaves, _) = outputs.keep(evaluation.given()?, &mut |elements, place| match elements {
            Elements::Host(bytes) => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            Elements::Device(_) => {
                let message = "it returned a tensor on a device: name it with --device".to_owned();
                Err(KernelError::Exception { message }.into())
            }
        })?;
        Ok((elapsed_ns, leaves))
    }

    /// Maps every call of the batch, then times each separately, and launches each once more with everything at other
    /// addresses. `next` waits until the supervisor has judged the result.
    pub fn profile(
        &mut self,
        id: u64,
        calls: &[CallMessage],
        protocol: Protocol,
        outputs: &mut Outputs,
        say: &mut dyn FnMut(Reply) -> io::Result<()>,
        next: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        let mut files = Files::of(calls);
        let resident = |call| if self.foreign { Inputs::private(call, None) } else { Inputs::shared(call, &mut files) };
        let batch: Vec<_> = calls.iter().map(resident).collect();
        drop(files);
        let mut cache = CpuCache::new(last_level_cache);
        for (index, (call, inputs)) in calls.iter().zip(batch).enumerate() {
            match inputs.and_then(|inputs| self.profiled(call, inputs, protocol, &mut cache, outputs)) {
                Ok((samples, again)) => {
                    say(Reply::Timed { id, index, samples, again })?;
                    next()?;
                }
                Err(error) => say(error.reply(id, Some(index)))?,
            }
        }
        say(Reply::Profiled { id })
    }

    fn profiled(
        &mut self,
        call: &CallMessage,
        mut inputs: Inputs,
        protocol: Protocol,
        cache: &mut CpuCache,
        outputs: &mut Outputs,
    ) -> Result<(Samples, Outcome), CallError> {
        let before = match &self.kernel {
            Loaded::Foreign(kernel) => Before::of(kernel.as_ref(), call, &inputs, outputs)?,
            Loaded::Own(_) | Loaded::Operator(_) => None,
        };
        let (samples, left, filled) = inputs.with(call, |bound| self.timed(bound, protocol, cache))?;
        if !self.foreign {
            let again = self.launched(call, &inputs, outputs)?;
            return Ok((samples, again));
        }
        let mutated = inputs.mutated(call)?;
        let kept = match (&self.kernel, filled) {
            (Loaded::Foreign(kernel), Some(mut filled)) if left == Left::Nothing => {
                let (kernel, before) = (kernel.as_ref(), before.as_ref());
                let (inputs, left) = (&mut inputs, &mut filled);
                Timed { kernel, call, inputs, left, outputs, before, elsewhere: Vec::new() }.kept()?
            }
            _ => None,
        };
        // Two maps of the same pages would count twice in the resident memory.
        drop(inputs);
        let inputs = Inputs::private(call, Some(&mut self.arena))?;
        let mut again = self.launched(call, &inputs, outputs)?;
        drop(inputs);
        let ends = again.outputs.iter().filter_map(Output::tensor).map(|placed| placed.range().end);
        let bytes = ends.max().unwrap_or(0);
        if let Some(error) = left.error().filter(|_| outputs.is_written(bytes)).or(kept) {
            return Err(error);
        }
        again.add_mutated(mutated);
        Ok((samples, again))
    }

    /// The samples; for a kernel that is not part of this program also the outputs that it leaves unwritten when
    /// launched again on the same buffers, which are as the timed launches left them except for a few bytes.
    fn timed(
        &self,
        bound: &Call<'_>,
        protocol: Protocol,
        cache: &mut CpuCache,
    ) -> Result<(Samples, Left, Option<TimedOutputs>), CallError> {
        let mut clock = CpuClock::default();
        let kernel = match &self.kernel {
            Loaded::Own(kernel) | Loaded::Foreign(kernel) => kernel.as_ref(),
            Loaded::Operator(operator) => {
                let mut evaluation = operator.bind(bound)?;
                let samples = measure(protocol, &mut clock, cache, &mut || in_parent(|| evaluation.launch()))?;
                return Ok((samples, Left::Nothing, None));
            }
        };
        let placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
        let mut memory = vec![0; placement.bytes];
        let mut buffers = placement.buffers(&mut memory)?;
        let mut launch = kernel.bind(bound, &mut buffers)?;
        if !self.foreign {
            return Ok((measure(protocol, &mut clock, cache, &mut launch)?, Left::Nothing, None));
        }
        let samples = measure(protocol, &mut clock, cache, &mut || in_parent(&mut launch))?;
        drop(launch);
        // A kernel could detect by poison that it is judged, and by a long pause since its last launch that it is not
        // timed.
        let mut canaries = Canaries::of(&mut buffers);
        in_parent(kernel.bind(bound, &mut buffers)?)?;
        canaries.set(&mut buffers);
        in_parent(kernel.bind(bound, &mut buffers)?)?;
        let left = canaries.left(&mut buffers);
        Ok((samples, left, Some(TimedOutputs { placement, memory })))
    }
}
