//! [`Timed`]: the [`Trial`] of a kernel on the CPU, whose inputs are mapped from files, and whose outputs are compared in
//! shared memory.

use plimsoll::kernel::{Kernel, OutputBuffer};
use plimsoll::run::Placement;

use super::alteration::Alteration;
use super::error::CallError;
use super::evidence::pieces;
use super::forked::in_parent;
use super::inputs::Inputs;
use super::outputs::Outputs;
use super::trial::{self, Compare, Followed, Trial, unless_refused};
use crate::protocol::CallMessage;

/// The parts of outputs that are digested, at the most, and the bytes that each has at the least.
const PARTS: usize = 1 << 12;
const PART: usize = 16;

/// Outputs, where the timed launches left them.
pub struct TimedOutputs {
    pub placement: Placement,
    pub memory: Vec<u8>,
}

impl TimedOutputs {
    /// Hands each piece to `take`, with what `other` holds in its place.
    fn each_beside(&self, other: &[u8], take: &mut Compare<'_>) {
        for piece in pieces(&self.placement) {
            take(&piece, &self.memory[piece.range.clone()], &other[piece.range.clone()]);
        }
    }
}

/// What a kernel gave before it was timed, digested part by part.
pub struct Before {
    alteration: Alteration,
    followed: Followed,
    /// What it was given. Its addresses are given to nothing else, so that none is seen twice.
    _inputs: Vec<Inputs>,
}

impl Before {
    /// Launches at addresses that are not those to be timed; nothing if the kernel fails, or there is nothing to alter. The
    /// first launch is on other contents: where a kernel keeps what it gave first, that is wrong for the captured ones.
    pub fn of(
        kernel: &dyn Kernel,
        call: &CallMessage,
        to_be_timed: &Inputs,
        outputs: &mut Outputs,
    ) -> Result<Option<Self>, CallError> {
        let alteration = Alteration::of(call)?;
        if alteration.is_empty() {
            return Ok(None);
        }
        unless_refused(Self::launched(kernel, call, alteration, to_be_timed, outputs).map(Some))
    }

    fn launched(
        kernel: &dyn Kernel,
        call: &CallMessage,
        alteration: Alteration,
        to_be_timed: &Inputs,
        outputs: &mut Outputs,
    ) -> Result<Self, CallError> {
        let placement = to_be_timed.with(call, |bound| Ok(Placement::of(&kernel.outputs(bound)?, bound.outputs)?))?;
        let mut inputs = Vec::new();
        let mut digested = |alteration: Option<&Alteration>| {
            outputs.elsewhere(placement.bytes, |memory| {
                inputs.push(launch_elsewhere(kernel, call, alteration, &placement, memory)?);
                Ok(digests(&placement, memory))
            })
        };
        digested(Some(&alteration))?;
        let (captured, altered) = (digested(None)?, digested(Some(&alteration))?);
        Ok(Self { alteration, followed: Followed { altered, captured }, _inputs: inputs })
    }
}

/// A checksum of each part of outputs.
fn digests(placement: &Placement, memory: &[u8]) -> Vec<u8> {
    let part = placement.bytes.div_ceil(PARTS).max(PART);
    let outputs = placement.outputs.iter().map(|placed| &memory[placed.range()]);
    outputs.flat_map(|bytes| bytes.chunks(part)).flat_map(|part| crc32fast::hash(part).to_ne_bytes()).collect()
}

/// A kernel, and where its launches on a call were timed.
pub struct Timed<'a> {
    pub kernel: &'a dyn Kernel,
    pub call: &'a CallMessage,
    pub inputs: &'a mut Inputs,
    pub left: &'a mut TimedOutputs,
    pub outputs: &'a mut Outputs,
    pub before: Option<&'a Before>,
    /// Inputs that were launched on elsewhere. They keep their addresses to the end, so that none is seen twice.
    pub elsewhere: Vec<Inputs>,
}

impl Timed<'_> {
    /// The error of a kernel that gives what it has kept. A kernel that fails on other contents is not accused.
    pub fn kept(&mut self) -> Result<Option<CallError>, CallError> {
        self.inputs.restore()?;
        let Some(before) = self.before else { return trial::kept(self) };
        match self.altered(before) {
            // As it gave before it was timed: so does every honest kernel that is deterministic.
            Ok(altered) if altered == before.followed.altered => return Ok(None),
            Err(CallError::Kernel(_)) => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        match trial::kept(self)? {
            None => unless_refused(before.followed.stopped(|| {
                let altered = self.altered(before)?;
                self.launch()?;
                Ok([altered, digests(&self.left.placement, &self.left.memory)])
            })),
            found => Ok(found),
        }
    }

    /// Digests of what the kernel gives here of the contents that it was given before it was timed.
    fn altered(&mut self, before: &Before) -> Result<Vec<u8>, CallError> {
        self.altered_here(&before.alteration)?;
        Ok(digests(&self.left.placement, &self.left.memory))
    }

    /// Launches where launches were timed, and then has the arguments hold what was captured.
    fn launch(&mut self) -> Result<(), CallError> {
        let done = launch(self.kernel, self.call, self.inputs, &self.left.placement, &mut self.left.memory);
        self.inputs.restore()?;
        done
    }
}

impl Trial for Timed<'_> {
    fn call(&self) -> &CallMessage {
        self.call
    }

    fn altered_here(&mut self, alteration: &Alteration) -> Result<(), CallError> {
        self.inputs.alter(self.call, alteration);
        self.launch()
    }

    fn altered_elsewhere(&mut self, alteration: &Alteration, compare: &mut Compare<'_>) -> Result<(), CallError> {
        let placement = &self.left.placement;
        self.outputs.elsewhere(placement.bytes, |memory| {
            let inputs = launch_elsewhere(self.kernel, self.call, Some(alteration), placement, memory)?;
            self.elsewhere.push(inputs);
            self.left.each_beside(memory, compare);
            Ok(())
        })
    }

    fn captured_elsewhere(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        let placement = &self.left.placement;
        let memory = self.outputs.of_call(placement.bytes)?;
        self.elsewhere.push(launch_elsewhere(self.kernel, self.call, None, placement, memory)?);
        self.left.each_beside(memory, compare);
        Ok(())
    }

    fn captured_here(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        self.launch()?;
        let memory = self.outputs.of_call(self.left.placement.bytes)?;
        self.left.each_beside(memory, compare);
        Ok(())
    }
}

/// Launches at addresses that the kernel has never seen, on other contents or on what was captured, into memory that is
/// poisoned before. The inputs, which hold what was captured: their addresses are not to come again.
fn launch_elsewhere(
    kernel: &dyn Kernel,
    call: &CallMessage,
    alteration: Option<&Alteration>,
    placement: &Placement,
    memory: &mut [u8],
) -> Result<Inputs, CallError> {
    let mut inputs = Inputs::private(call, None)?;
    if let Some(alteration) = alteration {
        inputs.alter(call, alteration);
    }
    memory.fill(OutputBuffer::POISON);
    launch(kernel, call, &inputs, placement, memory)?;
    inputs.restore()?;
    Ok(inputs)
}

fn launch(
    kernel: &dyn Kernel,
    call: &CallMessage,
    inputs: &Inputs,
    placement: &Placement,
    memory: &mut [u8],
) -> Result<(), CallError> {
    inputs.with(call, |bound| {
        let mut buffers = placement.buffers(memory)?;
        Ok(in_parent(kernel.bind(bound, &mut buffers)?)?)
    })
}
