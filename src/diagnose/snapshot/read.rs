//! [`Snapshot`]: reads a memory snapshot.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::category::Categories;
use super::difference::{Difference, LiveStacks};
use super::error::SnapshotError;
use super::findings::{Broken, DeviceFindings, SnapshotFindings, SnapshotFormat};
use super::flame::{self, FlameNode};
use super::frames::Frames;
use super::ingest::{Device, Ingest};
use super::intern::Interner;
use super::keys;
use super::pickle::{self, Fault};
use super::timeline::{self, Timeline};
use super::trace::{self, Overview, Telling};
use super::walk::{self, Live};
use plimsoll_memory::bytes::ByteSize;

/// How a snapshot is read, and how much of it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many culprits, leak suspects and series are listed for each moment.
    pub top: usize,
    /// The most memory that reading may use; a snapshot that needs more is refused.
    pub budget: ByteSize,
}

impl Default for Options {
    fn default() -> Self {
        Self { top: 10, budget: ByteSize::mib(192) }
    }
}

/// Reads the snapshot at `path` and returns its findings.
///
/// # Errors
/// [`SnapshotError`] if the file cannot be read, is not a snapshot, is damaged, or needs more than the budget.
pub fn analyse(path: &Path, options: Options) -> Result<SnapshotFindings, SnapshotError> {
    Snapshot::open(path, options)?.findings()
}

/// A memory snapshot: its segments, and its trace in a temporary file.
pub struct Snapshot {
    name: String,
    format: SnapshotFormat,
    options: Options,
    interner: Interner,
    categories: Categories,
    ingest: Ingest,
}

impl Snapshot {
    /// Reads the snapshot at `path`.
    ///
    /// # Errors
    /// [`SnapshotError`] if the file cannot be read, is not a snapshot, is damaged, or needs more than the budget.
    pub fn open(path: &Path, options: Options) -> Result<Self, SnapshotError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::read(&name, file, options),
            Err(source) => Err(SnapshotError::Read { name, source }),
        }
    }

    /// Reads a snapshot from `reader` once, in pieces; `reader` needs no buffer. Errors call it `name`.
    ///
    /// # Errors
    /// [`SnapshotError`] if `reader` fails, returns no snapshot or a damaged one, or one that needs more than the
    /// budget.
    pub fn read(name: &str, reader: impl Read, options: Options) -> Result<Self, SnapshotError> {
        let (mut interner, mut ingest) = (Interner::new(keys::ALL.iter().copied()), Ingest::new());
        let summary = pickle::read(reader, &mut interner, &mut ingest, options.budget).map_err(|(offset, fault)| {
            let name = name.to_owned();
            match fault {
                Fault::Read(source) => SnapshotError::Read { name, source },
                Fault::Spool(source) => SnapshotError::Spool { name, source },
                Fault::Invalid(kind) => SnapshotError::Invalid { name, offset, kind },
            }
        })?;
        ingest.finish().map_err(|source| SnapshotError::Spool { name: name.to_owned(), source })?;
        let format = SnapshotFormat {
            protocol: summary.protocol,
            bytes: ByteSize::new(summary.bytes),
            frames: interner.frame_count() as u64,
            stacks: interner.stacks() as u64 - 1,
        };
        let categories = Categories::of(&interner);
        Ok(Self { name: name.to_owned(), format, options, interner, categories, ingest })
    }

    fn spooled<T>(name: &str, result: io::Result<T>) -> Result<T, SnapshotError> {
        result.map_err(|source| SnapshotError::Spool { name: name.to_owned(), source })
    }

    /// The devices that have memory or a trace.
    pub fn devices(&self) -> impl Iterator<Item = u32> {
        self.ingest.devices.keys().copied()
    }

    /// The findings of the snapshot.
    ///
    /// # Errors
    /// [`SnapshotError::Spool`] if the trace cannot be read back.
    pub fn findings(&mut self) -> Result<SnapshotFindings, SnapshotError> {
        let frames = Frames::new(&self.interner);
        let telling = Telling { frames: &frames, categories: &self.categories, top: self.options.top };
        let mut broken = self.ingest.broken.clone();
        let mut devices = Vec::new();
        for (&id, device) in &self.ingest.devices {
            let trace = match &device.trace {
                Some(trace) => {
                    let spool = &mut self.ingest.spool;
                    let mut found = |broken: &mut Broken| {
                        let overview = trace::overview(spool, device, trace, self.interner.stacks())?;
                        trace::findings(spool, device, trace, &overview, &telling, broken)
                    };
                    Some(Self::spooled(&self.name, found(&mut broken))?)
                }
                None => None,
            };
            let live: Vec<Live> = live_at_end(device).collect();
            devices.push(DeviceFindings {
                device: id,
                state: device.segments.state,
                groups: device.segments.grouped(),
                fragmented: device.segments.fragmented.clone(),
                live: telling.culprits(&trace::by_stack(live.iter())),
                bands: trace::bands(live.iter(), &self.categories),
                trace,
            });
        }
        Ok(SnapshotFindings {
            name: self.name.clone(),
            format: self.format.clone(),
            settings: self.ingest.settings.clone(),
            devices,
            annotations: self.ingest.annotations,
            broken,
        })
    }

    /// The memory of a device over its trace, in at most `columns` columns, as series of the largest stacks and of
    /// categories. `None` if no trace was recorded.
    ///
    /// # Errors
    /// [`SnapshotError::Spool`] if the trace cannot be read back.
    pub fn timeline(&mut self, device: u32, columns: usize) -> Result<Option<Timeline>, SnapshotError> {
        let Some((found, trace)) = traced(&self.ingest.devices, device) else { return Ok(None) };
        let frames = Frames::new(&self.interner);
        let telling = Telling { frames: &frames, categories: &self.categories, top: self.options.top };
        let spool = &mut self.ingest.spool;
        let mut make = || {
            let overview = trace::overview(spool, found, trace, self.interner.stacks())?;
            timeline::timeline(spool, found, trace, &overview, &telling, device, columns)
        };
        Self::spooled(&self.name, make()).map(Some)
    }

    /// The memory in use at the peak of a device's trace, or at the end if no trace was recorded, as a tree of
    /// calls. `None` if the snapshot has no such device.
    ///
    /// # Errors
    /// [`SnapshotError::Spool`] if the trace cannot be read back.
    pub fn flame_graph(&mut self, device: u32) -> Result<Option<FlameNode>, SnapshotError> {
        let Some(found) = self.ingest.devices.get(&device) else { return Ok(None) };
        let frames = Frames::new(&self.interner);
        let Some(trace) = &found.trace else {
            let live: Vec<Live> = live_at_end(found).collect();
            return Ok(Some(flame::tree(&trace::by_stack(live.iter()), &self.interner, &frames)));
        };
        let spool = &mut self.ingest.spool;
        let mut at_peak = || -> io::Result<_> {
            let Overview { peak, .. } = trace::overview(spool, found, trace, self.interner.stacks())?;
            let mut stacks = Vec::new();
            walk::backward(
                spool,
                found,
                trace,
                |at, walk| {
                    if at.map(|(index, _)| index) == peak {
                        stacks = trace::by_stack(walk.live.values());
                    }
                },
                |_, _| {},
            )?;
            Ok(stacks)
        };
        let stacks = Self::spooled(&self.name, at_peak())?;
        Ok(Some(flame::tree(&stacks, &self.interner, &frames)))
    }

    /// What changed since `baseline` in the memory in use at the end of each snapshot.
    pub fn difference(&self, baseline: &Self) -> Difference {
        Difference::between(&baseline.live_stacks(), &self.live_stacks(), self.options.top)
    }

    fn live_stacks(&self) -> LiveStacks {
        let frames = Frames::new(&self.interner);
        let mut stacks = LiveStacks::new(&self.name);
        for device in self.ingest.devices.values() {
            stacks.reserve(device.segments.state);
            let live: Vec<Live> = live_at_end(device).collect();
            for (stack, bytes, count) in trace::by_stack(live.iter()) {
                stacks.add(frames.of(stack), self.categories.get(stack), bytes, count);
            }
        }
        stacks
    }
}

/// The device, if it has a trace.
fn traced(devices: &std::collections::BTreeMap<u32, Device>, device: u32) -> Option<(&Device, &super::ingest::Trace)> {
    let found = devices.get(&device)?;
    found.trace.as_ref().map(|trace| (found, trace))
}

/// The blocks in use at the end.
fn live_at_end(device: &Device) -> impl Iterator<Item = Live> {
    let categories = device.trace.as_ref().map(|trace| &trace.categories);
    device.segments.live.iter().filter(|block| !block.pending).map(move |block| Live {
        size: block.requested,
        stack: block.stack,
        category: categories.and_then(|categories| categories.get(&block.address).copied()),
    })
}
