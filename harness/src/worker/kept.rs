//! Whether a kernel gives what it has kept by the addresses of its arguments, and not what these hold.
//!
//! Its arguments are given other contents where they lay while it was timed, and it is launched there once more. Which
//! elements of its outputs are to be others then is known from a launch on the same contents at addresses that it has never
//! seen, and which of them differ by themselves from one on what was captured.

use plimsoll::kernel::{Kernel, OutputBuffer};
use plimsoll::run::Placement;

use super::alteration::Alteration;
use super::dependence::{Dependence, pieces};
use super::error::CallError;
use super::forked::in_parent;
use super::inputs::Inputs;
use super::outputs::Outputs;
use crate::protocol::CallMessage;

/// How often a kernel has to be found out: what differs from launch to launch by itself can look so once.
const ROUNDS: usize = 3;

/// Outputs, where the timed launches left them.
pub struct TimedOutputs {
    pub placement: Placement,
    pub memory: Vec<u8>,
}

/// A kernel, and where its launches on a call were timed.
pub struct Timed<'a> {
    pub kernel: &'a dyn Kernel,
    pub call: &'a CallMessage,
    pub inputs: &'a mut Inputs,
    pub left: &'a mut TimedOutputs,
}

impl Timed<'_> {
    /// The error of a kernel that gives what it has kept. One that fails on other contents is not accused. `in_place` is one
    /// that has changed its arguments. Inputs elsewhere keep their addresses to the end, so that none is seen twice.
    pub fn kept(&mut self, in_place: bool, outputs: &mut Outputs) -> Result<Option<CallError>, CallError> {
        self.inputs.restore()?;
        let (mut elsewhere, mut found) = (Vec::new(), None);
        for round in 0..ROUNDS {
            if in_place || round > 0 {
                // What it left was not made from what was captured.
                self.launch()?;
            }
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
        let (bytes, mut dependence) = (self.left.placement.bytes, Dependence::default());
        let mut altered = Inputs::private(self.call, None)?;
        altered.alter(self.call, &alteration);
        outputs.elsewhere(bytes, |memory| {
            memory.fill(OutputBuffer::POISON);
            launch(self.kernel, self.call, &altered, &self.left.placement, memory)?;
            for piece in pieces(&self.left.placement) {
                let range = piece.range.clone();
                dependence.altered(&piece, &self.left.memory[range.clone()], &memory[range]);
            }
            Ok(())
        })?;
        altered.restore()?;
        elsewhere.push(altered);
        if dependence.is_none() {
            return Ok(None);
        }
        let mut captured = Inputs::private(self.call, None)?;
        let memory = outputs.of_call(bytes)?;
        memory.fill(OutputBuffer::POISON);
        launch(self.kernel, self.call, &captured, &self.left.placement, memory)?;
        captured.restore()?;
        elsewhere.push(captured);
        for piece in pieces(&self.left.placement) {
            let range = piece.range.clone();
            dependence.elsewhere(&piece, &self.left.memory[range.clone()], &memory[range]);
        }
        self.inputs.alter(self.call, &alteration);
        self.launch()?;
        for piece in pieces(&self.left.placement) {
            let range = piece.range.clone();
            dependence.now(&piece, &memory[range.clone()], &self.left.memory[range]);
        }
        Ok(dependence.kept())
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
