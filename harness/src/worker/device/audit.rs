//! [`DeviceAudited`]: regions of launches on a device, each on values that the supervisor drew.
//!
//! A launch lasts from one event in its stream to the next, or as long as the host is in it if that is longer: the stream
//! is held until the launch has returned, so that the device does not wait for the host in between, as it does not if
//! launches follow each other. Values are put in before the first event, and outputs copied after the second, when all
//! work on the device has ended.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use plimsoll::gpu::{CudaClock, EarlyCopy, GpuError, Ring, Stream, StreamBarrier};
use plimsoll::run::{OUTPUT_ALIGNMENT, Output};
use plimsoll::timing::Clock as _;

use super::kernel::DeviceLaunch;
use super::launch::{DeviceLaunches, opened};
use super::on_device::OnDevice;
use super::outputs::{copy, filled, given};
use super::resident::{Home, Resident, changed, open, upload_bytes};
use crate::protocol::{ByteRange, CallMessage};
use crate::worker::audit::{Asked, Given, Times, Values, bytes_at, parts, size_of_all};
use crate::worker::error::CallError;
use crate::worker::inputs::touching;
use crate::worker::outputs::Outputs;

/// The fewest launches of a region that show whether a kernel works on other streams.
const LEAST_LAUNCHES: usize = 3;

/// A call that is resident on the device, to be launched in regions.
pub struct DeviceAudited {
    call: CallMessage,
    on: OnDevice,
    touched: BTreeSet<ByteRange>,
    /// Storages whose contents were changed by the end of the launches.
    changed: Vec<bool>,
}

/// What launches are timed and watched with.
struct Watched<'a> {
    ring: &'a mut Ring,
    stream: &'a Stream,
    clock: CudaClock<'a>,
    early: EarlyCopy,
    /// Where to look at an output, which a kernel cannot foresee.
    chance: RandomState,
    /// Whether the kernel can be launched into a held stream.
    holds: &'a mut bool,
    /// How long the device continued after each launch after which it did.
    late: Vec<Duration>,
}

impl<'a> Watched<'a> {
    fn new(ring: &'a mut Ring, stream: &'a Stream, holds: &'a mut bool) -> Result<Self, GpuError> {
        let (clock, early) = (CudaClock::new(stream)?, EarlyCopy::new(stream.gpu())?);
        Ok(Self { ring, stream, clock, early, chance: RandomState::new(), holds, late: Vec::new() })
    }

    /// Puts the values of a launch, one after the other in `bytes`, into its arguments.
    fn put<'h>(
        &mut self,
        places: &[ByteRange],
        bytes: &[u8],
        home: impl Fn(usize) -> Option<&'h Home>,
    ) -> Result<(), CallError> {
        for ((storage, at, _), now) in places.iter().zip(parts(places, bytes)) {
            if let Some(home) = home(*storage) {
                upload_bytes(self.ring, now, home, *at)?;
            }
        }
        Ok(())
    }

    /// Fills the outputs' memory, and times a launch until the device has nothing left to do; `round` is its number.
    fn timed(
        &mut self,
        room: &Home,
        fill: u8,
        round: usize,
        launch: &mut dyn FnMut() -> Result<(), CallError>,
    ) -> Result<u64, CallError> {
        self.stream.fill(&room.memory, room.at, room.bytes, fill)?;
        self.clock.start(2)?;
        let barrier = if *self.holds { Some(StreamBarrier::close(self.stream)?) } else { None };
        self.clock.mark();
        let begun = Instant::now();
        let launched = launch();
        let mut on_host = begun.elapsed();
        self.clock.mark();
        let (at, bytes) = self.seen(room, round);
        let taken = self.early.take(self.stream, &room.memory, at, bytes);
        if barrier.is_some_and(|barrier| !barrier.open()) {
            // It has waited for its stream, and so for the barrier. Without one, the host's time is between the marks.
            (*self.holds, on_host) = (false, Duration::ZERO);
        }
        let times = self.clock.times();
        // A fault on the device says more than the kernel's own error.
        self.stream.gpu().synchronize()?;
        launched?;
        taken?;
        let late = self.clock.late();
        self.late.extend(late);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let on_device = times?.first().map_or(0, |ns| ns.max(0.0) as u64);
        Ok(on_device.max(nanoseconds(on_host)).saturating_add(late.map_or(0, nanoseconds)))
    }

    /// Fails if the device continued after nearly every one of the launches: programs that share the device have their
    /// turn after some of them only.
    fn ended(&self, launches: usize) -> Result<(), CallError> {
        let most = launches >= LEAST_LAUNCHES && 4 * self.late.len() >= 3 * launches;
        self.late.iter().max().filter(|_| most).map_or(Ok(()), |late| Err(CallError::Late(*late)))
    }

    /// Whether the output is as it was when the launch's stream had ended.
    fn holds(&mut self, room: &Home, round: usize) -> Result<bool, CallError> {
        let (at, bytes) = self.seen(room, round);
        let mut now = vec![0; bytes as usize];
        copy(self.ring, &room.memory, at, &mut now)?;
        Ok(self.early.taken(self.stream)?[..now.len()] == now[..])
    }

    /// The part of the outputs' memory that is looked at.
    fn seen(&self, room: &Home, round: usize) -> (u64, u64) {
        let bytes = room.bytes.min(EarlyCopy::BYTES);
        (room.at + self.chance.hash_one(round) % (room.bytes - bytes + 1), bytes)
    }
}

impl DeviceLaunches {
    /// Makes a call resident.
    ///
    /// # Errors
    /// A file cannot be read, or the device has no memory for it.
    pub fn audited(&mut self, call: CallMessage) -> Result<DeviceAudited, CallError> {
        self.gpu.make_current()?;
        self.drop_caches();
        let on = self.on_device(&call, &mut Resident::default())?;
        let changed = vec![false; call.storages.len()];
        Ok(DeviceAudited { call, on, touched: BTreeSet::new(), changed })
    }

    /// Launches as often as requested.
    ///
    /// # Errors
    /// The launch failed, or there is no memory for outputs.
    pub fn region(
        &mut self,
        audited: &mut DeviceAudited,
        asked: &Asked<'_>,
        values: &mut Values,
        outputs: &mut Outputs,
    ) -> Result<Given, CallError> {
        audited.touched.extend(asked.launches.iter().flatten());
        let DeviceAudited { call, on, changed, .. } = audited;
        self.gpu.make_current()?;
        let bound = on.call(call, self.index, &self.stream);
        let mut watched = Watched::new(&mut self.ring, &self.stream, &mut self.holds)?;
        let size = on.placement.bytes.next_multiple_of(OUTPUT_ALIGNMENT);
        // The first write to a page of shared memory takes longer than a launch may.
        outputs.of_call(size * if asked.asks { 2 } else { asked.launches.len() })?.fill(asked.fill);
        let (mut durations, mut kept, mut end) = (Vec::with_capacity(asked.launches.len()), Vec::new(), 0);
        for (round, places) in asked.launches.iter().enumerate() {
            let fresh = values.next(size_of_all(places))?;
            watched.put(places, fresh, |storage| on.homes.get(storage)?.as_ref())?;
            let mut launch = self.kernel.bind(&bound)?;
            durations.push(watched.timed(&on.room, asked.fill, round, &mut || Ok(launch.launch()?))?);
            if values.keeps(asked.asks)? {
                let (mut leaves, after) = match &mut launch {
                    DeviceLaunch::Filled(_) => {
                        (filled(watched.ring, &on.room, &on.placement, end, outputs)?, end + size)
                    }
                    DeviceLaunch::Given(evaluation) => {
                        let results = evaluation.given()?;
                        let brought = given(watched.ring, watched.stream, &on.ranges, results, end, outputs)?;
                        (brought.leaves, (end + brought.bytes.bytes() as usize).next_multiple_of(OUTPUT_ALIGNMENT))
                    }
                };
                (end, leaves) = contents(watched.ring, &on.homes, asked.contents, after, outputs, leaves)?;
                kept.push(leaves);
            }
            if !watched.holds(&on.room, round)? {
                return Err(CallError::WritesOn);
            }
        }
        watched.ended(asked.launches.len())?;
        // A kernel that writes to its arguments leaves the last values changed.
        let last = asked.launches.last().map_or(&[][..], Vec::as_slice);
        let fresh = values.first(size_of_all(last))?;
        for ((storage, at, bytes), put) in last.iter().zip(parts(last, fresh)) {
            let Some(Some(home)) = on.homes.get(*storage) else { continue };
            let mut now = vec![0; *bytes as usize];
            copy(watched.ring, &home.memory, home.at + at, &mut now)?;
            changed[*storage] |= now != put;
        }
        Ok((Times::of_device(durations), kept))
    }

    /// Restores the captured values, and returns the names of the arguments that the kernel has changed.
    ///
    /// # Errors
    /// A file cannot be read, or the device failed.
    pub fn settle(&mut self, audited: &DeviceAudited) -> Result<Vec<String>, CallError> {
        let DeviceAudited { call, on, touched, changed: left } = audited;
        for (storage, at, bytes) in touched {
            let (Some(range), Some(Some(home))) = (call.storages.get(*storage), on.homes.get(*storage)) else {
                continue;
            };
            let mut captured = vec![0; *bytes as usize];
            let read = open(range)?.read_exact_at(&mut captured, range.offset + at);
            read.map_err(|source| CallError::unreadable(&range.path, source))?;
            upload_bytes(&mut self.ring, &captured, home, *at)?;
        }
        let mut now = changed(&mut self.ring, call, &on.homes)?;
        now.iter_mut().zip(left).for_each(|(now, left)| *now |= *left);
        Ok(touching(&call.params, &on.args, &now))
    }
}

/// Keeps the contents of arguments after `leaves`, from byte `end` of the shared memory on; returns their end first.
fn contents(
    ring: &mut Ring,
    homes: &[Option<Home>],
    places: &[ByteRange],
    mut end: usize,
    outputs: &mut Outputs,
    mut leaves: Vec<Output>,
) -> Result<(usize, Vec<Output>), CallError> {
    for (storage, at, bytes) in places {
        let Some(Some(home)) = homes.get(*storage) else { continue };
        let size = *bytes as usize;
        copy(ring, &home.memory, home.at + at, &mut outputs.of_call(end + size)?[end..])?;
        leaves.push(bytes_at(end, size));
        end = (end + size).next_multiple_of(OUTPUT_ALIGNMENT);
    }
    Ok((end, leaves))
}

/// A device before any kernel is loaded, on which launches that do nothing are timed.
pub struct IdleDevice {
    ring: Ring,
    stream: Stream,
}

impl IdleDevice {
    /// Opens the device of this number.
    ///
    /// # Errors
    /// The device cannot be used.
    pub fn open(index: u32, small_context: bool) -> Result<Self, GpuError> {
        let gpu = opened(index, small_context)?;
        Ok(Self { ring: Ring::usual(&gpu)?, stream: Stream::default_of(&gpu) })
    }

    /// A region of such launches: the time is the worker's own.
    ///
    /// # Errors
    /// The device failed, or there is no memory for outputs.
    pub fn region(
        &mut self,
        launches: &[Vec<ByteRange>],
        values: &mut Values,
        outputs: &mut Outputs,
    ) -> Result<Given, CallError> {
        let Self { ring, stream } = self;
        let bytes = launches.iter().flatten().map(|(_, at, bytes)| at + bytes).max().unwrap_or(0);
        let home = || Ok::<_, GpuError>(Home { memory: Rc::new(stream.gpu().allocate(bytes)?), at: 0, bytes });
        let (argument, room, from) = (home()?, home()?, vec![1; bytes as usize]);
        let mut holds = true;
        let mut watched = Watched::new(ring, stream, &mut holds)?;
        let size = (bytes as usize).next_multiple_of(OUTPUT_ALIGNMENT);
        outputs.of_call(size * launches.len())?.fill(0xff);
        let (mut durations, mut leaves) = (Vec::new(), Vec::new());
        for (round, places) in launches.iter().enumerate() {
            values.next(0)?;
            watched.put(places, &from[..size_of_all(places).min(from.len())], |_| Some(&argument))?;
            durations.push(watched.timed(&room, 0xff, round, &mut || Ok(()))?);
            let at = round * size;
            copy(watched.ring, &room.memory, room.at, &mut outputs.of_call(at + bytes as usize)?[at..])?;
            leaves.push(vec![bytes_at(at, bytes as usize)]);
            watched.holds(&room, round)?;
        }
        Ok((Times::of_device(durations), leaves))
    }
}
