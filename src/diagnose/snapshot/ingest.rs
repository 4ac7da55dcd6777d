//! Turns the records of the file into the input of the analyses: segments by device, and the events of each trace.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use foldhash::fast::RandomState;

use super::category::Category;
use super::findings::{AllocatorSettings, Broken};
use super::intern::{StackId, TextId};
use super::model::{Action, Entry, Segment, Setting};
use super::pickle::{Fault, Sink};
use super::segments::Segments;
use super::spool::{Event, Spool};
use plimsoll_memory::bytes::ByteSize;

/// The largest device index: larger ones count as this one.
const DEVICES: u32 = 1 << 12;

/// The events of a device.
#[derive(Default)]
pub(super) struct Trace {
    pub(super) events: Range<u64>,
    pub(super) allocations: u64,
    pub(super) frees_of_older: u64,
    pub(super) first_us: Option<i64>,
    pub(super) last_us: Option<i64>,
    /// Whether frees carry the stack of the free: the allocating stack of memory older than the trace is then unknown.
    frees_have_own_stacks: bool,
    /// The profiler's category of memory in use at the end.
    pub(super) categories: HashMap<u64, Category, RandomState>,
}

/// Memory that the trace allocated and has not freed yet.
#[derive(Clone, Copy)]
struct Allocated {
    stack: StackId,
    category: Option<Category>,
    /// Whether the free was requested and is not completed yet.
    requested: bool,
}

/// The data of a device.
#[derive(Default)]
pub(super) struct Device {
    pub(super) segments: Segments,
    pub(super) trace: Option<Trace>,
}

pub(super) struct Ingest {
    pub(super) spool: Spool,
    pub(super) devices: BTreeMap<u32, Device>,
    pub(super) settings: Option<AllocatorSettings>,
    pub(super) annotations: u64,
    pub(super) broken: Broken,
    /// The profiler's words by their numbers, looked up in the interner after the first pass.
    categories: HashMap<TextId, Option<Category>, RandomState>,
    /// Live memory in the trace being read.
    live: HashMap<u64, Allocated, RandomState>,
    blocks: u64,
}

impl Ingest {
    pub(super) fn new() -> Self {
        Self {
            spool: Spool::new(),
            devices: BTreeMap::new(),
            settings: None,
            annotations: 0,
            broken: Broken::default(),
            categories: HashMap::default(),
            live: HashMap::default(),
            blocks: 0,
        }
    }

    /// Ends the trace being read.
    fn finish_trace(&mut self, device: u32) {
        if let Some(trace) = self.devices.get_mut(&device).and_then(|device| device.trace.as_mut()) {
            trace.categories = std::mem::take(&mut self.live)
                .into_iter()
                .filter_map(|(address, allocated)| allocated.category.map(|category| (address, category)))
                .collect();
        }
        self.live = HashMap::default();
    }

    /// Ends the last trace and writes pending data.
    pub(super) fn finish(&mut self) -> std::io::Result<()> {
        let mut traced = self.devices.iter().filter(|(_, device)| device.trace.is_some());
        if let Some((&device, _)) = traced.next_back() {
            self.finish_trace(device);
        }
        self.devices.retain(|_, device| {
            device.trace.take_if(|trace| trace.events.is_empty());
            device.trace.is_some() || device.segments.state.segments > 0
        });
        self.spool.flush()
    }
}

impl Sink for Ingest {
    fn segment(&mut self, segment: &Segment) -> Result<(), Fault> {
        let device = self.devices.entry(segment.device.min(DEVICES)).or_default();
        let before = device.segments.taken();
        device.segments.add(segment, &mut self.broken);
        self.blocks += device.segments.taken() - before;
        Ok(())
    }

    fn trace(&mut self, device: u32) -> Result<(), Fault> {
        if let Some(last) = device.checked_sub(1) {
            self.finish_trace(last.min(DEVICES));
        }
        let start = self.spool.len();
        let trace = &mut self.devices.entry(device.min(DEVICES)).or_default().trace;
        trace.get_or_insert_with(|| Trace { events: start..start, ..Trace::default() });
        Ok(())
    }

    fn entry(&mut self, device: u32, entry: Entry, category: Option<&str>) -> Result<(), Fault> {
        let Some(trace) = self.devices.get_mut(&device.min(DEVICES)).and_then(|device| device.trace.as_mut()) else {
            return Ok(());
        };
        let category = entry
            .category
            .zip(category)
            .and_then(|(id, word)| *self.categories.entry(id).or_insert_with(|| Category::of_profiler(word)));
        let mut event = Event {
            action: entry.action,
            address: entry.address,
            size: entry.size,
            time_us: entry.time_us.unwrap_or(0),
            stack: entry.stack,
            category,
            known: true,
        };
        match entry.action {
            Action::Alloc => {
                trace.allocations += 1;
                self.live.insert(entry.address, Allocated { stack: entry.stack, category, requested: false });
            }
            Action::FreeRequested | Action::FreeCompleted => {
                let completed = entry.action == Action::FreeCompleted;
                match self.live.get_mut(&entry.address) {
                    Some(allocated) if completed || !allocated.requested => {
                        trace.frees_have_own_stacks |= entry.stack != StackId::EMPTY && entry.stack != allocated.stack;
                        allocated.requested = true;
                        (event.stack, event.category) = (allocated.stack, allocated.category);
                    }
                    _ => {
                        event.known = false;
                        trace.frees_of_older += u64::from(!completed);
                    }
                }
                if completed {
                    self.live.remove(&entry.address);
                }
            }
            _ => {}
        }
        if let Some(time) = entry.time_us {
            trace.first_us.get_or_insert(time);
            trace.last_us = Some(time);
        }
        self.spool.push(event).map_err(Fault::Spool)?;
        trace.events.end = self.spool.len();
        Ok(())
    }

    fn setting(&mut self, name: &str, setting: Setting) {
        let settings = self.settings.get_or_insert_default();
        match (name, setting) {
            ("PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_ALLOC_CONF", Setting::Text(conf)) => {
                settings.conf = Some(conf).filter(|conf| !conf.is_empty());
            }
            ("expandable_segments", Setting::Bool(on)) => settings.expandable_segments = Some(on),
            // SIZE_MAX, no limit, is written as -1.
            ("max_split_size", Setting::Int(size)) => {
                settings.max_split_size = u64::try_from(size).ok().map(ByteSize::new);
            }
            ("garbage_collection_threshold", Setting::Float(share)) => {
                settings.garbage_collection_threshold = Some(share).filter(|&share| share > 0.0);
            }
            ("roundup_power2_divisions", Setting::Divisions(divisions)) => {
                settings.roundup_power2_divisions = divisions.into_iter().filter(|&(_, value)| value > 0).collect();
            }
            (name, setting) => {
                let text = match setting {
                    Setting::Bool(value) => value.to_string(),
                    Setting::Int(value) => value.to_string(),
                    Setting::Float(value) => value.to_string(),
                    Setting::Text(value) => value,
                    Setting::Divisions(_) => return,
                };
                settings.others.insert(name.to_owned(), text);
            }
        }
    }

    fn annotation(&mut self) {
        self.annotations += 1;
    }

    fn taken(&self) -> u64 {
        let live = 3 * self.live.capacity() * (size_of::<(u64, Allocated)>() + 1);
        self.spool.taken() + self.blocks + live as u64
    }
}

impl Trace {
    /// The stack that owns the memory which `event` frees.
    pub(super) fn owner(&self, event: &Event) -> StackId {
        if !event.known && self.frees_have_own_stacks { StackId::EMPTY } else { event.stack }
    }
}
