//! One pass over tree and system after the other, into the phase that is under way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fd::BorrowedFd;

use super::error::MeterError;
use super::meminfo::SystemMemoryFile;
use super::options::MeterOptions;
use super::phase::{Beginning, Pass, Phase, ProcessSample, PssPass};
use super::process::{ProcessId, Stat};
use super::pss::PssReader;
use super::reading::{Metric, PhaseReadings};
use super::throttle::{Throttle, thread_time};
use super::tree::{Node, Totals, Tree};
use super::watch::{Breach, Holder, Moment, Watches};
use crate::bytes::ByteSize;

/// One part in so many of the time may go into samples.
const PASS_PARTS: u32 = 20;
/// One part in so many of the time may go into finding new processes, which costs much where there are many threads.
const DISCOVERY_PARTS: u32 = 100;

/// How often the high-water mark of this process was reset: two meters in one process reset each other's.
static RESETS: AtomicU64 = AtomicU64::new(0);

/// What the sampler's thread and its owner share.
#[derive(Debug)]
pub(crate) struct Gatherer {
    pub(crate) stop: bool,
    interval: Duration,
    root: u32,
    tree: Tree,
    passes: Throttle,
    discovery: Throttle,
    names: HashMap<ProcessId, String>,
    system: SystemMemoryFile,
    text: Vec<u8>,
    /// Absent where it was not asked for.
    pss: Option<PssReader>,
    watches: Watches,
    phase: Option<Phase>,
    resets: u64,
    finished: Vec<PhaseReadings>,
}

impl Gatherer {
    pub(crate) fn new(options: &MeterOptions, interval: Duration) -> Result<Self, MeterError> {
        Ok(Self {
            stop: false,
            interval,
            root: options.root,
            tree: Tree::new(options.root)?,
            passes: Throttle::new(PASS_PARTS, Duration::ZERO),
            discovery: Throttle::new(DISCOVERY_PARTS, Duration::ZERO),
            names: HashMap::new(),
            system: SystemMemoryFile::open()?,
            text: Vec::new(),
            pss: options.pss.then(PssReader::new),
            watches: Watches::new(&options.watches)?,
            phase: None,
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

    pub(crate) fn begin_phase(&mut self, name: &str) {
        self.end_phase();
        let reaped_faults = self.reaped_faults();
        let reset = self.reset_own_mark();
        self.phase = Some(Phase::new(name, Instant::now(), self.interval, Beginning { reset, reaped_faults }));
        self.pass(true);
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
        let reaped_faults = self.reaped_faults();
        if let Some(phase) = self.phase.take() {
            let reset_since = RESETS.load(Ordering::SeqCst) != self.resets;
            self.finished.push(phase.finish(Instant::now(), reaped_faults, reset_since));
        }
    }

    fn reaped_faults(&self) -> Option<u64> {
        Stat::read(self.root).ok().map(|stat| stat.reaped_faults)
    }

    /// Resets the high-water mark of this process where it is in the tree; its id where that was done.
    fn reset_own_mark(&mut self) -> Option<u32> {
        let own = std::process::id();
        self.tree.node(own)?;
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        self.resets = RESETS.fetch_add(1, Ordering::SeqCst) + 1;
        Some(own)
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
        if self.tree.read_one(pid, now)
            && let Some(phase) = &mut self.phase
            && let Some(sample) = self.tree.node(pid).and_then(|node| sample(node, &self.names))
        {
            phase.record_last(sample);
        }
    }

    /// Whether the next sample is due: a sample may take one part in [`PASS_PARTS`] of the time, so that a tree of very
    /// many processes is sampled less often than asked for.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.passes.is_due(now)
    }

    /// Reads tree and system once. `edge` tells that a phase begins or ends here, where nothing is spared.
    pub(crate) fn pass(&mut self, edge: bool) {
        let (now, before) = (Instant::now(), thread_time());
        if edge || self.discovery.is_due(now) {
            let before = thread_time();
            self.tree.discover(now);
            self.discovery.spent(now, thread_time().saturating_sub(before));
        }
        self.tree.read(now);
        let system = self.system.read(&mut self.text).map_err(|error| error.to_string());
        self.passes.spent(now, thread_time().saturating_sub(before));
        let totals = Totals::of(self.tree.nodes().iter().filter_map(|node| node.memory));
        let pss = match &mut self.pss {
            Some(pss) => match &totals {
                Some(totals) => pss.pass(now, totals.rss, self.tree.nodes(), edge),
                None => PssPass::NotTaken,
            },
            None => PssPass::Failed("it was not asked for".to_owned()),
        };
        let pass = Pass { at: now, totals, system, pss };
        self.check_watches(&pass);
        if let Some(phase) = &mut self.phase {
            for node in self.tree.nodes() {
                if let Some(sample) = sample(node, &self.names) {
                    phase.record_process(sample);
                }
            }
            phase.record(&pass);
        }
        if self.names.len() > self.tree.nodes().len() {
            self.names.retain(|id, _| !id.is_gone());
        }
    }

    fn check_watches(&mut self, pass: &Pass) {
        let phase = self.phase.as_ref();
        let system = pass.system.as_ref().ok();
        let reading = |metric| match metric {
            Metric::PeakRss => Some(pass.totals?.rss),
            Metric::PeakAnon => pass.totals?.anon,
            Metric::PeakFile => pass.totals?.file,
            Metric::PeakShmem => pass.totals?.shmem,
            Metric::PeakSwap => pass.totals?.swap,
            Metric::PeakPss => match pass.pss {
                PssPass::Sum { bytes, .. } => Some(bytes),
                PssPass::NotTaken | PssPass::Failed(_) => None,
            },
            Metric::SwapGrowth => phase?.swap_growth(system?),
            Metric::AvailableFloor => system?.available,
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

fn sample<'a>(node: &'a Node, names: &'a HashMap<ProcessId, String>) -> Option<ProcessSample<'a>> {
    let name = names.get(&node.id).unwrap_or(&node.name);
    Some(ProcessSample { id: node.id, name, memory: node.memory? })
}
