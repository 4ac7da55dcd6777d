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

/// The parts of outputs that are digested, at the most, and the bytes that each has at the least.
const PARTS: usize = 1 << 12;
const PART: usize = 16;
/// How often a kernel has to give the same that stopped following its arguments.
const AGAIN: usize = 8;
/// How often a kernel has to be found out: what differs from launch to launch by itself can look so once.
const ROUNDS: u64 = 3;

/// The error that a kernel is found out with in every round.
pub fn in_each_round(
    mut round: impl FnMut(u64) -> Result<Option<CallError>, CallError>,
) -> Result<Option<CallError>, CallError> {
    let mut found = None;
    for number in 0..ROUNDS {
        found = unless_refused(round(number))?;
        if found.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Nothing where the kernel fails: it was not made for other contents.
fn unless_refused<T>(found: Result<Option<T>, CallError>) -> Result<Option<T>, CallError> {
    match found {
        Err(CallError::Kernel(_)) => Ok(None),
        other => other,
    }
}

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

/// What a kernel gave before it was timed, digested part by part.
pub struct Before {
    alteration: Alteration,
    /// Of other contents.
    altered: Vec<u8>,
    /// Of those that were captured.
    captured: Vec<u8>,
    /// What it was given. Its addresses are given to nothing else, so that none is seen twice.
    _inputs: Vec<Inputs>,
}

impl Before {
    /// Launches at addresses that are not those to be timed; nothing where the kernel fails, or there is nothing to alter. The
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
        Ok(Self { alteration, altered, captured, _inputs: inputs })
    }
}

/// A checksum of each part of outputs.
fn digests(placement: &Placement, memory: &[u8]) -> Vec<u8> {
    let part = placement.bytes.div_ceil(PARTS).max(PART);
    let outputs = placement.outputs.iter().map(|placed| &memory[placed.offset..placed.offset + placed.bytes]);
    outputs.flat_map(|bytes| bytes.chunks(part)).flat_map(|part| crc32fast::hash(part).to_ne_bytes()).collect()
}

/// A kernel, and where its launches on a call were timed.
pub struct Timed<'a> {
    pub kernel: &'a dyn Kernel,
    pub call: &'a CallMessage,
    pub inputs: &'a mut Inputs,
    pub left: &'a mut TimedOutputs,
    pub before: Option<&'a Before>,
}

impl Timed<'_> {
    /// The error of a kernel that gives what it has kept. One that fails on other contents is not accused. Inputs elsewhere keep
    /// their addresses to the end, so that none is seen twice.
    pub fn kept(&mut self, outputs: &mut Outputs) -> Result<Option<CallError>, CallError> {
        let mut elsewhere = Vec::new();
        self.inputs.restore()?;
        match self.before.map(|before| self.follows(before)) {
            // As it gave before it was timed: so does every honest kernel that is deterministic.
            Some(Ok(true)) | Some(Err(CallError::Kernel(_))) => return Ok(None),
            Some(Err(error)) => return Err(error),
            Some(Ok(false)) | None => {}
        }
        let found = in_each_round(|_| self.round(&mut elsewhere, outputs))?;
        match (found, self.before) {
            (None, Some(before)) => unless_refused(self.stopped(before)),
            (found, _) => Ok(found),
        }
    }

    /// Whether the kernel gives of other contents what it gave before it was timed.
    fn follows(&mut self, before: &Before) -> Result<bool, CallError> {
        Ok(self.altered(before)? == before.altered)
    }

    fn altered(&mut self, before: &Before) -> Result<Vec<u8>, CallError> {
        self.inputs.alter(self.call, &before.alteration);
        self.launch()?;
        Ok(digests(&self.left.placement, &self.left.memory))
    }

    /// The error of a kernel that followed its arguments before it was timed, and no longer does, wherever they lie.
    fn stopped(&mut self, before: &Before) -> Result<Option<CallError>, CallError> {
        for _ in 0..AGAIN {
            let altered = self.altered(before)?;
            self.launch()?;
            let captured = digests(&self.left.placement, &self.left.memory);
            let all = Piece { first: 0, size: size_of::<u32>(), range: 0..altered.len() };
            let mut evidence = Evidence::default();
            evidence.altered(&all, &altered, &before.altered);
            evidence.captured(&all, &altered, &before.captured);
            evidence.again(&all, &captured, &before.captured);
            if evidence.kept().is_none() {
                return Ok(None);
            }
        }
        Ok(Some(CallError::Stopped))
    }

    fn round(&mut self, elsewhere: &mut Vec<Inputs>, outputs: &mut Outputs) -> Result<Option<CallError>, CallError> {
        let alteration = Alteration::of(self.call)?;
        if alteration.is_empty() {
            return Ok(None);
        }
        self.inputs.alter(self.call, &alteration);
        self.launch()?;
        let (placement, mut evidence) = (&self.left.placement, Evidence::default());
        outputs.elsewhere(placement.bytes, |memory| {
            elsewhere.push(launch_elsewhere(self.kernel, self.call, Some(&alteration), placement, memory)?);
            self.left.each_beside(memory, |piece, here, elsewhere| evidence.altered(piece, here, elsewhere));
            Ok(())
        })?;
        if evidence.is_none() {
            return Ok(None);
        }
        let memory = outputs.of_call(placement.bytes)?;
        elsewhere.push(launch_elsewhere(self.kernel, self.call, None, placement, memory)?);
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
