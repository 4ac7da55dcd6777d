//! The findings of a trace: its peaks, each out-of-memory error, and memory that only grows.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::time::Duration;

use foldhash::fast::RandomState;

use super::category::{Categories, Category, CategorySource};
use super::findings::{Band, Broken, Culprit, LeakSuspect, Moment, OomFinding, OomVerdict, Point, TraceFindings};
use super::frames::Frames;
use super::ingest::{Device, Trace};
use super::intern::StackId;
use super::model::Action;
use super::spool::{Event, Spool};
use super::walk::{self, Change, Live, Walk};
use plimsoll_memory::bytes::ByteSize;

/// How many out-of-memory errors are examined, counted from the last.
const OOMS: usize = 8;

/// How many parts a trace is divided into to find leaks, and in how many of them a leak must allocate.
const PARTS: u64 = 8;
const LEAK_PARTS: u32 = 5;

/// The fewest allocations that make a pattern.
const LEAK_ALLOCATIONS: u64 = 4;

/// The activity of a stack in a trace.
#[derive(Clone, Copy, Default)]
pub(super) struct StackUse {
    /// Bytes in use at the current point.
    live: u64,
    /// The most bytes in use.
    pub(super) most: u64,
    allocated: u64,
    freed: u64,
    allocations: u32,
    frees: u32,
    /// The parts of the trace in which it allocates, one bit each.
    parts: u8,
}

/// What the findings of a trace are made from.
pub(super) struct Telling<'a> {
    pub(super) frames: &'a Frames<'a>,
    pub(super) categories: &'a Categories,
    /// How many culprits to list.
    pub(super) top: usize,
}

/// The notable points of a trace.
pub(super) struct Overview {
    pub(super) peak: Option<u64>,
    pub(super) ooms: Vec<(u64, Event)>,
    oom_count: u64,
    peak_reserved: Point,
    pub(super) uses: Vec<StackUse>,
    lost: u64,
    doubled: u64,
    /// Whether memory was allocated, freed or released after the last out-of-memory error.
    changed_after_oom: bool,
}

fn point(trace: &Trace, at: Option<(u64, &Event)>, walk: &Walk) -> Point {
    Point {
        entry: at.map(|(index, _)| index),
        time: at.and_then(|(_, event)| since(trace, event.time_us)),
        allocated: ByteSize::new(walk.allocated),
        pending_free: ByteSize::new(walk.pending()),
        reserved: ByteSize::new(walk.reserved()),
    }
}

/// The time since the first entry.
pub(super) fn since(trace: &Trace, time_us: i64) -> Option<Duration> {
    let first = trace.first_us?;
    Some(Duration::from_micros(u64::try_from(time_us.saturating_sub(first)).unwrap_or(0)))
}

/// The first walk: finds the peaks and out-of-memory errors, and the activity of each stack.
pub(super) fn overview(spool: &mut Spool, device: &Device, trace: &Trace, stacks: usize) -> io::Result<Overview> {
    let mut uses = vec![StackUse::default(); stacks];
    for block in device.segments.live.iter().filter(|block| !block.pending) {
        let used = &mut uses[block.stack.0 as usize];
        used.live = used.live.saturating_add(block.requested);
        used.most = used.live;
    }
    let count = trace.events.end - trace.events.start;
    let mut peak: Option<(u64, Option<u64>)> = None;
    let mut reserved: Option<Point> = None;
    let (mut ooms, mut oom_count, mut changed) = (Vec::new(), 0, false);
    let mut changed_after_oom = false;
    let part = Cell::new(0u64);
    let walk = walk::backward(
        spool,
        device,
        trace,
        |at, walk| {
            // The earliest of equal peaks.
            if peak.is_none_or(|(most, _)| walk.allocated >= most) {
                peak = Some((walk.allocated, at.map(|(index, _)| index)));
            }
            if reserved.as_ref().is_none_or(|point| walk.reserved() >= point.reserved.bytes()) {
                reserved = Some(point(trace, at, walk));
            }
            let Some((index, event)) = at else { return };
            part.set(index * PARTS / count);
            match event.action {
                Action::Oom => {
                    if ooms.is_empty() {
                        changed_after_oom = changed;
                    }
                    oom_count += 1;
                    if ooms.len() < OOMS {
                        ooms.push((index, *event));
                    }
                }
                Action::Snapshot | Action::Unknown => {}
                _ => changed = true,
            }
        },
        |event, change| {
            let (live, added) = match change {
                Change::Added(live) => (live, true),
                Change::Removed(live) => (live, false),
                Change::None => return,
            };
            let used = &mut uses[live.stack.0 as usize];
            if added {
                used.live = used.live.saturating_add(live.size);
                used.most = used.most.max(used.live);
                if event.known {
                    used.frees = used.frees.saturating_add(1);
                    used.freed = used.freed.saturating_add(live.size);
                }
            } else {
                used.live = used.live.saturating_sub(live.size);
                used.allocations = used.allocations.saturating_add(1);
                used.allocated = used.allocated.saturating_add(live.size);
                used.parts |= 1 << part.get();
            }
        },
    )?;
    ooms.reverse();
    Ok(Overview {
        peak: peak.and_then(|(_, at)| at),
        ooms,
        oom_count,
        peak_reserved: reserved.expect("the state before the first event is visited"),
        uses,
        lost: walk.lost,
        doubled: walk.doubled,
        changed_after_oom,
    })
}

/// The second walk: what the memory was used for at the peak and at each out-of-memory error.
pub(super) fn findings(
    spool: &mut Spool,
    device: &Device,
    trace: &Trace,
    overview: &Overview,
    telling: &Telling<'_>,
    broken: &mut Broken,
) -> io::Result<TraceFindings> {
    let wanted: BTreeSet<u64> = overview.ooms.iter().map(|&(index, _)| index).chain(overview.peak).collect();
    let mut moments: HashMap<Option<u64>, Moment> = HashMap::new();
    walk::backward(
        spool,
        device,
        trace,
        |at, walk| {
            let index = at.map(|(index, _)| index);
            let peak_here = overview.peak == index;
            if peak_here || index.is_some_and(|index| wanted.contains(&index)) {
                moments.insert(index, moment(point(trace, at, walk), walk.live.values(), telling));
            }
        },
        |_, _| {},
    )?;
    if overview.lost > 0 {
        let lost = overview.lost;
        broken.add(|| format!("{lost} allocations of the trace are neither freed in it nor in a segment"));
    }
    if overview.doubled > 0 {
        let doubled = overview.doubled;
        broken.add(|| format!("{doubled} frees in the trace of memory that is in use after them"));
    }
    let last_oom = overview.ooms.last().map(|&(index, _)| index);
    let ooms = overview
        .ooms
        .iter()
        .map(|&(index, event)| {
            let at_end = last_oom == Some(index) && !overview.changed_after_oom;
            oom(&event, moments[&Some(index)].clone(), at_end.then_some(device), telling)
        })
        .collect();
    let peak = moments.remove(&overview.peak).expect("the peak was visited");
    Ok(TraceFindings {
        entries: trace.events.end - trace.events.start,
        allocations: trace.allocations,
        frees_of_older: trace.frees_of_older,
        span: trace.last_us.and_then(|last| since(trace, last)),
        peak,
        peak_reserved: overview.peak_reserved,
        ooms,
        oom_count: overview.oom_count,
        leaks: leaks(&overview.uses, telling),
    })
}

/// The memory in use by stack, most bytes first.
pub(super) fn by_stack<'a>(live: impl Iterator<Item = &'a Live>) -> Vec<(StackId, u64, u64)> {
    let mut sums: HashMap<StackId, (u64, u64), RandomState> = HashMap::default();
    for live in live {
        let sum = sums.entry(live.stack).or_default();
        *sum = (sum.0.saturating_add(live.size), sum.1 + 1);
    }
    let mut sums: Vec<_> = sums.into_iter().map(|(stack, (bytes, count))| (stack, bytes, count)).collect();
    sums.sort_by_key(|&(stack, bytes, _)| (std::cmp::Reverse(bytes), stack));
    sums
}

/// The memory in use by category.
pub(super) fn bands<'a>(live: impl Iterator<Item = &'a Live>, categories: &Categories) -> Vec<Band> {
    let mut sums = [[(0u64, 0u64); 2]; Category::ALL.len()];
    for live in live {
        let (category, profiler) = match live.category {
            Some(category) => (category, 1),
            None => (categories.get(live.stack), 0),
        };
        let sum = &mut sums[category as usize][profiler];
        *sum = (sum.0.saturating_add(live.size), sum.1 + 1);
    }
    let mut bands: Vec<Band> = Category::ALL
        .into_iter()
        .zip(sums)
        .filter(|(_, [stack, profiler])| stack.1 + profiler.1 > 0)
        .map(|(category, [stack, profiler])| Band {
            category,
            bytes: ByteSize::new(stack.0) + ByteSize::new(profiler.0),
            count: stack.1 + profiler.1,
            source: if profiler.0 > stack.0 { CategorySource::Profiler } else { CategorySource::Stack },
        })
        .collect();
    bands.sort_by_key(|band| std::cmp::Reverse(band.bytes));
    bands
}

impl Telling<'_> {
    /// The first of `stacks` in readable form.
    pub(super) fn culprits(&self, stacks: &[(StackId, u64, u64)]) -> Vec<Culprit> {
        stacks.iter().take(self.top).map(|&(stack, bytes, count)| self.culprit(stack, bytes, count)).collect()
    }

    pub(super) fn culprit(&self, stack: StackId, bytes: u64, count: u64) -> Culprit {
        Culprit {
            bytes: ByteSize::new(bytes),
            count,
            category: self.categories.get(stack),
            stack: self.frames.of(stack),
        }
    }
}

fn moment<'a>(point: Point, live: impl Iterator<Item = &'a Live> + Clone, telling: &Telling<'_>) -> Moment {
    let stacks = by_stack(live.clone());
    Moment {
        point,
        culprits: telling.culprits(&stacks),
        stacks: stacks.len() as u64,
        bands: bands(live, telling.categories),
    }
}

/// Judges a failed request. `end` is the device if its final state is the state of that moment.
fn oom(event: &Event, moment: Moment, end: Option<&Device>, telling: &Telling<'_>) -> OomFinding {
    let (tried, device_free) = (ByteSize::new(event.size), ByteSize::new(event.address));
    let used = moment.point.allocated + moment.point.pending_free;
    let unused = moment.point.reserved.saturating_sub(used);
    // The most that the process can have: the trace does not state the size of the device.
    let within_reach = moment.point.reserved + device_free;
    let largest_free = end.map(|device| device.segments.largest_free_for(tried));
    let private = end.map_or(ByteSize::ZERO, |device| device.segments.private());
    let share =
        |part: ByteSize, percent: u128| u128::from(part.bytes()) * 100 >= u128::from(within_reach.bytes()) * percent;
    let verdict = if u128::from(private.bytes()) * 2 > u128::from(moment.point.reserved.bytes()) {
        OomVerdict::PrivatePool
    } else if u128::from(device_free.bytes()) * 5 > u128::from(tried.bytes()) * 6 {
        OomVerdict::UnexplainedFreeExceedsRequest
    } else if unused >= tried && share(unused, 5) {
        OomVerdict::Fragmentation
    } else if share(tried, 25) && tried > device_free + unused {
        OomVerdict::SingleHugeRequest
    } else {
        OomVerdict::Capacity
    };
    OomFinding { moment, tried, device_free, stack: telling.frames.of(event.stack), largest_free, verdict }
}

/// Stacks that allocate throughout the trace and free almost nothing of it.
fn leaks(uses: &[StackUse], telling: &Telling<'_>) -> Vec<LeakSuspect> {
    let late = 0b1100_0000;
    let mut suspects: Vec<(StackId, &StackUse)> = uses
        .iter()
        .enumerate()
        .map(|(at, used)| (StackId(at as u32), used))
        .filter(|(_, used)| {
            u64::from(used.allocations) >= LEAK_ALLOCATIONS
                && used.parts.count_ones() >= LEAK_PARTS
                && used.parts & late != 0
                && u64::from(used.frees) * 20 <= u64::from(used.allocations)
        })
        .collect();
    suspects.sort_by_key(|(stack, used)| (std::cmp::Reverse(used.allocated.saturating_sub(used.freed)), *stack));
    suspects
        .into_iter()
        .filter(|(stack, _)| *stack != StackId::EMPTY)
        // These are created one after the other, and are meant to stay.
        .filter(|(stack, _)| !matches!(telling.categories.get(*stack), Category::OptimizerState | Category::Parameters))
        .take(telling.top)
        .map(|(stack, used)| LeakSuspect {
            kept: telling.culprit(
                stack,
                used.allocated.saturating_sub(used.freed),
                u64::from(used.allocations.saturating_sub(used.frees)),
            ),
            allocations: used.allocations.into(),
            frees: used.frees.into(),
            parts: used.parts.count_ones(),
        })
        .collect()
}
