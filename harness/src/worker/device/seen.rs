//! [`Seen`]: a call at its timed addresses, and how the kernel behaves there when launched once more.

use std::time::Duration;

use plimsoll::gpu::{IdleCheck, Ring, Stream, StreamBarrier};
use plimsoll::kernel::OutputBuffer;

use super::kernel::DeviceKernel;
use super::on_device::OnDevice;
use super::outputs::{copy, filled};
use super::resident::{Home, Resident, changed, upload_bytes};
use crate::protocol::CallMessage;
use crate::worker::alteration::Alteration;
use crate::worker::canaries::{Canaries, Left};
use crate::worker::error::CallError;
use crate::worker::evidence::pieces;
use crate::worker::inputs::touching;
use crate::worker::outputs::Outputs;
use crate::worker::trial::{self, Compare, Trial};

/// How long work that does not wait for a held stream has to finish.
const SETTLE: Duration = Duration::from_millis(2);
/// How often a kernel is launched into a held stream: each launch adds the work it leaves to other streams, so that
/// `IdleCheck` sees this part of its tolerance for one launch.
const HELD: f64 = 32.0;
/// The most device time of held launches together, in nanoseconds: long launches are held less often.
const HELD_NS: f64 = 20e6;

/// The timed call.
pub struct Seen<'a> {
    pub kernel: &'a DeviceKernel,
    /// The number of the device.
    pub index: u32,
    pub call: &'a CallMessage,
    pub on: &'a OnDevice,
    /// The stream of the timed launches.
    pub stream: &'a Stream,
    /// The stream of launches elsewhere.
    pub elsewhere: &'a Stream,
    pub idle: &'a IdleCheck,
    pub mean_ns: f64,
}

/// Buffers that the re-launch check uses.
pub struct Resources<'a> {
    pub ring: &'a mut Ring,
    pub resident: &'a mut Resident,
    pub outputs: &'a mut Outputs,
    /// Whether the kernel can be launched into a held stream: a kernel that waits for its stream cannot.
    pub holds: &'a mut bool,
}

/// The findings.
pub struct Judged {
    /// The part of its outputs that the kernel leaves unwritten.
    pub left: Left,
    /// The arguments that the kernel has changed.
    pub mutated: Vec<String>,
    /// The error of a kernel that returns kept results.
    pub kept: Option<CallError>,
}

/// Launches at the timed addresses.
pub type Again<'a> = dyn FnMut() -> Result<(), CallError> + 'a;

impl Seen<'_> {
    /// Checks a kernel that fills outputs. The resident storages of the call may be anywhere afterwards, with any
    /// contents.
    pub fn judged(&self, resources: &mut Resources<'_>, launch: &mut Again<'_>) -> Result<Judged, CallError> {
        let left = self.left(resources, launch)?;
        let mutated = self.mutated(resources.ring)?;
        let kept = if left == Left::Nothing {
            let restored = mutated.is_empty();
            trial::kept(&mut Relaunched { seen: self, resources, launch, restored, step: 0, captured: Vec::new() })?
        } else {
            None
        };
        Ok(Judged { left, mutated, kept })
    }

    /// The arguments that differ from their files.
    pub fn mutated(&self, ring: &mut Ring) -> Result<Vec<String>, CallError> {
        let changed = changed(ring, self.call, &self.on.homes)?;
        Ok(touching(&self.call.params, &self.on.args, &changed))
    }

    /// Launches untimed on buffers that the kernel has seen, with its stream held: work that does not wait for the
    /// stream is done by then, however short, and work that follows the stream elsewhere is late when the stream ends.
    /// Returns the part of its outputs that the kernel leaves unwritten; these are as the timed launches left them
    /// except for a few bytes.
    fn left(&self, resources: &mut Resources<'_>, launch: &mut Again<'_>) -> Result<Left, CallError> {
        let (room, placement) = (&self.on.room, &self.on.placement);
        let mut memory = vec![0; placement.bytes];
        copy(resources.ring, &room.memory, room.at, &mut memory)?;
        let mut canaries = Canaries::of(&mut placement.buffers(&mut memory)?);
        canaries.set(&mut placement.buffers(&mut memory)?);
        upload_bytes(resources.ring, &memory, room, 0)?;
        let mut left = |ring: &mut Ring| {
            copy(ring, &room.memory, room.at, &mut memory)?;
            Ok::<_, CallError>(canaries.left(&mut placement.buffers(&mut memory)?))
        };
        let barrier = if *resources.holds { Some(StreamBarrier::close(self.stream)?) } else { None };
        launch()?;
        let held = || barrier.as_ref().is_some_and(StreamBarrier::holds);
        if held() {
            std::thread::sleep(SETTLE);
            let early = left(resources.ring)? != Left::Everything && room.bytes > 0;
            if early && held() {
                return Err(CallError::Unordered);
            }
            for _ in 1..(HELD_NS / self.mean_ns).clamp(1.0, HELD) as u32 {
                launch()?;
            }
        }
        let checked = self.idle.begin(self.stream)?;
        // A kernel that waits for its stream inside the launch would delay every entry.
        *resources.holds = barrier.is_some_and(StreamBarrier::open);
        if let Some(late) = self.idle.finish(self.stream, checked)? {
            return Err(CallError::Late(late));
        }
        left(resources.ring)
    }

    /// Launches with everything `step` steps from its timed place; returns the places of the outputs.
    fn elsewhere(
        &self,
        resources: &mut Resources<'_>,
        step: u64,
        alteration: Option<&Alteration>,
    ) -> Result<Home, CallError> {
        let homes = resources.resident.place(resources.ring, self.call, &self.on.homes, step)?;
        if let Some(alteration) = alteration {
            alter(resources.ring, alteration, &homes)?;
        }
        let room = self.on.room.moved(step);
        let on = OnDevice::new(self.call, homes, self.on.placement.clone(), room.clone());
        self.elsewhere.fill(&room.memory, room.at, room.bytes, OutputBuffer::POISON)?;
        let bound = on.call(self.call, self.index, self.elsewhere);
        self.kernel.bind(&bound)?.launch()?;
        self.elsewhere.gpu().synchronize()?;
        Ok(room)
    }

    /// Hands each piece to `take`: the contents of `host`, then those of `room`.
    fn each(&self, ring: &mut Ring, room: &Home, host: &[u8], take: &mut Compare<'_>) -> Result<(), CallError> {
        for piece in pieces(&self.on.placement) {
            let (at, bytes) = (room.at + piece.range.start as u64, piece.range.len() as u64);
            ring.download(&room.memory, at, bytes, &mut |_, part| {
                take(&piece, &host[piece.range.clone()], part);
                Ok::<_, CallError>(())
            })?;
        }
        Ok(())
    }
}

/// The [`Trial`] of a kernel on a device. Launches elsewhere find their arguments and outputs some bytes further on in
/// the same memory.
struct Relaunched<'r, 's, 'm> {
    seen: &'r Seen<'s>,
    resources: &'r mut Resources<'m>,
    launch: &'r mut Again<'r>,
    /// Whether the storages here hold the captured contents.
    restored: bool,
    /// How many steps from its timed place the last launch was.
    step: u64,
    /// The results of captured contents elsewhere.
    captured: Vec<u8>,
}

impl Relaunched<'_, '_, '_> {
    /// Restores the captured contents here.
    fn restore(&mut self) -> Result<(), CallError> {
        self.resources.resident.place(self.resources.ring, self.seen.call, &self.seen.on.homes, 0)?;
        Ok(())
    }

    /// Launches at the timed addresses.
    fn here(&mut self) -> Result<(), CallError> {
        self.restored = false;
        (self.launch)()?;
        Ok(self.seen.stream.synchronize()?)
    }

    /// Launches at addresses new to the kernel; returns the places of the outputs.
    fn elsewhere(&mut self, alteration: Option<&Alteration>) -> Result<Home, CallError> {
        self.step += 1;
        self.seen.elsewhere(self.resources, self.step, alteration)
    }
}

impl Trial for Relaunched<'_, '_, '_> {
    fn call(&self) -> &CallMessage {
        self.seen.call
    }

    fn altered_here(&mut self, alteration: &Alteration) -> Result<(), CallError> {
        if !self.restored {
            self.restore()?;
        }
        let on = self.seen.on;
        alter(self.resources.ring, alteration, &on.homes)?;
        self.here()?;
        filled(self.resources.ring, &on.room, &on.placement, 0, self.resources.outputs)?;
        Ok(())
    }

    fn altered_elsewhere(&mut self, alteration: &Alteration, compare: &mut Compare<'_>) -> Result<(), CallError> {
        let room = self.elsewhere(Some(alteration))?;
        let here = self.resources.outputs.of_call(self.seen.on.placement.bytes)?;
        self.seen.each(self.resources.ring, &room, here, compare)
    }

    fn captured_elsewhere(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        let (room, placement) = (self.elsewhere(None)?, &self.seen.on.placement);
        self.captured = vec![0; placement.bytes];
        copy(self.resources.ring, &room.memory, room.at, &mut self.captured)?;
        let altered = self.resources.outputs.of_call(placement.bytes)?;
        for piece in pieces(placement) {
            compare(&piece, &altered[piece.range.clone()], &self.captured[piece.range.clone()]);
        }
        Ok(())
    }

    fn captured_here(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError> {
        self.restore()?;
        self.here()?;
        let take: &mut Compare<'_> = &mut |piece, elsewhere, here| compare(piece, here, elsewhere);
        self.seen.each(self.resources.ring, &self.seen.on.room, &self.captured, take)
    }
}

fn alter(ring: &mut Ring, alteration: &Alteration, homes: &[Option<Home>]) -> Result<(), CallError> {
    for altered in alteration.iter() {
        if let Some(Some(home)) = homes.get(altered.storage) {
            upload_bytes(ring, &altered.bytes, home, altered.at)?;
        }
    }
    Ok(())
}
