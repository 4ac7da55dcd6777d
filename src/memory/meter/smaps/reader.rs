//! Decides when to read the proportional set and the mappings: they are exact and slow, so only when memory moved, and
//! for a small share of the time.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::classify::{Classifier, Context};
use super::growth::MappingTable;
use super::parse::{mappings, memory_devices};
use super::stacks::stack_pointers;
use crate::bytes::{ByteSize, MIB};
use crate::meter::process::read_pss;
use crate::meter::throttle::Throttle;
use crate::meter::tree::Node;

/// They are read again once the resident set has moved by more than this.
const MOVED: u64 = MIB;
/// The minimum time between two readings.
const AT_LEAST: Duration = Duration::from_millis(100);
/// One part in this many of the time may be spent: beside tests that keep every processor busy, the tests lose whatever
/// is spent here.
const PARTS: u32 = 200;
/// A read that takes no longer than this is made at the start and end of every phase.
const CHEAP: Duration = Duration::from_millis(20);
const BUFFER: usize = 32 << 10;

/// The result of one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SmapsPass {
    /// Not read in this pass.
    NotTaken,
    /// Read, with this delay since it was first wanted.
    Taken {
        /// The sum of the proportional sets over the tree.
        pss: ByteSize,
        /// Absent if not requested.
        mappings: Option<Arc<MappingTable>>,
        late: Duration,
    },
    /// The mappings cannot be read.
    Failed(String),
}

/// Reads the proportional set of a tree and, if requested, its mappings.
#[derive(Debug)]
pub(crate) struct SmapsReader {
    throttle: Throttle,
    /// The resident set and the number of processes at the latest reading.
    at_latest: Option<(ByteSize, usize)>,
    latest: Option<Arc<MappingTable>>,
    /// The proportional set at the latest reading, and the time of that reading.
    latest_pss: Option<(ByteSize, Instant)>,
    wanted_since: Option<Instant>,
    cost: Duration,
    /// Devices of in-memory file systems, if mappings are requested.
    memory_devices: Option<Vec<(u32, u32)>>,
    path: String,
    text: Vec<u8>,
}

impl SmapsReader {
    /// `root` is the process whose mounts are used if `mappings` are requested.
    pub(crate) fn new(root: u32, mappings: bool) -> Self {
        let mounts = || std::fs::read(format!("/proc/{root}/mountinfo")).unwrap_or_default();
        Self {
            throttle: Throttle::new(PARTS, AT_LEAST),
            at_latest: None,
            latest: None,
            latest_pss: None,
            wanted_since: None,
            cost: Duration::ZERO,
            memory_devices: mappings.then(|| memory_devices(&mounts())),
            path: String::new(),
            text: Vec::new(),
        }
    }

    /// The mappings at the latest reading.
    pub(crate) fn latest(&self) -> Option<Arc<MappingTable>> {
        self.latest.clone()
    }

    /// Reads if that is worth its cost. `edge` means that a phase begins or ends here.
    pub(crate) fn pass(&mut self, now: Instant, rss: ByteSize, nodes: &[Node], edge: bool) -> SmapsPass {
        let running = nodes.iter().filter(|node| node.memory.is_some());
        let count = running.clone().count();
        let moved = self
            .at_latest
            .is_none_or(|(before, processes)| before.bytes().abs_diff(rss.bytes()) > MOVED || processes != count);
        if moved {
            self.wanted_since.get_or_insert(now);
        }
        let wanted = moved && (self.throttle.is_due(now) || edge && self.cost <= CHEAP);
        if edge
            && !moved
            && let Some((pss, at)) = self.latest_pss
        {
            // Nothing has moved since, so the reading is still valid, as when one phase ends and the next begins.
            let late = now.saturating_duration_since(at).max(AT_LEAST);
            return SmapsPass::Taken { pss, mappings: self.latest(), late };
        }
        if !wanted {
            return SmapsPass::NotTaken;
        }
        let before = crate::thread::processor_time();
        let mut pss = ByteSize::ZERO;
        let mut table = MappingTable::default();
        for node in running {
            let read = match &self.memory_devices {
                None => read_pss(node.shown_by, &mut self.path, &mut self.text),
                Some(devices) => read_smaps(node.shown_by, devices, &mut self.path, &mut self.text, &mut table),
            };
            match read {
                Ok(bytes) => pss += bytes,
                // The process ended while the tree was read.
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    return SmapsPass::Failed(format!("{} of {}: {error}", self.path, node.name));
                }
            }
        }
        self.cost = crate::thread::processor_time().saturating_sub(before);
        self.throttle.spent(now, self.cost);
        self.at_latest = Some((rss, count));
        self.latest_pss = Some((pss, now));
        self.latest = self.memory_devices.is_some().then(|| Arc::new(table));
        let late = self.wanted_since.take().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        SmapsPass::Taken { pss, mappings: self.latest(), late: late.max(AT_LEAST) }
    }
}

/// Adds the mappings of `pid` to `table`; returns the sum of their proportional sets.
fn read_smaps(
    pid: u32,
    memory_devices: &[(u32, u32)],
    path: &mut String,
    text: &mut Vec<u8>,
    table: &mut MappingTable,
) -> io::Result<ByteSize> {
    let stack_pointers = stack_pointers(pid, path, text);
    path.clear();
    let _ = write!(path, "/proc/{pid}/smaps");
    let mut classifier = Classifier::new(Context { stack_pointers: &stack_pointers, memory_devices });
    let mut pss = ByteSize::ZERO;
    let mut empty = true;
    mappings(&mut BufReader::with_capacity(BUFFER, File::open(&*path)?), |mapping| {
        empty = false;
        pss += mapping.pss;
        classifier.push(mapping, table);
    })?;
    classifier.finish(table);
    // An ended process that waits to be reaped has no mappings.
    if empty { Err(io::ErrorKind::NotFound.into()) } else { Ok(pss) }
}

pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::smaps::{MappingKind, growth};
    use crate::meter::tree::Tree;

    #[test]
    fn what_has_not_moved_is_not_read_again() {
        let mut tree = Tree::new(std::process::id()).unwrap();
        let now = Instant::now();
        tree.read(now);
        let mut reader = SmapsReader::new(std::process::id(), true);
        let mut mappings =
            |after: u64, rss, edge| match reader.pass(now + Duration::from_secs(after), rss, tree.nodes(), edge) {
                SmapsPass::Taken { mappings, late, .. } => Some((mappings.unwrap(), late)),
                _ => None,
            };
        let (first, _) = mappings(0, ByteSize::mib(20), true).unwrap();
        assert!(mappings(60, ByteSize::mib(20), false).is_none());
        let (again, late) = mappings(60, ByteSize::mib(20), true).unwrap();
        assert!(Arc::ptr_eq(&first, &again) && late == Duration::from_secs(60), "{late:?}");
        let (moved, late) = mappings(120, ByteSize::mib(22), false).unwrap();
        assert!(!Arc::ptr_eq(&first, &moved) && late == AT_LEAST, "{late:?}");
    }

    #[test]
    fn own_memory_is_reported_by_kind() {
        let read = || {
            let mut table = MappingTable::default();
            let devices = memory_devices(&std::fs::read("/proc/self/mountinfo").unwrap());
            let pss =
                read_smaps(std::process::id(), &devices, &mut String::new(), &mut Vec::new(), &mut table).unwrap();
            assert!(pss > ByteSize::ZERO);
            table
        };
        let before = read();
        let (touched, wait) = std::sync::mpsc::channel();
        let (_alive, end) = std::sync::mpsc::channel::<()>();
        let deep = move || {
            let stack = std::hint::black_box([1u8; 3 << 20]);
            touched.send(stack[7]).unwrap();
            let _ = end.recv();
        };
        let _thread = std::thread::Builder::new().stack_size(8 << 20).spawn(deep).unwrap();
        wait.recv().unwrap();
        // A thread that is not waiting yet does not reveal its stack.
        let (grown, stacks) = loop {
            let grown = growth(&before, &read());
            let stacks = grown.iter().find(|growth| growth.kind == MappingKind::Stack).cloned();
            match stacks {
                Some(stacks) => break (grown, stacks),
                None => std::thread::yield_now(),
            }
        };
        assert!(stacks.after.saturating_sub(stacks.before) >= ByteSize::mib(3), "{grown:?}");
    }
}
