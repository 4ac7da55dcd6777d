//! Takes passes over tree and system and adds them to the current phase.

mod follow;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fd::BorrowedFd;

use self::follow::DISCOVERY_PARTS;
use super::activity::{ActivityScope, Counters, TreeUsage};
use super::births::Births;
use super::cgroup::{CgroupMarks, CgroupReader};
use super::children::NewestId;
use super::counting::held_back_by;
use super::error::MeterError;
use super::finish::Ending;
use super::gpu::{GpuPass, GpuReader};
use super::lives::Lives;
use super::meminfo::SystemMemoryFile;
use super::oom::OomKills;
use super::options::MeterOptions;
use super::own::{own_mark_resets, reset_own_mark};
use super::pass::{Figure, NOT_ASKED_FOR, Pass, ProcessSample, Start};
use super::phase::{Beginning, Phase};
use super::pressure::MemoryPressure;
use super::process::{ProcessId, Stat, ignores_children};
use super::reading::{EndMark, MemorySplit, PhaseReadings, Source};
use super::smaps::{SharedReader, SmapsPass, SmapsReader};
use super::swap::SwapScope;
use super::throttle::Throttle;
use super::tree::{Node, Tree};
use super::watch::{Breach, Holder, Moment, Watches};
use crate::bytes::ByteSize;

/// Samples may take one part in this many of the time of all processors, so that all that the meter does stays below 1 %,
/// and of one processor.
const PARTS_OF_ALL: u32 = 125;
const PARTS_OF_ONE: u32 = 20;

/// The state shared by the sampler's thread and its owner.
#[derive(Debug)]
pub(crate) struct Gatherer {
    pub(crate) stop: bool,
    sample_interval: Duration,
    root: u32,
    root_id: ProcessId,
    swap: SwapScope,
    /// Whether the root has not executed its program yet, so that the tree holds nothing when the first phase begins.
    from_nothing: bool,
    resets_root: bool,
    tree: Tree,
    usage: TreeUsage,
    /// Absent if not requested, or if the kernel does not report.
    births: Option<Births>,
    /// Absent if the kernel does not report marks, or has missed an event.
    lives: Option<Lives>,
    passes: Throttle,
    discovery: Throttle,
    newest: NewestId,
    /// The newest id at the latest search, and the time of that search.
    found_up_to: Option<u64>,
    found_at: Instant,
    names: HashMap<ProcessId, String>,
    system: SystemMemoryFile,
    text: Vec<u8>,
    /// Absent if not requested.
    smaps: Option<SmapsReader>,
    shared: Option<SharedReader>,
    /// An error says why there is none.
    cgroup: Result<CgroupReader, Arc<str>>,
    /// An error says why there is none.
    gpu: Result<GpuReader, Arc<str>>,
    watches: Watches,
    phase: Option<Phase>,
    /// The state when the first phase began.
    first: Option<Start>,
    resets: u64,
    finished: Vec<PhaseReadings>,
}

impl Gatherer {
    pub(crate) fn new(options: &MeterOptions, sample_interval: Duration) -> Result<Self, MeterError> {
        let mut tree = Tree::new(options.root)?;
        if options.before_exec {
            tree.await_exec();
        }
        if options.adopts {
            tree.adopt_children_of(std::process::id());
        }
        // A process that has not executed its program yet has no children.
        let births = if options.before_exec { Births::watch(options.root) } else { None };
        Ok(Self {
            stop: false,
            sample_interval,
            root: options.root,
            root_id: tree.nodes()[0].id,
            swap: options.swap,
            from_nothing: options.before_exec,
            resets_root: options.resets_root,
            tree,
            usage: TreeUsage::new(options.root),
            lives: births.as_ref().and_then(|_| Lives::watch(options.root)),
            births,
            passes: Throttle::new(
                options.parts.unwrap_or_else(|| pass_parts(!options.watches.is_empty())),
                Duration::ZERO,
            )
            .with_head_start(),
            discovery: Throttle::new(options.parts.unwrap_or(DISCOVERY_PARTS).max(DISCOVERY_PARTS), Duration::ZERO)
                .with_head_start(),
            newest: NewestId::open(),
            found_up_to: None,
            found_at: Instant::now(),
            names: HashMap::new(),
            system: SystemMemoryFile::open()?,
            text: Vec::new(),
            smaps: (options.pss || options.mappings).then(|| SmapsReader::new(options.root, options.mappings)),
            shared: options.pss_beyond.map(SharedReader::new),
            cgroup: match &options.no_cgroup {
                Some(reason) => Err(Arc::from(reason.as_str())),
                None => CgroupReader::new(options.cgroup.as_ref(), options.root),
            },
            gpu: if options.gpu { GpuReader::new() } else { Err(Arc::from(NOT_ASKED_FOR)) },
            watches: Watches::new(&options.watches, options.swap)?,
            phase: None,
            first: None,
            resets: 0,
            finished: Vec::new(),
        })
    }

    pub(crate) fn signal(&self) -> BorrowedFd<'_> {
        self.watches.signal()
    }

    pub(crate) fn take_breach(&mut self) -> Option<Breach> {
        self.watches.take()
    }

    /// The current phase, and how long it has lasted.
    pub(super) fn under_way(&self) -> Option<(String, Duration)> {
        let phase = self.phase.as_ref()?;
        Some((phase.name().to_owned(), Duration::from_nanos(phase.nanoseconds_to(Instant::now()))))
    }

    /// The memory currently available on the system.
    pub(super) fn available(&mut self) -> Option<ByteSize> {
        self.system.read(&mut self.text).ok()?.available
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.tree.nodes()
    }

    pub(super) fn name_of<'a>(&'a self, node: &'a Node) -> &'a str {
        self.names.get(&node.id).unwrap_or(&node.name)
    }

    pub(crate) fn begin_phase(&mut self, name: &str) {
        self.end_phase();
        // The usage counters need an up-to-date list of processes.
        let events = self.follow_forks(Instant::now(), true);
        // What ended before belongs to no phase.
        self.gap(events);
        let from_nothing = std::mem::take(&mut self.from_nothing) && !self.tree.has_executed();
        let beginning = Beginning {
            at: Instant::now(),
            sample_interval: self.sample_interval,
            swap: self.swap,
            first: self.first,
            from_nothing,
            counters: self.counters(),
            reaped_faults: self.reaped_faults(),
            ended_before: self.tree.adopted() - self.tree.living(),
            ended_exactly: self.births.as_ref().and_then(Births::counts).map(|(_, ended)| ended),
            reset: self.reset_mark(),
            cgroup: self.cgroup.as_mut().map_or(CgroupMarks::ABSENT, CgroupReader::begin),
            // A program that has not started holds nothing.
            mappings: match from_nothing {
                true => Some(Arc::default()),
                false => self.smaps.as_ref().and_then(SmapsReader::latest),
            },
        };
        self.phase = Some(Phase::new(name, beginning));
        self.pass(true);
        self.first = self.first.or(self.phase.as_ref().map(|phase| phase.baseline().first));
    }

    pub(crate) fn finish(&mut self) -> Vec<PhaseReadings> {
        self.end_phase();
        std::mem::take(&mut self.finished)
    }

    fn end_phase(&mut self) {
        if self.phase.is_none() {
            return;
        }
        self.pass(true);
        if let Some(phase) = self.phase.take() {
            self.finished.push(phase.finish(self.ending()));
        }
    }

    /// The readings so far, including those of the current phase.
    pub(crate) fn so_far(&self) -> Vec<PhaseReadings> {
        let under_way = self.phase.clone().map(|phase| phase.finish(self.ending()));
        self.finished.iter().cloned().chain(under_way).collect()
    }

    fn ending(&self) -> Ending<'_> {
        Ending {
            at: Instant::now(),
            counters: self.counters(),
            reaped_faults: self.reaped_faults(),
            adopted: self.tree.adopted(),
            born: self.births.as_ref().and_then(Births::counts).map(|(born, _)| born),
            reset_since: self.tree.node(std::process::id()).is_some() && own_mark_resets() != self.resets,
            cgroup: self.cgroup.as_ref().ok(),
        }
    }

    fn counters(&self) -> Counters {
        let system = || (MemoryPressure::read(), ActivityScope::System);
        let (pressure, stalls_of) = self.cgroup.as_ref().map_or_else(|_| system(), CgroupReader::pressure);
        let system = || (OomKills::read().ok().flatten(), ActivityScope::System);
        let (oom_kills, oom_kills_of) = self.cgroup.as_ref().map_or_else(|_| system(), CgroupReader::oom_kills);
        Counters { usage: self.usage.read(&self.tree), pressure, stalls_of, oom_kills, oom_kills_of }
    }

    /// Minor faults of the children that the root has reaped; `None` if children may leave none.
    fn reaped_faults(&self) -> Option<u64> {
        let faults = Stat::read(self.root).ok()?.reaped_faults;
        (ignores_children(self.root) != Some(true)).then_some(faults)
    }

    /// Resets the high-water mark of this process if it is in the tree, or of the root if requested; returns the id of
    /// the process whose mark was reset.
    fn reset_mark(&mut self) -> Option<u32> {
        let own = std::process::id();
        if self.tree.node(own).is_some() {
            self.resets = reset_own_mark().ok()?;
            return Some(own);
        }
        self.tree.node(self.root).filter(|_| self.resets_root)?;
        std::fs::write(format!("/proc/{}/clear_refs", self.root), "5").ok()?;
        Some(self.root)
    }

    pub(crate) fn name_process(&mut self, pid: u32, name: &str) {
        if let Ok(id) = ProcessId::of(pid) {
            self.names.insert(id, name.to_owned());
        }
    }

    pub(crate) fn observe_exit(&mut self, pid: u32) {
        let now = Instant::now();
        if self.tree.node(pid).is_none() {
            self.tree.discover(now);
        }
        self.usage.observe_exit(&self.tree, pid);
        if self.tree.read_one(pid, now)
            && let Some(phase) = &mut self.phase
            && let Some(sample) = self.tree.node(pid).and_then(|node| sample(node, &self.names))
        {
            phase.record_last(sample);
        }
    }

    /// Notes that the root has ended and waits to be reaped; the kernel kept `mark`, if known.
    pub(crate) fn observe_end(&mut self, mark: Option<EndMark>) {
        self.usage.observe_exit(&self.tree, self.root);
        let Some(root) = self.tree.nodes().iter().find(|node| node.id.pid == self.root) else { return };
        // A mark that an earlier phase may have set, possibly by a child reaped in it, says nothing about this one.
        let has_reaped = self.reaped_faults() != Some(0);
        let of_this_phase = |mark: &ByteSize| {
            if has_reaped && !self.finished.is_empty() {
                return false;
            }
            let earlier = self.finished.iter().flat_map(|phase| &phase.processes);
            earlier
                .filter(|process| process.pid == self.root)
                .all(|process| process.peak_rss.source != Source::LowerBound && process.peak_rss.bytes < *mark)
        };
        let (Some(mark), Some(phase)) = (mark, &mut self.phase) else { return };
        phase.record_bound(mark.bytes() + held_back_by(root.threads));
        if let EndMark::Peak(mark) = mark
            && of_this_phase(&mark)
        {
            let name = self.names.get(&root.id).unwrap_or(&root.name);
            phase.record_end(root.id, name, mark);
        }
    }

    /// The known processes of the tree that have not ended.
    pub(crate) fn processes(&mut self) -> Vec<ProcessId> {
        self.tree.discover(Instant::now());
        self.tree.nodes().iter().filter(|node| !node.has_ended()).map(|node| node.id).collect()
    }

    /// Whether the next sample is due. Sampling may take a [limited part](pass_parts) of the time, so a very large tree
    /// is sampled less often than requested.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.passes.is_due(now)
    }

    /// When the next sample is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.passes.due()
    }

    /// Reads tree and system once. `edge` means that a phase begins or ends here, so that nothing is skipped.
    pub(crate) fn pass(&mut self, edge: bool) {
        let (now, before) = (Instant::now(), crate::thread::processor_time());
        let events = self.follow_forks(now, edge);
        self.tree.read(now);
        let gap = self.gap(events);
        let system = self.system.read(&mut self.text).map_err(|error| error.to_string());
        let cgroup = match &mut self.cgroup {
            Ok(cgroup) => cgroup.current(now, edge),
            Err(reason) => Err(Arc::clone(reason)),
        };
        self.passes.spent(now, crate::thread::processor_time().saturating_sub(before));
        let held_back = self.tree.held_back();
        // Page tables lack nothing.
        let is_whole = held_back > ByteSize::ZERO && edge && self.tree.read_page_tables();
        let lacks = if is_whole { ByteSize::ZERO } else { held_back };
        let totals = MemorySplit::of(self.tree.nodes().iter().filter_map(|node| node.memory));
        let smaps = match &mut self.smaps {
            Some(smaps) => match &totals {
                Some(totals) => smaps.pass(now, totals.rss, self.tree.nodes(), edge),
                None => SmapsPass::NotTaken,
            },
            None => SmapsPass::Failed(NOT_ASKED_FOR.to_owned()),
        };
        let gpu = match &mut self.gpu {
            Ok(gpu) => gpu.pass(now, self.tree.nodes(), edge),
            Err(reason) => GpuPass::Failed(Arc::clone(reason)),
        };
        let pass = Pass { at: now, totals, lacks, system, smaps, cgroup, gpu };
        if let Some(phase) = &mut self.phase {
            phase.start(&pass);
        }
        self.check_watches(&pass);
        if let Some(phase) = &mut self.phase {
            for node in self.tree.nodes() {
                if let Some(sample) = sample(node, &self.names) {
                    phase.record_process(sample);
                }
            }
            phase.record_gap(self.root_id, gap);
            phase.record(&pass);
            if let Some((shared, totals)) = self.shared.as_mut().zip(pass.totals)
                && let Some(read) = shared.read(now, totals.rss, self.tree.nodes())
            {
                phase.record_shared(read);
            }
        }
        if self.names.len() > self.tree.nodes().len() {
            self.names.retain(|id, _| !id.is_gone());
        }
    }

    fn check_watches(&mut self, pass: &Pass) {
        let phase = self.phase.as_ref();
        let reading = |metric| match pass.figure(metric, phase.map(Phase::baseline)) {
            Figure::Bytes(bytes) => Some(bytes),
            Figure::NotTaken | Figure::Missing(_) => None,
        };
        let (nodes, names) = (self.tree.nodes(), &self.names);
        self.watches.check(&Moment {
            phase: phase.map_or("", Phase::name),
            at_ns: phase.map_or(0, |phase| phase.nanoseconds_to(pass.at)),
            reading: &reading,
            holder: &|measure| {
                let (sample, _) = nodes
                    .iter()
                    .filter_map(|node| sample(node, names))
                    .map(|sample| (sample, measure(&sample.memory).max(Some(ByteSize::ZERO))))
                    .max_by_key(|&(sample, held)| (held, sample.memory.rss))?;
                Some(Holder { pid: sample.id.pid, name: sample.name.to_owned(), rss: sample.memory.rss })
            },
        });
    }
}

/// One part in this many of a processor's time may go into samples. A meter that watches limits must be quick, however
/// few processors there are.
fn pass_parts(watches: bool) -> u32 {
    if watches {
        return PARTS_OF_ONE;
    }
    let processors =
        std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    (PARTS_OF_ALL / processors).max(PARTS_OF_ONE)
}

fn sample<'a>(node: &'a Node, names: &'a HashMap<ProcessId, String>) -> Option<ProcessSample<'a>> {
    let name = names.get(&node.id).unwrap_or(&node.name);
    Some(ProcessSample { id: node.id, name, memory: node.memory?, held_back: held_back_by(node.threads) })
}
