//! A block under measurement: its meter, its heap, and its phases.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::counted::counter_of;
use super::limits::Limits;
use super::others::{Others, list};
use super::phase::{Installed, Sink, install_on_thread};
use super::turn::Turn;
use crate::alloc::{HeapReadings, HeapScope, Scope};
use crate::bytes::ByteSize;
use crate::meter::{Meter, MeterOptions, Metric, PhaseReadings, ProcessPeak, Reading, Source, SwapScope};

/// The phase of a block until it names one.
pub(super) const FIRST_PHASE: &str = "begin";

thread_local! {
    /// The blocks that this thread is in and that have a meter, oldest first.
    static METERED: RefCell<Vec<Rc<Watched>>> = const { RefCell::new(Vec::new()) };
}

/// A block under measurement.
pub(super) struct Block {
    watched: Rc<Watched>,
    /// Declared before the turn, so that no other block begins while this one still receives phases.
    _sink: Installed,
    others: Option<Others>,
    turn: Option<Turn>,
}

/// The measurement, shared with the list of those notified of phases.
struct Watched {
    /// Absent if no limit needs a meter; an error says why there is none.
    meter: Option<Result<Meter, String>>,
    /// Absent if no limit needs the heap and nobody counts; an error says why there is none.
    heap: Option<Result<Scope, String>>,
    /// The finished phases of the heap.
    heap_phases: RefCell<Vec<HeapPhase>>,
    phase: RefCell<String>,
    /// Whether a block within this one has reset the high-water mark.
    mark_was_reset: Cell<bool>,
}

struct HeapPhase {
    name: String,
    peak: ByteSize,
    retained: ByteSize,
}

/// The readings of a block.
pub(super) struct Read {
    pub(super) phases: Vec<PhaseReadings>,
    /// The counts, or why there are none; absent if no limit needs them and nobody counts.
    pub(super) heap: Option<Result<HeapReadings, String>>,
    pub(super) notes: Vec<String>,
}

impl Block {
    pub(super) fn begin(limits: &Limits) -> Self {
        let turn = limits.need_meter().then(Turn::wait);
        let meter = turn.as_ref().map(|_| {
            // Outer blocks note the high-water mark before it is reset for this one.
            METERED.with_borrow(|outer| outer.iter().for_each(|block| block.mark_is_reset()));
            let limited = |metric| limits.ceilings.get(metric).is_some();
            let options = MeterOptions {
                pss: limited(Metric::PeakPss),
                mappings: true,
                swap: SwapScope::Tree,
                gpu: limited(Metric::GpuPeak) || limited(Metric::UnifiedPeak),
                ..MeterOptions::default()
            };
            let meter = Meter::start_with(options).map_err(|error| error.to_string())?;
            meter.phase(FIRST_PHASE);
            Ok(meter)
        });
        // Opened last, so that the measurement itself is not counted.
        let others = meter.is_some().then(Others::begin);
        let scope = match limits.heap_scope {
            HeapScope::Thread => Scope::thread(),
            HeapScope::Process => Scope::process(),
        };
        let heap = match scope {
            Ok(scope) => Some(Ok(scope)),
            Err(error) => limits.need_heap().then(|| Err(error.to_string())),
        };
        let watched = Rc::new(Watched {
            meter,
            heap,
            heap_phases: RefCell::default(),
            phase: RefCell::new(FIRST_PHASE.to_owned()),
            mark_was_reset: Cell::new(false),
        });
        if watched.meter.is_some() {
            METERED.with_borrow_mut(|blocks| blocks.push(Rc::clone(&watched)));
        }
        Self { _sink: install_on_thread(watched.clone()), watched, others, turn }
    }

    pub(super) fn finish(mut self) -> Read {
        let watched = &self.watched;
        watched.end_heap_phase();
        let heap = watched.heap.as_ref().map(|heap| match heap {
            // The scope's own peak covers only the latest phase.
            Ok(scope) => Ok(HeapReadings { peak: watched.peak(), ..scope.readings() }),
            Err(reason) => Err(reason.clone()),
        });
        let metered = watched.meter.as_ref().map(|meter| meter.as_ref().map(Meter::finish).map_err(String::clone));
        let mut notes = Vec::new();
        if self.turn.as_ref().is_some_and(|turn| turn.beside_another) {
            notes.push(
                "another block of this process was measured at the same time, because its thread was stuck".to_owned(),
            );
        }
        if watched.mark_was_reset.get() {
            notes.push("a block within this one reset the high-water mark of the process".to_owned());
        }
        notes.extend(self.others.take().and_then(Others::finish));
        if let Some(Ok(phases)) = &metered {
            notes.extend(children(phases));
        }
        let mut phases = match metered {
            Some(Ok(phases)) => phases,
            Some(Err(reason)) => vec![unread(FIRST_PHASE, &reason)],
            None => watched
                .heap_phases
                .borrow()
                .iter()
                .map(|phase| unread(&phase.name, "the meter was not asked"))
                .collect(),
        };
        match &heap {
            Some(Ok(heap)) => watched.heap_into(&mut phases, heap),
            Some(Err(reason)) => phases.iter_mut().for_each(|phase| {
                phase.unavailable.extend(HEAP.map(|metric| (metric, reason.clone())));
            }),
            None => {}
        }
        Read { phases, heap, notes }
    }
}

const HEAP: [Metric; 2] = [Metric::PeakHeap, Metric::RetainedHeap];

impl Drop for Block {
    fn drop(&mut self) {
        // While the thread ends, its list may already be gone.
        let _ = METERED.try_with(|blocks| blocks.borrow_mut().retain(|block| !Rc::ptr_eq(block, &self.watched)));
    }
}

impl Watched {
    fn mark_is_reset(&self) {
        if let Some(Ok(meter)) = &self.meter {
            meter.sample();
            self.mark_was_reset.set(true);
        }
    }

    /// Notes what the heap did in the current phase, and restarts its peak.
    fn end_heap_phase(&self) {
        let name = self.phase.borrow().clone();
        let (peak, retained) = match &self.heap {
            Some(Ok(scope)) => {
                let heap = scope.readings();
                scope.restart_peak();
                (heap.peak, heap.retained)
            }
            _ => (ByteSize::ZERO, ByteSize::ZERO),
        };
        self.heap_phases.borrow_mut().push(HeapPhase { name, peak, retained });
    }

    /// The peak of the heap over all phases.
    fn peak(&self) -> ByteSize {
        self.heap_phases.borrow().iter().map(|phase| phase.peak).max().unwrap_or(ByteSize::ZERO)
    }

    /// Merges the heap readings into the meter's: both have the same phases.
    fn heap_into(&self, phases: &mut [PhaseReadings], heap: &HeapReadings) {
        for (phase, of_heap) in phases.iter_mut().zip(self.heap_phases.borrow().iter()) {
            for (metric, bytes) in HEAP.into_iter().zip([of_heap.peak, of_heap.retained]) {
                phase.unavailable.remove(&metric);
                phase.readings.insert(metric, Reading::new(bytes, Source::Exact, counter_of(heap.scope)));
            }
        }
    }
}

impl Sink for Watched {
    fn phase(&self, name: &str) {
        self.end_heap_phase();
        name.clone_into(&mut self.phase.borrow_mut());
        if let Some(Ok(meter)) = &self.meter {
            meter.phase(name);
        }
    }
}

/// A sentence that names the child processes in the figures; `None` if there are none.
fn children(phases: &[PhaseReadings]) -> Option<String> {
    let mut largest: BTreeMap<u32, &ProcessPeak> = BTreeMap::new();
    for process in phases.iter().flat_map(|phase| &phase.processes).filter(|process| process.pid != std::process::id())
    {
        let known = largest.entry(process.pid).or_insert(process);
        if process.peak_rss.bytes > known.peak_rss.bytes {
            *known = process;
        }
    }
    let mut children: Vec<&ProcessPeak> = largest.into_values().collect();
    children.sort_by_key(|process| std::cmp::Reverse(process.peak_rss.bytes));
    let named = list(children.iter().map(|child| format!("{} ({}) {}", child.name, child.pid, child.peak_rss.bytes)))?;
    Some(format!("child processes are in the figures of the process: {named}"))
}

/// A phase without readings.
pub(super) fn unread(name: &str, reason: &str) -> PhaseReadings {
    PhaseReadings {
        phase: name.to_owned(),
        unavailable: Metric::ALL.map(|metric| (metric, reason.to_owned())).into(),
        ..PhaseReadings::default()
    }
}
