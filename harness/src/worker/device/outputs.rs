//! Copies a launch's outputs from the device to the shared memory.

use plimsoll::ByteSize;
use plimsoll::gpu::{DeviceMemory, Ring, Stream};
use plimsoll::kernel::{DeviceRange, Elements, Given};
use plimsoll::run::{Output, Placement};

use super::resident::Home;
use crate::worker::error::CallError;
use crate::worker::outputs::Outputs;

/// The results of an operator.
pub struct Brought {
    pub leaves: Vec<Output>,
    /// The bytes of all tensors.
    pub bytes: ByteSize,
    /// The bytes on the device that are not part of an argument.
    pub fresh: ByteSize,
}

/// Copies the outputs that a kernel has filled to byte `start` and after, so that it cannot change them later.
pub fn filled(
    ring: &mut Ring,
    room: &Home,
    placement: &Placement,
    start: usize,
    outputs: &mut Outputs,
) -> Result<Vec<Output>, CallError> {
    copy(ring, &room.memory, room.at, &mut outputs.of_call(start + placement.bytes)?[start..])?;
    Ok(placement.clone().outputs_from(start))
}

/// Copies outputs that an operator has allocated itself to byte `start` and after; `arguments` are the places of its
/// arguments.
pub fn given(
    ring: &mut Ring,
    stream: &Stream,
    arguments: &[DeviceRange],
    given: Vec<Given<'_>>,
    start: usize,
    outputs: &mut Outputs,
) -> Result<Brought, CallError> {
    // Results that were not contiguous have been copied in the stream.
    stream.synchronize()?;
    let mut fresh = 0;
    let (leaves, bytes) = outputs.keep_from(start, given, &mut |elements, place| match elements {
        Elements::Host(bytes) => {
            place.copy_from_slice(bytes);
            Ok(())
        }
        Elements::Device(range) => {
            let within = |argument: &DeviceRange| {
                argument.address <= range.address && range.address - argument.address < argument.bytes
            };
            if !arguments.iter().any(within) {
                fresh += range.bytes;
            }
            // SAFETY: the operator keeps its results until it is launched again.
            let memory = unsafe { DeviceMemory::lent(stream.gpu(), range) };
            copy(ring, &memory, 0, place)
        }
    })?;
    Ok(Brought { leaves, bytes: ByteSize::new(bytes as u64), fresh: ByteSize::new(fresh) })
}

/// Copies as many bytes of `memory` from `at` on as `place` has.
pub fn copy(ring: &mut Ring, memory: &DeviceMemory, at: u64, place: &mut [u8]) -> Result<(), CallError> {
    ring.download(memory, at, place.len() as u64, &mut |offset, part| {
        place[offset as usize..offset as usize + part.len()].copy_from_slice(part);
        Ok(())
    })
}
