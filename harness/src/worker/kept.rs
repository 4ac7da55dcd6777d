//! [`Timed`]: the [`Trial`] of a kernel on the CPU, with inputs mapped from files and outputs compared in shared
//! memory.

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

/// The most parts of outputs that are digested, and the fewest bytes of each.
const PARTS: usize = 1 << 12;
const PART: usize = 16;

/// The outputs at the timed addresses.
pub struct TimedOutputs {
    pub placement: Placement,
    pub memory: Vec<u8>,
}

impl TimedOutputs {
    /// Hands each piece to `take`, with the contents of `other` at the same place.
    fn each_beside(&self, other: &[u8], take: &mut Compare<'_>) {
        for piece in pieces(&self.placement) {
            take(&piece, &self.memory[piece.range.clone()], &other[piece.range.clone()]);
        }
    }
}

/// The results of a kernel before it was timed, digested part by part.
pub struct Before {
    alteration: Alteration,
    followed: Followed,
    /// The inputs of these launches. Their addresses are never reused, so that none is seen twice.
    _inputs: Vec<Inputs>,
}

impl Before {
    /// Launches at addresses that will not be timed; `None` if the kernel fails, or nothing can be altered. The first
    /// launch is on other contents: if a kernel keeps its first result, that is wrong for the captured contents.
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

/// A kernel, and the addresses of its timed launches on a call.
pub struct Timed<'a> {
    pub kernel: &'a dyn Kernel,
    pub call: &'a CallMessage,
    pub inputs: &'a mut Inputs,
    pub left: &'a mut TimedOutputs,
    pub outputs: &'a mut Outputs,
    pub before: Option<&'a Before>,
    /// Inputs of launches elsewhere. They keep their addresses to the end, so that none is seen twice.
    pub elsewhere: Vec<Inputs>,
}

impl Timed<'_> {
    /// The error of a kernel that returns kept results. A kernel that fails on other contents is not accused.
    pub fn kept(&mut self) -> Result<Option<CallError>, CallError> {
        self.inputs.restore()?;
        let Some(before) = self.before else { return trial::kept(self) };
        match self.altered(before) {
            // As before it was timed: every honest and deterministic kernel does so.
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

    /// Digests of the kernel's results here, on the contents from before it was timed.
    fn altered(&mut self, before: &Before) -> Result<Vec<u8>, CallError> {
        self.altered_here(&before.alteration)?;
        Ok(digests(&self.left.placement, &self.left.memory))
    }

    /// Launches at the timed addresses, then restores the captured contents of the arguments.
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

/// Launches at addresses that the kernel has never seen, on other or captured contents, into poisoned memory. Returns
/// the inputs with captured contents: their addresses must not be reused.
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
