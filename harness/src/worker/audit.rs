//! [`Audited`]: regions of launches, each on values that the supervisor drew, its output copied when it returned.
//!
//! Only the launch is timed. Values are put in before it and copied after it between two launches, as in a program with
//! other work there, which keeps arguments and output as close to the processor as the plain protocols do.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use memmap2::Mmap;
use plimsoll::capture::{Dtype, TensorSpec};
use plimsoll::kernel::{Call, Elements, Kernel, KernelError, Operator, OutputBuffer};
use plimsoll::run::{OUTPUT_ALIGNMENT, Output, OutputValue, Placed, Placement};
use plimsoll::timing::nanoseconds;

use super::error::CallError;
use super::forked::in_parent;
use super::inputs::{Inputs, touching};
use super::launch::Loaded;
use super::outputs::Outputs;
use crate::protocol::{CallMessage, Place, Reply};

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

    /// The values of the next launch, once the supervisor has put them there.
    fn next(&mut self, bytes: usize) -> Result<&[u8], CallError> {
        if let Some(turns) = &mut self.turns {
            let asked = turns.write_all(&[0]).and_then(|()| turns.read_exact(&mut [0]));
            asked.map_err(|source| CallError::Outputs { bytes, source })?;
        }
        self.first(bytes)
    }

    /// The first `bytes` bytes.
    fn first(&mut self, bytes: usize) -> Result<&[u8], CallError> {
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

/// Copying an output of this size takes long enough for a thread to write ahead of it.
const LARGE: usize = 64 << 10;
/// How many words of a large output are read when its launch returns, and again when it is copied.
const MARKS: u64 = 64;
const WORD: usize = 8;

/// Words of a large output at places that a kernel cannot foresee.
struct Marks {
    key: RandomState,
    found: Vec<u64>,
}

impl Marks {
    fn new() -> Self {
        Self { key: RandomState::new(), found: Vec::new() }
    }

    fn words<'m>(&self, launch: usize, memory: &'m [u8]) -> impl Iterator<Item = u64> + use<'m> {
        let words = if memory.len() < LARGE { 0 } else { memory.len() as u64 / WORD as u64 };
        let key = self.key.clone();
        let places = (0..if words > 0 { MARKS } else { 0 }).map(move |mark| key.hash_one((launch, mark)) % words);
        places.map(|place| {
            let at = place as usize * WORD;
            u64::from_ne_bytes(memory[at..at + WORD].try_into().expect("a word has as many bytes"))
        })
    }

    /// Remembers those of an output when its launch returns.
    fn note(&mut self, launch: usize, memory: &[u8]) {
        let found = self.words(launch, std::hint::black_box(memory)).collect();
        self.found = found;
    }

    /// Whether they are the same after the output was copied.
    fn hold(&self, launch: usize, memory: &[u8]) -> bool {
        self.words(launch, std::hint::black_box(memory)).eq(self.found.iter().copied())
    }
}

/// A region as the supervisor requests it.
pub struct Asked<'a> {
    pub launches: &'a [Vec<Place>],
    pub keep: &'a [usize],
    pub fill: u8,
}

/// A call that is resident, to be launched in regions.
pub struct Audited {
    call: CallMessage,
    inputs: Inputs,
    /// The output of a kernel that is given its memory: the same for every launch.
    memory: Vec<u8>,
    touched: BTreeSet<Place>,
    /// Storages whose contents were changed by the end of the launches.
    changed: Vec<bool>,
}

/// The bytes of all values of a launch.
fn size_of_all(places: &[Place]) -> usize {
    places.iter().map(|(_, _, bytes)| *bytes as usize).sum()
}

/// The times of launches, and the kept outputs.
type Given = (Vec<u64>, Vec<Vec<Output>>);

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
        let mut put = |places: &[Place]| -> Result<(), CallError> {
            let mut rest = values.next(size_of_all(places))?;
            for (storage, at, bytes) in places {
                let (now, after) = rest.split_at(*bytes as usize);
                if let Some(range) = call.storages.get(*storage) {
                    inputs.put(range, *at, now);
                }
                rest = after;
            }
            Ok(())
        };
        let given = inputs.with(call, |bound| match kernel {
            Loaded::Own(kernel) | Loaded::Foreign(kernel) => {
                filled(kernel.as_ref(), bound, asked, memory, &mut put, outputs)
            }
            Loaded::Operator(operator) => given(operator.as_ref(), bound, asked, &mut put, outputs),
        })?;
        // A kernel that writes to its arguments leaves the last values changed.
        let last = asked.launches.last().map_or(&[][..], Vec::as_slice);
        let values = values.first(size_of_all(last))?;
        let mut at = 0;
        for (storage, from, bytes) in last {
            let put = &values[at..at + *bytes as usize];
            let holds = call.storages.get(*storage).is_none_or(|range| inputs.holds(range, *from, put));
            if let Some(changed) = changed.get_mut(*storage) {
                *changed |= !holds;
            }
            at += *bytes as usize;
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

/// Launches of a kernel that fills the given memory.
fn filled(
    kernel: &dyn Kernel,
    bound: &Call<'_>,
    asked: &Asked<'_>,
    memory: &mut Vec<u8>,
    put: &mut dyn FnMut(&[Place]) -> Result<(), CallError>,
    outputs: &mut Outputs,
) -> Result<Given, CallError> {
    let placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
    memory.resize(placement.bytes, 0);
    let room = placement.bytes.next_multiple_of(OUTPUT_ALIGNMENT);
    let kept = outputs.of_call(room * asked.keep.len())?;
    // The first write to a page of shared memory takes longer than a launch may.
    kept.fill(asked.fill);
    let mut rooms = kept.chunks_exact_mut(room.max(1));
    let (mut durations, mut leaves) = (Vec::with_capacity(asked.launches.len()), Vec::new());
    let mut marks = Marks::new();
    for (index, places) in asked.launches.iter().enumerate() {
        put(places)?;
        memory.fill(asked.fill);
        let mut buffers: Vec<OutputBuffer<'_>> = placement.buffers(memory)?;
        let mut launch = kernel.bind(bound, &mut buffers)?;
        let start = Instant::now();
        let done = in_parent(&mut launch);
        durations.push(nanoseconds(start.elapsed()));
        done?;
        drop(launch);
        drop(buffers);
        marks.note(index, memory);
        if asked.keep.binary_search(&index).is_ok() {
            let at = leaves.len() * room;
            if let Some(place) = rooms.next() {
                place[..placement.bytes].copy_from_slice(memory);
            }
            leaves.push(placement.outputs_from(at));
        }
        if !marks.hold(index, memory) {
            return Err(CallError::WritesOn);
        }
    }
    Ok((durations, leaves))
}

/// Launches of an operator, which allocates its results.
fn given(
    operator: &dyn Operator,
    bound: &Call<'_>,
    asked: &Asked<'_>,
    put: &mut dyn FnMut(&[Place]) -> Result<(), CallError>,
    outputs: &mut Outputs,
) -> Result<Given, CallError> {
    let (mut durations, mut kept, mut end) = (Vec::with_capacity(asked.launches.len()), Vec::new(), 0usize);
    for (index, places) in asked.launches.iter().enumerate() {
        put(places)?;
        let mut evaluation = operator.bind(bound)?;
        let start = Instant::now();
        let done = in_parent(|| evaluation.launch());
        durations.push(nanoseconds(start.elapsed()));
        done?;
        if asked.keep.binary_search(&index).is_ok() {
            let (leaves, bytes) =
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
            end = (end + bytes).next_multiple_of(OUTPUT_ALIGNMENT);
            kept.push(leaves);
        }
    }
    Ok((durations, kept))
}

/// A region of launches that do nothing, timed before any kernel is loaded: the time is the worker's own.
pub fn idle(id: u64, launches: &[Vec<Place>], values: &mut Values, outputs: &mut Outputs) -> Reply {
    let mut done = || -> Result<Given, CallError> {
        let bytes = launches.iter().flatten().map(|(_, at, bytes)| (at + bytes) as usize).max().unwrap_or(0);
        let room = bytes.next_multiple_of(OUTPUT_ALIGNMENT);
        let (from, mut argument, mut memory) = (vec![1; bytes], vec![0; bytes], vec![0; bytes]);
        let kept = outputs.of_call(room * launches.len())?;
        kept.fill(0xff);
        let (mut durations, mut leaves) = (Vec::new(), Vec::new());
        for (index, places) in launches.iter().enumerate() {
            values.next(0)?;
            for (_, at, bytes) in places {
                let range = *at as usize..(at + bytes) as usize;
                std::hint::black_box(&mut argument)[range.clone()].copy_from_slice(&from[range]);
            }
            std::hint::black_box(&mut memory).fill(0xff);
            let start = Instant::now();
            in_parent(|| ());
            durations.push(nanoseconds(start.elapsed()));
            kept[index * room..index * room + bytes].copy_from_slice(std::hint::black_box(&memory));
            let spec = TensorSpec { dtype: Dtype::U8, shape: vec![bytes as u64] };
            let value = OutputValue::Tensor(Placed { spec, offset: index * room, bytes, crc32: None });
            leaves.push(vec![Output { path: String::new(), value }]);
        }
        Ok((durations, leaves))
    };
    let given = done();
    given.map_or_else(
        |error| error.reply(id, None),
        |(durations_ns, outputs)| Reply::Region { id, durations_ns, outputs },
    )
}
