//! A simulated caching allocator with its snapshots, and the true state of its memory at each event.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::writer::{Object, dict, list, text};

/// The state of memory right after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub allocated: u64,
    pub pending: u64,
    pub reserved: u64,
    /// Bytes and allocations by stack.
    pub stacks: BTreeMap<usize, (u64, u64)>,
}

#[derive(Clone)]
struct Block {
    address: u64,
    size: u64,
    requested: u64,
    state: &'static str,
    stack: Option<usize>,
}

struct Segment {
    address: u64,
    size: u64,
    blocks: Vec<Block>,
}

/// One thing that a program does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Allocates this many bytes from this stack.
    Alloc(u64, usize),
    /// Frees one of the live blocks.
    Free(usize),
    /// Frees a block that a stream still uses.
    FreeWhileUsed(usize),
    /// The streams are done.
    Synchronise,
    /// A request fails.
    Oom(u64, usize),
    EmptyCache,
}

pub struct Allocator {
    pub stacks: Vec<Object>,
    /// Whether frees have stacks of their own.
    all_contexts: bool,
    next: u64,
    segments: Vec<Segment>,
    pending: Vec<(u64, Option<usize>)>,
    entries: Vec<Object>,
    pub truths: Vec<Truth>,
    /// The events that are OOMs.
    pub ooms: Vec<usize>,
}

/// Stacks of `depth` frames, which share their outer ones.
pub fn stacks(count: usize, depth: usize) -> Vec<Object> {
    let frame = |name: &str, line: usize| {
        dict([("filename", text("/home/user/model.py")), ("name", text(name)), ("line", (line as u64).into())])
    };
    let outer: Vec<Object> = (0..depth).map(|at| frame("_call_impl", 100 + at)).collect();
    (0..count)
        .map(|at| list(std::iter::once(frame(&format!("layer{at}"), at)).chain(outer.iter().cloned()).collect()))
        .collect()
}

impl Allocator {
    /// Creates an allocator whose addresses begin at `base`.
    pub fn new(base: u64, stacks: Vec<Object>, all_contexts: bool) -> Self {
        Self {
            stacks,
            all_contexts,
            next: base,
            segments: Vec::new(),
            pending: Vec::new(),
            entries: Vec::new(),
            truths: Vec::new(),
            ooms: Vec::new(),
        }
    }

    fn record(&mut self, action: &str, address: u64, size: u64, stack: Option<usize>) {
        let time = 1_700_000_000_000_000 + 5 * self.entries.len() as u64;
        let place = if action == "oom" { "device_free" } else { "addr" };
        let mut entry = vec![
            (text("action"), text(action)),
            (text(place), address.into()),
            (text("size"), size.into()),
            (text("stream"), 0u64.into()),
            (text("time_us"), time.into()),
            (text("compile_context"), text("N/A")),
        ];
        if let Some(stack) = stack {
            entry.push((text("frames"), self.stacks[stack].clone()));
        }
        self.entries.push(Object::Dict(Rc::new(entry)));
        self.truths.push(Truth { allocated: 0, pending: 0, reserved: 0, stacks: BTreeMap::new() });
    }

    /// Completes the truth of the last event.
    fn settle(&mut self) {
        let mut truth = Truth { allocated: 0, pending: 0, reserved: 0, stacks: BTreeMap::new() };
        for segment in &self.segments {
            truth.reserved += segment.size;
            for block in &segment.blocks {
                match (block.state, block.stack) {
                    ("active_allocated", Some(stack)) => {
                        truth.allocated += block.requested;
                        let sum = truth.stacks.entry(stack).or_default();
                        *sum = (sum.0 + block.requested, sum.1 + 1);
                    }
                    ("active_pending_free", _) => truth.pending += block.requested,
                    _ => {}
                }
            }
        }
        *self.truths.last_mut().unwrap() = truth;
    }

    fn block(&mut self, address: u64) -> &mut Block {
        self.segments.iter_mut().flat_map(|segment| &mut segment.blocks).find(|block| block.address == address).unwrap()
    }

    fn live(&self) -> Vec<u64> {
        let blocks = self.segments.iter().flat_map(|segment| &segment.blocks);
        blocks.filter(|block| block.state == "active_allocated").map(|block| block.address).collect()
    }

    pub fn run(&mut self, step: Step) {
        match step {
            Step::Alloc(size, stack) => self.alloc(size, stack % self.stacks.len()),
            Step::Free(at) | Step::FreeWhileUsed(at) => {
                let live = self.live();
                if live.is_empty() {
                    return;
                }
                self.free(live[at % live.len()], matches!(step, Step::FreeWhileUsed(_)));
            }
            Step::Synchronise => {
                for (address, stack) in std::mem::take(&mut self.pending) {
                    self.complete(address, stack);
                }
            }
            Step::Oom(size, stack) => {
                self.ooms.push(self.entries.len());
                self.record("oom", 4096, size, Some(stack % self.stacks.len()));
                self.settle();
            }
            Step::EmptyCache => {
                let unused = |segment: &Segment| segment.blocks.iter().all(|block| block.state == "inactive");
                while let Some(at) = self.segments.iter().position(unused) {
                    let segment = self.segments.remove(at);
                    self.record("segment_free", segment.address, segment.size, None);
                    self.settle();
                }
            }
        }
    }

    fn alloc(&mut self, size: u64, stack: usize) {
        let rounded = size.max(1).next_multiple_of(512);
        let fits = |block: &Block| block.state == "inactive" && block.size >= rounded;
        let found = self.segments.iter().position(|segment| segment.blocks.iter().any(fits));
        let at = found.unwrap_or_else(|| {
            let total = rounded.next_multiple_of(1 << 21);
            let address = self.next;
            self.next += total;
            let block = Block { address, size: total, requested: 0, state: "inactive", stack: None };
            self.segments.push(Segment { address, size: total, blocks: vec![block] });
            self.record("segment_alloc", address, total, Some(stack));
            self.settle();
            self.segments.len() - 1
        });
        let blocks = &mut self.segments[at].blocks;
        let at = blocks.iter().position(fits).unwrap();
        let rest =
            Block { address: blocks[at].address + rounded, size: blocks[at].size - rounded, ..blocks[at].clone() };
        if rest.size > 0 {
            blocks.insert(at + 1, rest);
        }
        let address = blocks[at].address;
        blocks[at] = Block { address, size: rounded, requested: size, state: "active_allocated", stack: Some(stack) };
        self.record("alloc", address, size, Some(stack));
        self.settle();
    }

    fn free(&mut self, address: u64, pending: bool) {
        let stack = if self.all_contexts { Some(self.stacks.len() - 1) } else { self.block(address).stack };
        let requested = self.block(address).requested;
        self.block(address).state = "active_pending_free";
        self.record("free_requested", address, requested, stack);
        self.settle();
        if pending {
            self.pending.push((address, stack));
        } else {
            self.complete(address, stack);
        }
    }

    fn complete(&mut self, address: u64, stack: Option<usize>) {
        let requested = self.block(address).requested;
        let block = self.block(address);
        (block.state, block.requested, block.stack) = ("inactive", 0, None);
        self.record("free_completed", address, requested, stack);
        for segment in &mut self.segments {
            let mut merged: Vec<Block> = Vec::new();
            for block in segment.blocks.drain(..) {
                match merged.last_mut() {
                    Some(last) if last.state == "inactive" && block.state == "inactive" => last.size += block.size,
                    _ => merged.push(block),
                }
            }
            segment.blocks = merged;
        }
        self.settle();
    }

    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The snapshot, with the last `kept` entries of the trace.
    pub fn snapshot(&self, kept: usize) -> Object {
        let sum = |segment: &Segment, states: &[&str], of: fn(&Block) -> u64| {
            segment.blocks.iter().filter(|block| states.contains(&block.state)).map(of).sum::<u64>()
        };
        let active = ["active_allocated", "active_pending_free"];
        let frames = |stack: Option<usize>| stack.map_or_else(|| list(vec![]), |stack| self.stacks[stack].clone());
        let segments = self.segments.iter().map(|segment| {
            let blocks = segment.blocks.iter().map(|block| {
                dict([
                    ("address", block.address.into()),
                    ("size", block.size.into()),
                    ("requested_size", block.requested.into()),
                    ("state", text(block.state)),
                    ("frames", frames(block.stack)),
                ])
            });
            dict([
                ("device", 0u64.into()),
                ("address", segment.address.into()),
                ("total_size", segment.size.into()),
                ("allocated_size", sum(segment, &active[..1], |block| block.size).into()),
                ("active_size", sum(segment, &active, |block| block.size).into()),
                ("requested_size", sum(segment, &active, |block| block.requested).into()),
                ("stream", 0u64.into()),
                ("segment_type", text("large")),
                ("segment_pool_id", Object::Tuple(vec![0u64.into(), 0u64.into()])),
                ("is_expandable", Object::Bool(false)),
                ("frames", list(vec![])),
                ("blocks", list(blocks.collect())),
            ])
        });
        let trace = self.entries[self.entries.len() - kept..].to_vec();
        dict([
            ("segments", list(segments.collect())),
            ("device_traces", list(vec![list(trace), list(vec![])])),
            (
                "allocator_settings",
                dict([
                    ("PYTORCH_CUDA_ALLOC_CONF", text("expandable_segments:False")),
                    ("max_split_size", Object::Int(-1)),
                    ("garbage_collection_threshold", Object::Float(0.5)),
                    ("expandable_segments", Object::Bool(false)),
                    ("roundup_power2_divisions", dict([("1", 0u64.into()), ("2", 4u64.into())])),
                ]),
            ),
            ("external_annotations", list(vec![dict([("name", text("step")), ("stage", text("START"))])])),
        ])
    }
}
