//! Launches of a kernel on calls: inputs mapped from their files, outputs into the shared memory.

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

/// What a worker launches.
pub enum Loaded {
    /// A kernel that is a part of this program, and known to read its arguments alone.
    Own(Box<dyn Kernel>),
    /// A kernel that is not: its arguments lie where it may write, at addresses that recur, and its outputs are held to
    /// what they were when it returned.
    Foreign(Box<dyn Kernel>),
    /// One that allocates what it gives; no part of this program either.
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

    /// What is launched.
    pub fn loaded(&self) -> &Loaded {
        &self.kernel
    }

    /// Launches once. The inputs are given back with the answer: to unmap them takes time, which is better spent while
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

    /// The time of one launch into the shared memory, poisoned before, and what it left there.
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

    /// The time of one launch of an operator, and what it gave, copied to the shared memory.
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
                let message = "it gave a tensor on a device: name it with --device".to_owned();
                Err(KernelError::Exception { message }.into())
            }
        })?;
        Ok((elapsed_ns, leaves))
    }

    /// Maps every call of the batch, then times each by itself, and launches it once more where everything lies elsewhere.
    /// `next` waits until the supervisor has judged what that gave.
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

    /// The samples; and of a kernel that is not a part of this program what it leaves unwritten of its outputs when it is
    /// launched again on the same buffers, as the timed launches left them but for a few bytes, and those outputs.
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
        // Poison would tell a kernel that looks for it that it is judged, and a long while since its last launch that it is not timed.
        let mut canaries = Canaries::of(&mut buffers);
        in_parent(kernel.bind(bound, &mut buffers)?)?;
        canaries.set(&mut buffers);
        in_parent(kernel.bind(bound, &mut buffers)?)?;
        let left = canaries.left(&mut buffers);
        Ok((samples, left, Some(TimedOutputs { placement, memory })))
    }
}
