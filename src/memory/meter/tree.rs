//! A process tree: its members and their memory.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::children::ChildFinder;
use super::counting::{held_back_by, parse_rollup};
use super::error::MeterError;
use super::process::{ProcessId, ProcessMemory, Stat, Status, living_thread};
use super::shared_memory::Forked;
use super::text::{TextFile, read_path, read_single};
use crate::bytes::ByteSize;

/// The number of status files kept open; further processes are opened anew for every reading.
const OPEN_FILES: usize = 256;

/// Page tables are walked for at most this much memory, which takes some 20 ms.
const WALKED_AT_MOST: ByteSize = ByteSize::gib(2);

/// How long a forked process without exec is skipped: until exec its memory is its parent's, which must neither be
/// counted twice nor as its own. A process that lives on as a fork counts after this time, and one that holds more than
/// its parent counts at once.
pub(crate) const NEWBORN: Duration = Duration::from_millis(100);

/// A process of the tree.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: ProcessId,
    /// The name of its command.
    pub(crate) name: String,
    /// Its memory in the latest pass; absent while it is newborn and once it has ended.
    pub(crate) memory: Option<ProcessMemory>,
    parent: u32,
    pub(crate) threads: u64,
    seen: Instant,
    forked: bool,
    /// Whether its memory counted though it had not executed a program.
    pub(crate) lived_as_fork: bool,
    /// Whether the process waits to be reaped.
    ended: bool,
    /// The thread whose files in /proc show its memory: the first, unless that has ended before others.
    pub(crate) shown_by: u32,
    status: Option<TextFile>,
}

impl Node {
    /// Whether it is known to have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}

/// The tree below a process, that process included.
///
/// A process stays in the tree until it ends, even if its parent ended first.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    known: HashSet<u32>,
    /// The number of processes taken in so far.
    adopted: u64,
    finder: ChildFinder,
    /// Whether the root will execute a program rather than live on as a fork.
    awaits_exec: bool,
    /// A process outside the tree whose children belong to it.
    adopter: Option<u32>,
    /// Scratch.
    found: Vec<u32>,
    path: String,
    text: Vec<u8>,
}

impl Tree {
    /// # Errors
    /// [`MeterError::Read`] if there is no process `root`.
    pub(crate) fn new(root: u32) -> Result<Self, MeterError> {
        Self::with(root, ChildFinder::new())
    }

    /// Skips the root until it has executed its program, however long that takes.
    pub(crate) fn await_exec(&mut self) {
        self.nodes[0].forked = Stat::read(self.nodes[0].id.pid).is_ok_and(|stat| stat.forked);
        self.awaits_exec = true;
    }

    /// Whether the root has executed its program.
    pub(crate) fn has_executed(&self) -> bool {
        self.nodes.first().is_none_or(|root| !root.forked)
    }

    /// Adds every process that `pid`, a subreaper that is not in the tree itself, inherits.
    pub(crate) fn adopt_children_of(&mut self, pid: u32) {
        self.adopter = Some(pid);
    }

    fn with(root: u32, finder: ChildFinder) -> Result<Self, MeterError> {
        let mut tree = Self {
            nodes: Vec::new(),
            known: HashSet::new(),
            adopted: 0,
            finder,
            awaits_exec: false,
            adopter: None,
            found: Vec::new(),
            path: String::new(),
            text: Vec::new(),
        };
        let stat = Stat::read(root)?;
        tree.adopt(root, &Stat { forked: false, ..stat }, Instant::now());
        Ok(tree)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many processes were taken in, including the root.
    pub(crate) fn adopted(&self) -> u64 {
        self.adopted
    }

    /// How many of them have not ended.
    pub(crate) fn living(&self) -> u64 {
        self.nodes.iter().filter(|node| !node.ended).count() as u64
    }

    pub(crate) fn node(&self, pid: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id.pid == pid && !node.ended)
    }

    /// Finds new processes.
    pub(crate) fn discover(&mut self, now: Instant) {
        self.finder.begin();
        if let Some(adopter) = self.adopter {
            // The kernel gives orphans to its main thread. It starts nothing but the root, which is known.
            self.adopt_all(adopter, 1, now);
        }
        let mut next = 0;
        // Children are appended, so the same walk also searches their children.
        while let Some(node) = self.nodes.get(next) {
            next += 1;
            if !node.ended {
                let (pid, threads) = (node.id.pid, node.threads);
                self.adopt_all(pid, threads, now);
            }
        }
    }

    /// Adds a process whose fork the kernel has reported.
    pub(crate) fn take_in(&mut self, pid: u32, now: Instant) {
        if !self.known.contains(&pid)
            && let Ok(stat) = Stat::read(pid)
        {
            self.adopt(pid, &stat, now);
        }
    }

    /// Adds those children of `parent` that are not in the tree yet.
    fn adopt_all(&mut self, parent: u32, threads: u64, now: Instant) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.finder.children(parent, threads, &mut found);
        for &pid in &found {
            self.take_in(pid, now);
        }
        self.found = found;
    }

    fn adopt(&mut self, pid: u32, stat: &Stat, now: Instant) {
        let status = if self.nodes.len() < OPEN_FILES { open_status(pid, &mut self.path) } else { None };
        self.known.insert(pid);
        self.adopted += 1;
        self.nodes.push(Node {
            id: ProcessId { pid, start_ticks: stat.start_ticks },
            name: String::new(),
            memory: None,
            parent: stat.parent,
            // A process that already has threads is searched through all of them.
            threads: 2,
            seen: now,
            forked: stat.forked,
            lived_as_fork: false,
            ended: false,
            shown_by: pid,
            status,
        });
    }

    /// Reads the memory of every process, and removes processes that are completely gone.
    pub(crate) fn read(&mut self, now: Instant) {
        for at in 0..self.nodes.len() {
            self.read_node(at, now);
        }
        let known = &mut self.known;
        self.nodes.retain(|node| {
            let gone = node.ended && node.id.is_gone();
            if gone {
                known.remove(&node.id.pid);
            }
            !gone
        });
    }

    /// What the kernel's counters may lack of the tree at most.
    pub(crate) fn held_back(&self) -> ByteSize {
        self.nodes.iter().filter(|node| node.memory.is_some()).map(|node| held_back_by(node.threads)).sum()
    }

    /// Replaces the resident sets by those that page tables show, from which no thread holds anything back. Returns
    /// whether that was possible for every process, and worth its time.
    pub(crate) fn read_page_tables(&mut self) -> bool {
        let running = self.nodes.iter_mut().filter(|node| node.memory.is_some());
        let mut left = WALKED_AT_MOST;
        running.fold(true, |all, node| {
            let Some(memory) = node.memory.filter(|memory| memory.rss <= left) else { return false };
            left = left.saturating_sub(memory.rss);
            self.path.clear();
            let _ = write!(self.path, "/proc/{}/smaps_rollup", node.shown_by);
            let read = read_path(&self.path, &mut self.text).ok().and_then(parse_rollup);
            node.memory = Some(read.map_or(memory, |(rss, anon)| memory.with_resident(rss, anon)));
            all && read.is_some()
        })
    }

    /// Reads the memory of one process; returns whether it still has any.
    pub(crate) fn read_one(&mut self, pid: u32, now: Instant) -> bool {
        let Some(at) = self.nodes.iter().position(|node| node.id.pid == pid) else { return false };
        self.read_node(at, now);
        self.nodes[at].memory.is_some()
    }

    fn read_node(&mut self, at: usize, now: Instant) {
        let node = &mut self.nodes[at];
        if node.ended {
            return;
        }
        // Asked before the memory is read, so that the memory after exec is the new program's.
        node.forked = node.forked && Stat::read(node.id.pid).is_ok_and(|stat| stat.forked);
        let mut found = read_status(node, &mut self.path, &mut self.text);
        let others = found.map_or(node.shown_by != node.id.pid, |status| status.memory.is_none() && status.threads > 1);
        if others && let Some(thread) = living_thread(node.id.pid) {
            node.shown_by = thread;
            node.status = node.status.take().and_then(|_| open_status(thread, &mut self.path));
            found = read_status(node, &mut self.path, &mut self.text);
        }
        let Some(Status { name, parent, threads, memory: Some(memory) }) = found else {
            node.memory = None;
            node.ended = true;
            node.status = None;
            return;
        };
        node.parent = parent;
        node.threads = threads;
        if node.name.as_bytes() != name {
            node.name = String::from_utf8_lossy(name).into_owned();
        }
        node.memory = Some(memory);
        if node.forked {
            let (pid, age) = (node.id.pid, now.saturating_duration_since(node.seen));
            let parent_memory = self.node(parent).and_then(|parent| parent.memory);
            let fork = parent_memory.map(|parent_memory| Forked { pid, memory, age, parent, parent_memory });
            let borrows = fork.is_some_and(|fork| fork.borrows_memory());
            let newborn = age < NEWBORN && !fork.is_some_and(|fork| fork.has_grown());
            // If exec happened meanwhile, the reading may be from before it.
            let still = Stat::read(pid).is_ok_and(|stat| stat.forked);
            if newborn || (self.awaits_exec && at == 0) || borrows || !still {
                self.nodes[at].memory = None;
            } else {
                // Its memory stays its own, and counts without further questions.
                let node = &mut self.nodes[at];
                (node.forked, node.lived_as_fork) = (false, true);
            }
        }
    }
}

fn read_status<'t>(node: &Node, path: &mut String, text: &'t mut Vec<u8>) -> Option<Status<'t>> {
    let text = match &node.status {
        Some(file) => file.read_single(text).ok()?,
        // The id may belong to another process by now; its start time shows that.
        None if node.id.is_gone() => return None,
        None => {
            path.clear();
            let _ = write!(path, "/proc/{}/status", node.shown_by);
            read_single(path, text).ok()?
        }
    };
    Status::parse(text)
}

fn open_status(pid: u32, path: &mut String) -> Option<TextFile> {
    path.clear();
    let _ = write!(path, "/proc/{pid}/status");
    TextFile::open(path).ok()
}

/// The processes below `root` that are alive or wait to be reaped: `root` first, parents before their children.
///
/// # Errors
/// [`MeterError::Read`] if there is no process `root`.
pub fn process_tree(root: u32) -> Result<Vec<ProcessId>, MeterError> {
    let mut tree = Tree::new(root)?;
    tree.discover(Instant::now());
    Ok(tree.nodes.iter().map(|node| node.id).collect())
}
