//! [`Audited`]: regions of launches, each on values that the supervisor drew, its output copied when it returned.
//!
//! Only the launch is timed. Values are put in before it and copied after it between two launches, as in a program with
//! other work there, which keeps arguments and output as close to the processor as the plain protocols do.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, IoSlice, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use memmap2::Mmap;
use plimsoll::capture::{Dtype, TensorSpec};
use plimsoll::kernel::{Call, Elements, Kernel, KernelError, Operator, OutputBuffer};
use plimsoll::run::{OUTPUT_ALIGNMENT, Output, OutputValue, Placed, Placement};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::error::CallError;
use super::forked::in_parent;
use super::inputs::{Inputs, touching};
use super::launch::Loaded;
use super::outputs::Outputs;
use crate::protocol::{ByteRange, CallMessage, monotonic_ns};

/// The shared memory of values, and the socket over which those of the next launch are asked for.
pub struct Values {
    file: Option<File>,
    turns: Option<UnixStream>,
    map: Option<Mmap>,
}

impl Values {
    /// Opens the descriptors that the supervisor passed in.
    pub fn new(file: Option<File>, turns: Option<UnixStream>) -> Self {
        Self { file, turns, map: None }
    }

    /// Asks the supervisor for what comes next, and waits for its answer.
    fn turn(&mut self) -> Result<u8, CallError> {
        let mut answer = [1];
        if let Some(turns) = &mut self.turns {
            let asked = turns.write_all(&[0]).and_then(|()| soon(turns, &mut answer));
            asked.map_err(|source| CallError::Outputs { bytes: 0, source })?;
        }
        Ok(answer[0])
    }

    /// The file with the values of the next launch, once the supervisor has put them there.
    fn due(&mut self) -> Result<&File, CallError> {
        self.turn()?;
        self.file.as_ref().ok_or_else(|| CallError::Outputs { bytes: 0, source: io::ErrorKind::NotFound.into() })
    }

    /// The values of the next launch, once the supervisor has put them there.
    pub fn next(&mut self, bytes: usize) -> Result<&[u8], CallError> {
        self.turn()?;
        self.first(bytes)
    }

    /// Whether the output of the launch that has returned is kept.
    pub fn keeps(&mut self, asks: bool) -> Result<bool, CallError> {
        Ok(!asks || self.turn()? != 0)
    }

    /// The first `bytes` bytes.
    pub fn first(&mut self, bytes: usize) -> Result<&[u8], CallError> {
        let failed = |source| CallError::Outputs { bytes, source };
        if self.map.as_ref().is_none_or(|map| map.len() < bytes) && bytes > 0 {
            let file = self.file.as_ref().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
            // SAFETY: the supervisor writes it only while this process waits for it, and seals it against shrinking.
            self.map = Some(unsafe { Mmap::map(file) }.map_err(failed)?);
        }
        let map = self.map.as_deref().unwrap_or_default();
        map.get(..bytes).ok_or_else(|| failed(io::ErrorKind::UnexpectedEof.into()))
    }
}

/// For how long a worker looks for an answer before it sleeps: a processor that has slept is slower at first, and wakes up
/// slowly.
const AWAKE: Duration = Duration::from_micros(200);

/// Reads an answer that comes soon. Who else has something to run on this processor goes first.
fn soon(turns: &mut UnixStream, answer: &mut [u8]) -> io::Result<()> {
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        match rustix::net::recv(&*turns, &mut *answer, RecvFlags::DONTWAIT) {
            Ok((_, read)) if read == answer.len() => return Ok(()),
            Err(Errno::WOULDBLOCK) => rustix::thread::sched_yield(),
            // What it means is for the read below to say.
            _ => break,
        }
    }
    turns.read_exact(answer)
}

/// How many words of an output are copied when its launch returns, and again when all of it was copied.
const MARKS: usize = 64;
const WORD: usize = 8;
/// The most time that copying them may take, in nanoseconds.
const NOTING_NS: u64 = 20_000;
/// Where the marks are, twice, and the outputs after them.
const MARKED: usize = MARKS * WORD;
const KEPT: usize = 2 * MARKED;

/// Words of an output at places that a kernel cannot foresee.
struct Marks(RandomState);

impl Marks {
    fn new() -> Self {
        Self(RandomState::new())
    }

    /// Copies those of the output of a launch to byte `at`.
    fn note(&self, launch: usize, memory: &[u8], outputs: &Outputs, at: usize) -> Result<(), CallError> {
        let words = memory.len() / WORD;
        let place = |mark| self.0.hash_one((launch, mark)) as usize % words.max(1) * WORD;
        let parts: Vec<IoSlice<'_>> =
            (0..MARKS.min(words)).map(|mark| IoSlice::new(&memory[place(mark)..][..WORD])).collect();
        outputs.put(at, &parts)
    }

    /// Whether they are the same after the output was copied.
    fn hold(&self, launch: usize, memory: &[u8], outputs: &mut Outputs) -> Result<bool, CallError> {
        self.note(launch, memory, outputs, MARKED)?;
        let marks = outputs.of_call(KEPT)?;
        Ok(marks[..MARKED] == marks[MARKED..])
    }
}

/// A region as the supervisor requests it.
pub struct Asked<'a> {
    pub launches: &'a [Vec<ByteRange>],
    pub asks: bool,
    pub contents: &'a [ByteRange],
    pub fill: u8,
}

/// A call that is resident, to be launched in regions.
pub struct Audited {
    call: CallMessage,
    inputs: Inputs,
    /// The output of a kernel that is given its memory: the same for every launch.
    memory: Vec<u8>,
    touched: BTreeSet<ByteRange>,
    /// Storages whose contents were changed by the end of the launches.
    changed: Vec<bool>,
}

/// The bytes of all values of a launch.
pub fn size_of_all(places: &[ByteRange]) -> usize {
    places.iter().map(|(_, _, bytes)| *bytes as usize).sum()
}

/// The values of each place, which follow each other in `bytes`.
pub fn parts<'v>(places: &[ByteRange], mut bytes: &'v [u8]) -> impl Iterator<Item = &'v [u8]> {
    places.iter().map(move |(_, _, size)| {
        let (now, rest) = bytes.split_at(*size as usize);
        bytes = rest;
        now
    })
}

/// The times of launches.
#[derive(Default)]
pub struct Times {
    /// When each began, by the clock that the supervisor reads as well.
    pub starts_ns: Vec<u64>,
    pub durations_ns: Vec<u64>,
}

impl Times {
    /// Times that a device has measured, by a clock of its own.
    pub fn of_device(durations_ns: Vec<u64>) -> Self {
        Self { starts_ns: Vec::new(), durations_ns }
    }

    /// A launch that began and ended at these times.
    fn add(&mut self, start: u64, end: u64) {
        self.starts_ns.push(start);
        self.durations_ns.push(end.saturating_sub(start));
    }

    /// Adds what happened from the end of the last launch until now to its time, if it was more than looking at its output
    /// takes: whatever ran then was the kernel's, such as a signal handler.
    fn noted(&mut self) {
        if let (Some(start), Some(duration)) = (self.starts_ns.last(), self.durations_ns.last_mut()) {
            *duration += monotonic_ns().saturating_sub(start + *duration).saturating_sub(NOTING_NS);
        }
    }
}

/// The times of launches, and the kept outputs.
pub type Given = (Times, Vec<Vec<Output>>);

impl Audited {
    /// # Errors
    /// A file cannot be mapped.
    pub fn of(call: CallMessage) -> Result<Self, CallError> {
        let inputs = Inputs::private(&call, None)?;
        let changed = vec![false; call.storages.len()];
        Ok(Self { call, inputs, memory: Vec::new(), touched: BTreeSet::new(), changed })
    }

    /// Launches as often as requested.
    ///
    /// # Errors
    /// The launch failed, or there is no memory for outputs.
    pub fn region(
        &mut self,
        kernel: &Loaded,
        asked: &Asked<'_>,
        values: &mut Values,
        outputs: &mut Outputs,
    ) -> Result<Given, CallError> {
        self.touched.extend(asked.launches.iter().flatten());
        let Self { call, inputs, memory, changed, .. } = self;
        let put = |values: &mut Values, places: &[ByteRange]| -> Result<(), CallError> {
            let mut from = 0;
            let file = values.due()?;
            for (storage, at, bytes) in places {
                if let Some(range) = call.storages.get(*storage) {
                    inputs.put(range, *at, (file, from), *bytes)?;
                }
                from += bytes;
            }
            Ok(())
        };
        let given = inputs.with(call, |bound| match kernel {
            Loaded::Own(kernel) | Loaded::Foreign(kernel) => {
                filled(kernel.as_ref(), bound, asked, memory, (values, &put), outputs)
            }
            Loaded::Operator(operator) => given(operator.as_ref(), bound, asked, (values, &put), outputs),
        })?;
        // A kernel that writes to its arguments leaves the last values changed.
        let last = asked.launches.last().map_or(&[][..], Vec::as_slice);
        let fresh = values.first(size_of_all(last))?;
        for ((storage, from, _), put) in last.iter().zip(parts(last, fresh)) {
            let holds = call.storages.get(*storage).is_none_or(|range| inputs.holds(range, *from, put));
            if let Some(changed) = changed.get_mut(*storage) {
                *changed |= !holds;
            }
        }
        Ok(given)
    }

    /// Restores the captured values, and returns the names of the arguments that the kernel has changed.
    ///
    /// # Errors
    /// A file cannot be read, or the kernel has written beside its arguments.
    pub fn settle(&mut self) -> Result<Vec<String>, CallError> {
        for (storage, at, bytes) in std::mem::take(&mut self.touched) {
            if let Some(range) = self.call.storages.get(storage) {
                self.inputs.put_back(range, at..at.saturating_add(bytes))?;
            }
        }
        let mut mutated = self.inputs.mutated(&self.call)?;
        mutated.extend(touching(&self.call.params, &self.call.args, &self.changed));
        mutated.sort_unstable();
        mutated.dedup();
        Ok(mutated)
    }
}

/// Puts the values of a launch into the arguments.
type Putting<'p> = dyn Fn(&mut Values, &[ByteRange]) -> Result<(), CallError> + 'p;

/// Keeps the contents of arguments from byte `end` of the shared memory on; returns their places, and their end.
fn contents(
    bound: &Call<'_>,
    places: &[ByteRange],
    mut end: usize,
    outputs: &Outputs,
) -> Result<(Vec<Output>, usize), CallError> {
    let mut kept = Vec::new();
    for (storage, at, bytes) in places {
        let range = *at as usize..at.saturating_add(*bytes) as usize;
        let held = bound.storages.get(*storage).and_then(|storage| storage.get(range)).unwrap_or_default();
        outputs.put(end, &[IoSlice::new(held)])?;
        kept.push(bytes_at(end, held.len()));
        end = (end + held.len()).next_multiple_of(OUTPUT_ALIGNMENT);
    }
    Ok((kept, end))
}

/// Bytes of the shared memory, as an output.
pub fn bytes_at(offset: usize, bytes: usize) -> Output {
    let spec = TensorSpec { dtype: Dtype::U8, shape: vec![bytes as u64] };
    Output {
        path: String::new(),
        value: OutputValue::Tensor(Placed { spec, offset, bytes, crc32: None, tolerances: None }),
    }
}

/// Launches of a kernel that fills the given memory.
fn filled(
    kernel: &dyn Kernel,
    bound: &Call<'_>,
    asked: &Asked<'_>,
    memory: &mut Vec<u8>,
    (values, put): (&mut Values, &Putting<'_>),
    outputs: &mut Outputs,
) -> Result<Given, CallError> {
    let placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
    memory.resize(placement.bytes, 0);
    let room = placement.bytes.next_multiple_of(OUTPUT_ALIGNMENT);
    // The first write to a page of shared memory takes longer than a launch may.
    let rooms = if asked.asks { 2 } else { asked.launches.len() };
    outputs.of_call(KEPT + room * rooms)?.fill(asked.fill);
    let (mut times, mut kept, mut end) = (Times::default(), Vec::new(), KEPT);
    let marks = Marks::new();
    for (index, places) in asked.launches.iter().enumerate() {
        // Before the values are there: a write to memory that a kernel has protected runs its handler.
        memory.fill(asked.fill);
        put(values, places)?;
        let mut buffers: Vec<OutputBuffer<'_>> = placement.buffers(memory)?;
        let mut launch = kernel.bind(bound, &mut buffers)?;
        let start = monotonic_ns();
        let done = in_parent(&mut launch);
        times.add(start, monotonic_ns());
        done?;
        drop(launch);
        drop(buffers);
        marks.note(index, memory, outputs, 0)?;
        times.noted();
        if values.keeps(asked.asks)? {
            outputs.put(end, &[IoSlice::new(memory)])?;
            let mut leaves = placement.outputs_from(end);
            let (held, after) = contents(bound, asked.contents, end + room, outputs)?;
            leaves.extend(held);
            kept.push(leaves);
            end = after;
        }
        if !marks.hold(index, memory, outputs)? {
            return Err(CallError::WritesOn);
        }
    }
    Ok((times, kept))
}

/// Launches of an operator, which allocates its results.
fn given(
    operator: &dyn Operator,
    bound: &Call<'_>,
    asked: &Asked<'_>,
    (values, put): (&mut Values, &Putting<'_>),
    outputs: &mut Outputs,
) -> Result<Given, CallError> {
    let (mut times, mut kept, mut end) = (Times::default(), Vec::new(), KEPT);
    for places in asked.launches {
        put(values, places)?;
        let mut evaluation = operator.bind(bound)?;
        let start = monotonic_ns();
        let done = in_parent(|| evaluation.launch());
        times.add(start, monotonic_ns());
        done?;
        if values.keeps(asked.asks)? {
            let (mut leaves, bytes) =
                outputs.keep_from(end, evaluation.given()?, &mut |elements, place| match elements {
                    Elements::Host(bytes) => {
                        place.copy_from_slice(bytes);
                        Ok(())
                    }
                    Elements::Device(_) => {
                        let message = "it returned a tensor on a device".to_owned();
                        Err(KernelError::Exception { message }.into())
                    }
                })?;
            let after = (end + bytes).next_multiple_of(OUTPUT_ALIGNMENT);
            let (held, after) = contents(bound, asked.contents, after, outputs)?;
            leaves.extend(held);
            kept.push(leaves);
            end = after;
        }
    }
    Ok((times, kept))
}

/// A region of launches that do nothing, timed before any kernel is loaded: the time is the worker's own.
///
/// # Errors
/// There is no memory for outputs.
pub fn idle(launches: &[Vec<ByteRange>], values: &mut Values, outputs: &mut Outputs) -> Result<Given, CallError> {
    let bytes = launches.iter().flatten().map(|(_, at, bytes)| (at + bytes) as usize).max().unwrap_or(0);
    let room = bytes.next_multiple_of(OUTPUT_ALIGNMENT);
    let (mut argument, mut memory) = (vec![0; bytes], vec![0; bytes]);
    outputs.of_call(KEPT + room * launches.len())?.fill(0xff);
    let marks = Marks::new();
    let (mut times, mut leaves) = (Times::default(), Vec::new());
    for (index, places) in launches.iter().enumerate() {
        std::hint::black_box(&mut memory).fill(0xff);
        values.next(0)?;
        for (_, at, bytes) in places {
            let range = *at as usize..(at + bytes) as usize;
            outputs.get(KEPT, std::hint::black_box(&mut argument[range]))?;
        }
        let start = monotonic_ns();
        in_parent(|| ());
        times.add(start, monotonic_ns());
        marks.note(index, &memory, outputs, 0)?;
        outputs.put(KEPT + index * room, &[IoSlice::new(&memory)])?;
        leaves.push(vec![bytes_at(KEPT + index * room, bytes)]);
        marks.hold(index, &memory, outputs)?;
    }
    Ok((times, leaves))
}
