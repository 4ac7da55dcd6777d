//! Launches of a kernel on calls: inputs mapped from their files, outputs into the shared memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use memmap2::MmapMut;
use plimsoll::capture::{Argument, CaptureError, MappedFile};
use plimsoll::kernel::{Call, Kernel, KernelError, OutputBuffer};
use plimsoll::record::{Failure, FailureKind};
use plimsoll::run::Placement;
use plimsoll::timing::{CpuClock, MeasureError, Protocol, measure};

use crate::protocol::{CallMessage, ErrorKind, Leaf, LeafTensor, Reply, StorageRange};

/// Why a call gave no result.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error(transparent)]
    Input(#[from] CaptureError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("{bytes} bytes for outputs cannot be had: {source}")]
    Outputs { bytes: usize, source: io::Error },
    #[error(transparent)]
    Clock(#[from] plimsoll::timing::ClockError),
}

impl CallError {
    fn reply(&self, id: u64, index: Option<usize>) -> Reply {
        let kind = match self {
            Self::Input(_) => ErrorKind::Input,
            Self::Kernel(error) => match Failure::from(error.clone()).kind {
                FailureKind::Unsupported => ErrorKind::Unsupported,
                FailureKind::HostOom => ErrorKind::HostOom,
                _ => ErrorKind::Exception,
            },
            Self::Outputs { .. } => ErrorKind::HostOom,
            Self::Clock(_) => ErrorKind::Unsupported,
        };
        Reply::Error { id: Some(id), index, kind, message: self.to_string(), detail: None }
    }
}

/// The shared memory for outputs, mapped as far as it is needed.
pub struct Outputs {
    file: File,
    map: Option<MmapMut>,
}

impl Outputs {
    /// Over the descriptor that the supervisor passed in.
    pub fn new(file: File) -> Self {
        Self { file, map: None }
    }

    fn memory(&mut self, bytes: usize) -> Result<&mut [u8], CallError> {
        let failed = |source| CallError::Outputs { bytes, source };
        if self.map.as_ref().is_none_or(|map| map.len() < bytes) && bytes > 0 {
            self.map = None;
            self.file.set_len(bytes as u64).map_err(failed)?;
            // SAFETY: the memfd is sealed against shrinking, so that the map stays backed; it is shared with the supervisor
            // alone, which reads it only between a launch's answer and the next request.
            self.map = Some(unsafe { MmapMut::map_mut(&self.file) }.map_err(failed)?);
        }
        Ok(self.map.as_deref_mut().map_or(&mut [], |map| &mut map[..bytes]))
    }
}

/// The files of the calls of a batch, each mapped once, from the first storage in it to the last: a call may have more
/// storages than a process may have maps, and calls that share a storage of a store share its pages.
struct Files<'a> {
    ranges: BTreeMap<&'a Path, Range<u64>>,
    mapped: BTreeMap<&'a Path, (u64, Arc<MappedFile>)>,
}

impl<'a> Files<'a> {
    fn of(calls: &'a [CallMessage]) -> Self {
        Self { ranges: ranges(calls.iter().flat_map(|call| &call.storages)), mapped: BTreeMap::new() }
    }

    /// A map that holds `range` of the file at `path`, and where in the file it starts.
    fn map(&mut self, path: &'a Path, range: &Range<u64>) -> Result<(u64, Arc<MappedFile>), CaptureError> {
        if let Some((start, map)) = self.mapped.get(path) {
            return Ok((*start, Arc::clone(map)));
        }
        let open = |range: &Range<u64>| MappedFile::open(path, range.start, range.end - range.start);
        // Where what another call needs of the file is not there, this one may still have what it needs.
        let Some((start, map)) = self.ranges.get(path).and_then(|all| Some((all.start, open(all).ok()?))) else {
            return Ok((range.start, Arc::new(open(range)?)));
        };
        let map = Arc::new(map);
        self.mapped.insert(path, (start, Arc::clone(&map)));
        Ok((start, map))
    }
}

/// What storages take of each file, from the first to the last.
fn ranges<'a>(storages: impl Iterator<Item = &'a StorageRange>) -> BTreeMap<&'a Path, Range<u64>> {
    let mut ranges: BTreeMap<&Path, Range<u64>> = BTreeMap::new();
    for StorageRange { path, offset, bytes } in storages {
        let end = offset.saturating_add(*bytes);
        let range = ranges.entry(path).or_insert(*offset..end);
        *range = range.start.min(*offset)..range.end.max(end);
    }
    ranges
}

/// The inputs of a call, mapped.
pub struct Inputs {
    files: Vec<(PathBuf, u64, Arc<MappedFile>)>,
    args: Vec<Argument>,
}

impl Inputs {
    fn map<'a>(call: &'a CallMessage, files: &mut Files<'a>) -> Result<Self, CaptureError> {
        let files = ranges(call.storages.iter())
            .into_iter()
            .map(|(path, range)| files.map(path, &range).map(|(start, map)| (path.to_owned(), start, map)))
            .collect::<Result<_, CaptureError>>()?;
        Ok(Self { files, args: call.args.iter().map(|value| value.0.clone()).collect() })
    }

    /// The map that holds a storage, and where in it the storage lies.
    fn place(&self, storage: &StorageRange) -> (&MappedFile, Range<usize>) {
        let (_, start, map) = self.files.iter().find(|(path, ..)| *path == storage.path).expect("mapped above");
        let from = (storage.offset - start) as usize;
        (map, from..from + storage.bytes as usize)
    }

    /// Has what the kernel will read of its inputs read from the disk at once.
    fn read_ahead(&self, kernel: &dyn Kernel, call: &CallMessage, bound: &Call<'_>) {
        kernel.reads(bound, &mut |storage, range| {
            let (map, place) = self.place(&call.storages[storage]);
            map.read_ahead(place.start + range.start..place.start + range.end);
        });
    }

    /// Hands the call to `work`, its inputs on their way from the disk; inputs that shrank meanwhile outweigh what the kernel made of them.
    fn with<T>(
        &self,
        kernel: &dyn Kernel,
        call: &CallMessage,
        work: impl FnOnce(&Call<'_>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let storages: Vec<&[u8]> = call
            .storages
            .iter()
            .map(|storage| {
                let (map, place) = self.place(storage);
                &map[place]
            })
            .collect();
        let bound = Call { params: &call.params, args: &self.args, storages: &storages, outputs: &call.outputs };
        self.read_ahead(kernel, call, &bound);
        let result = work(&bound);
        self.files.iter().try_for_each(|(_, _, map)| map.intact())?;
        result
    }
}

/// Launches `kernel` once. The inputs are given back with the answer: to unmap them takes time, which is better spent while
/// the supervisor judges.
pub fn launch(kernel: &dyn Kernel, id: u64, call: &CallMessage, outputs: &mut Outputs) -> (Reply, Option<Inputs>) {
    match Inputs::map(call, &mut Files::of(std::slice::from_ref(call))) {
        Ok(inputs) => {
            let reply = launched(kernel, id, call, &inputs, outputs);
            (reply.unwrap_or_else(|error| error.reply(id, None)), Some(inputs))
        }
        Err(error) => (CallError::from(error).reply(id, None), None),
    }
}

fn launched(
    kernel: &dyn Kernel,
    id: u64,
    call: &CallMessage,
    inputs: &Inputs,
    outputs: &mut Outputs,
) -> Result<Reply, CallError> {
    inputs.with(kernel, call, |bound| {
        let placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
        let mut buffers = placement.buffers(outputs.memory(placement.bytes)?)?;
        buffers.iter_mut().for_each(OutputBuffer::poison);
        let mut launch = kernel.bind(bound, &mut buffers)?;
        let start = Instant::now();
        launch()?;
        let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let leaf = |o: plimsoll::run::Placed| Leaf {
            path: o.path,
            tensor: Some(LeafTensor { spec: o.spec, offset: o.offset as u64, bytes: o.bytes as u64 }),
            value: None,
        };
        Ok(Reply::Launched { id, elapsed_ns, outputs: placement.outputs.into_iter().map(leaf).collect() })
    })
}

/// Maps every call of the batch, then times each by itself.
pub fn profile(
    kernel: &dyn Kernel,
    id: u64,
    calls: &[CallMessage],
    protocol: Protocol,
    say: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<()> {
    let mut files = Files::of(calls);
    let batch: Vec<_> = calls.iter().map(|call| Inputs::map(call, &mut files)).collect();
    drop(files);
    for (index, (call, inputs)) in calls.iter().zip(batch).enumerate() {
        let timed = inputs.map_err(CallError::from).and_then(|inputs| {
            inputs.with(kernel, call, |bound| {
                let placement = Placement::of(&kernel.outputs(bound)?, bound.outputs)?;
                let mut memory = vec![0; placement.bytes];
                let mut buffers = placement.buffers(&mut memory)?;
                let mut launch = kernel.bind(bound, &mut buffers)?;
                measure(protocol, &mut CpuClock::default(), &mut launch).map_err(|error| match error {
                    MeasureError::Launch(error) => error.into(),
                    MeasureError::Clock(error) => error.into(),
                })
            })
        });
        say(match timed {
            Ok(samples) => Reply::Timed {
                id,
                index,
                launches_per_sample: samples.launches_per_sample,
                durations_ns: samples.durations_ns,
            },
            Err(error) => error.reply(id, Some(index)),
        })?;
    }
    say(Reply::Profiled { id })
}
