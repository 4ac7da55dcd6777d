//! Whether a kernel gives what it has kept by the addresses of its arguments, and not what these hold.
//!
//! Its arguments are given other contents where they lay while it was timed, and it is launched there once more, and on the same
//! contents at addresses that it has never seen. An honest kernel gives the same. Where it does not, launches on what was
//! captured, here and there, tell what is stale from what differs by itself.

use plimsoll::kernel::{Kernel, OutputBuffer};
use plimsoll::run::Placement;

use super::alteration::Alteration;
use super::error::CallError;
use super::evidence::{Evidence, Piece, pieces};
use super::forked::in_parent;
use super::inputs::Inputs;
use super::outputs::Outputs;
use crate::protocol::CallMessage;

/// How often a kernel has to be found out: what differs from launch to launch by itself can look so once.
pub const ROUNDS: usize = 3;

/// Outputs, where the timed launches left them.
pub struct TimedOutputs {
    pub placement: Placement,
    pub memory: Vec<u8>,
}

impl TimedOutputs {
    /// Hands each piece to `take`, with what `other` holds in its place.
    fn each_beside(&self, other: &[u8], mut take: impl FnMut(&Piece, &[u8], &[u8])) {
        for piece in pieces(&self.placement) {
            take(&piece, &self.memory[piece.range.clone()], &other[piece.range.clone()]);
        }
    }
}

/// A kernel, and where its launches on a call were timed.
pub struct Timed<'a> {
    pub kernel: &'a dyn Kernel,
    pub call: &'a CallMessage,
    pub inputs: &'a mut Inputs,
    pub left: &'a mut TimedOutputs,
}

impl Timed<'_> {
    /// The error of a kernel that gives what it has kept. One that fails on other contents is not accused. Inputs elsewhere keep
    /// their addresses to the end, so that none is seen twice.
    pub fn kept(&mut self, outputs: &mut Outputs) -> Result<Option<CallError>, CallError> {
        let (mut elsewhere, mut found) = (Vec::new(), None);
        self.inputs.restore()?;
        for _ in 0..ROUNDS {
            found = match self.round(&mut elsewhere, outputs) {
                Err(CallError::Kernel(_)) => None,
                other => other?,
            };
            if found.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn round(&mut self, elsewhere: &mut Vec<Inputs>, outputs: &mut Outputs) -> Result<Option<CallError>, CallError> {
        let alteration = Alteration::of(self.call)?;
        if alteration.is_empty() {
            return Ok(None);
        }
        self.inputs.alter(self.call, &alteration);
        self.launch()?;
        let (bytes, mut evidence) = (self.left.placement.bytes, Evidence::default());
        let mut altered = Inputs::private(self.call, None)?;
        altered.alter(self.call, &alteration);
        outputs.elsewhere(bytes, |memory| {
            memory.fill(OutputBuffer::POISON);
            launch(self.kernel, self.call, &altered, &self.left.placement, memory)?;
            self.left.each_beside(memory, |piece, here, elsewhere| evidence.altered(piece, here, elsewhere));
            Ok(())
        })?;
        altered.restore()?;
        elsewhere.push(altered);
        if evidence.is_none() {
            return Ok(None);
        }
        let mut captured = Inputs::private(self.call, None)?;
        let memory = outputs.of_call(bytes)?;
        memory.fill(OutputBuffer::POISON);
        launch(self.kernel, self.call, &captured, &self.left.placement, memory)?;
        captured.restore()?;
        elsewhere.push(captured);
        self.left.each_beside(memory, |piece, altered, captured| evidence.captured(piece, altered, captured));
        self.launch()?;
        self.left.each_beside(memory, |piece, here, elsewhere| evidence.again(piece, here, elsewhere));
        Ok(evidence.kept())
    }

    /// Launches where launches were timed, and then has the arguments hold what was captured.
    fn launch(&mut self) -> Result<(), CallError> {
        let done = launch(self.kernel, self.call, self.inputs, &self.left.placement, &mut self.left.memory);
        self.inputs.restore()?;
        done
    }
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
