//! [`Lives`]: what each process of a tree held at most, and so what the tree held at most at one instant, between
//! samples too.
//!
//! The kernel reports every fork, exec and exit ([`Births`](super::births::Births)), and the mark of every process that
//! ends ([`Exits`]). Between two samples a process held at most its mark at the second one, or at its end. The largest
//! sum of these marks over processes that lived at the same time bounds the tree. When a process executes a second
//! program, the mark of the first is lost, so there is no bound, unless it is the root and alone: the mark of its line
//! (`ru_maxrss`) includes the first.

use std::collections::{HashMap, HashSet};

use super::births::Event;
use super::counting::held_back_by;
use super::exits::{Exit, Exits};
use super::peaks::has_fallen;
use super::process::ProcessMemory;
use super::tree::{NEWBORN, Tree};
use crate::bytes::{ByteSize, MIB};

/// A process of the tree that lives.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    parent: u32,
    executed: bool,
    /// Whether its memory counted before it executed a program.
    lived_as_fork: bool,
    /// Whether it has replaced a program that counted, whose mark is lost.
    replaced: bool,
    /// Its mark at the latest sample.
    mark: ByteSize,
    /// What its threads may hold back from its mark at most.
    held_back: ByteSize,
}

impl Life {
    /// A process with one thread.
    fn of(parent: u32) -> Self {
        Self { parent, held_back: held_back_by(1), ..Self::default() }
    }
}

/// A process that has ended, with its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EndedProcess {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) mark: ByteSize,
    /// Whether the mark covers its whole life.
    pub(crate) whole: bool,
}

/// The upper bound of what the tree held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    /// The largest sum of known marks.
    pub(crate) known: ByteSize,
    /// Whether the root replaced a program while it was alone, so that the mark of its line counts as well.
    pub(crate) line: bool,
    /// Whether nothing more is known.
    pub(crate) unsure: bool,
}

impl Most {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { known: ByteSize::ZERO, line: false, unsure: true };

    /// Combines what is known of two times.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { known: self.known.max(other.known), line: self.line || other.line, unsure: self.unsure || other.unsure }
    }

    /// The bound, if `line` is the mark of the root's line.
    pub(crate) fn with_line(self, line: Option<ByteSize>) -> Option<ByteSize> {
        let most = if self.line { self.known.max(line?) } else { self.known };
        (!self.unsure).then_some(most)
    }
}

/// The lives between two samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) ended: Vec<EndedProcess>,
    pub(crate) most: Most,
}

/// Follows the processes of a tree from their fork to their end.
#[derive(Debug)]
pub(crate) struct Lives {
    exits: Exits,
    living: HashMap<u32, Life>,
    /// Exits that were known in the previous gap already.
    known: HashSet<u32>,
}

impl Lives {
    /// Follows the tree below `root`, which has no children and has executed nothing yet; `None` if the kernel does not
    /// report marks.
    pub(crate) fn watch(root: u32) -> Option<Self> {
        let living = HashMap::from([(root, Life::of(0))]);
        Some(Self { exits: Exits::watch()?, living, known: HashSet::new() })
    }

    /// The gap that ends with the present sample of `tree`, which was taken after `events`; `None` if something was
    /// missed.
    pub(crate) fn gap(&mut self, events: &[Event], tree: &Tree) -> Option<Gap> {
        let exits = self.exits.take()?;
        // A process that has not executed its program yet does not count.
        let mark = |memory: Option<ProcessMemory>| memory.map_or(Some(ByteSize::ZERO), |memory| memory.peak_rss);
        let alive = tree.nodes().iter().filter(|node| !node.has_ended());
        let marks = alive.filter_map(|node| Some((node.id.pid, mark(node.memory)?))).collect();
        for node in tree.nodes().iter().filter(|node| node.memory.is_some()) {
            let held_back = held_back_by(node.threads);
            self.living.entry(node.id.pid).and_modify(|life| life.held_back = life.held_back.max(held_back));
        }
        let gap = follow(events, &mut self.living, exits, &marks);
        for node in tree.nodes().iter().filter(|node| node.lived_as_fork) {
            self.living.entry(node.id.pid).and_modify(|life| life.lived_as_fork = true);
        }
        // A report may come before the fork of its process was read, so it is kept for one more gap.
        exits.retain(|pid, _| self.living.contains_key(pid) || !self.known.contains(pid));
        self.known.clear();
        self.known.extend(exits.keys());
        Some(gap)
    }
}

/// The marks of processes that live at the same time.
#[derive(Debug, Default)]
struct Together {
    /// The mark of each, and what is held back from it.
    marks: HashMap<u32, (Option<ByteSize>, ByteSize)>,
    sum: ByteSize,
    /// How many marks are unknown.
    unknown: usize,
    most: ByteSize,
    /// Whether the sum was unknown at some time.
    unsure: bool,
}

impl Together {
    fn add(&mut self, pid: u32, mark: Option<ByteSize>, life: &Life) {
        self.remove(pid);
        // A process that does not count holds nothing back.
        let held_back = if mark == Some(ByteSize::ZERO) { ByteSize::ZERO } else { life.held_back };
        self.marks.insert(pid, (mark, held_back));
        self.sum += mark.unwrap_or_default() + held_back;
        self.unknown += usize::from(mark.is_none());
        self.most = self.most.max(self.sum);
        self.unsure |= self.unknown > 0;
    }

    fn remove(&mut self, pid: u32) -> Option<ByteSize> {
        let (mark, held_back) = self.marks.remove(&pid)?;
        self.sum = self.sum.saturating_sub(mark.unwrap_or_default() + held_back);
        self.unknown -= usize::from(mark.is_none());
        mark
    }
}

/// Follows `events` from `living` on, to a sample with the marks `sampled`.
fn follow(
    events: &[Event],
    living: &mut HashMap<u32, Life>,
    exits: &mut HashMap<u32, Exit>,
    sampled: &HashMap<u32, ByteSize>,
) -> Gap {
    let executing: HashSet<u32> = events.iter().filter_map(|event| event.executed()).collect();
    // A thread that has ended reports as well, while its process grows.
    let mark = |exits: &HashMap<u32, Exit>, pid| exits.get(&pid).map(|exit| exit.mark).max(sampled.get(&pid).copied());
    let held = |exits: &HashMap<u32, Exit>, pid: u32, life: &Life| {
        let forked = !life.executed && !executing.contains(&pid);
        // Between fork and exec a process has its parent's memory, and does not count, as in samples.
        let borrows = |exit: &Exit| {
            let parent = mark(exits, life.parent).unwrap_or_default();
            exit.lived < NEWBORN && exit.mark.bytes() <= parent.bytes() + MIB
        };
        match exits.get(&pid) {
            Some(exit) if forked && borrows(exit) => Some(ByteSize::ZERO),
            // A mark falls if a program is replaced, which is an event, or if someone resets it.
            _ => mark(exits, pid).filter(|now| executing.contains(&pid) || !has_fallen(life.mark, *now)),
        }
    };
    let mut together = Together::default();
    for (pid, life) in living.iter() {
        together.add(*pid, held(exits, *pid, life), life);
    }
    let (mut ended, mut replaced) = (Vec::new(), false);
    let alone = living.len() == 1 && events.iter().all(|event| event.executed().is_some());
    for event in events {
        match *event {
            Event::Forked { parent, child } => {
                let life = Life::of(parent);
                together.add(child, held(exits, child, &life), &life);
                living.insert(child, life);
            }
            Event::Executed(pid) => {
                let Some(life) = living.get_mut(&pid) else { continue };
                if life.executed || life.lived_as_fork {
                    (replaced, life.replaced) = (true, true);
                }
                life.executed = true;
            }
            Event::Ended(pid) => {
                let life = living.remove(&pid).unwrap_or_default();
                let counted = together.remove(pid);
                if let Some(Exit { mark, name, .. }) = exits.remove(&pid)
                    && counted == Some(mark)
                {
                    ended.push(EndedProcess { pid, name, mark, whole: !life.replaced });
                }
            }
        }
    }
    for (pid, life) in living.iter_mut() {
        life.mark = sampled.get(pid).copied().unwrap_or(life.mark);
    }
    let most = Most { known: together.most, line: replaced && alone, unsure: together.unsure || replaced && !alone };
    Gap { ended, most }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ROOT: u32 = 1;

    fn fork(parent: u32, child: u32) -> Event {
        Event::Forked { parent, child }
    }

    /// The gap of `events` below a root of 2 MiB that has executed its program, with the marks in MiB of processes that
    /// end, and of those in the sample.
    fn gap(events: &[Event], ends: &[(u32, u64)], sampled: &[(u32, u64)]) -> Gap {
        let life = Life { executed: true, mark: ByteSize::mib(2), ..Life::default() };
        let exit = |mib| Exit { mark: ByteSize::mib(mib), lived: Duration::from_millis(1), name: "cc".to_owned() };
        let mut exits = ends.iter().map(|&(pid, mib)| (pid, exit(mib))).collect();
        let sampled = [(ROOT, 2)].iter().chain(sampled).map(|&(pid, mib)| (pid, ByteSize::mib(mib))).collect();
        follow(events, &mut HashMap::from([(ROOT, life)]), &mut exits, &sampled)
    }

    /// The bound if the mark of the root's line is 30 MiB.
    fn most(gap: &Gap) -> Option<u64> {
        Some(gap.most.with_line(Some(ByteSize::mib(30)))?.bytes() / MIB)
    }

    /// `mib` MiB and what the kernel of this machine may hold back of `forks`, each with one thread.
    fn with_held_back(mib: u64, forks: u64) -> Option<u64> {
        Some((ByteSize::mib(mib).bytes() + forks * held_back_by(1).bytes()) / MIB)
    }

    #[test]
    fn those_that_lived_at_the_same_time_add_up() {
        let one = |pid| [fork(ROOT, pid), Event::Executed(pid), Event::Ended(pid)];
        let ends = [(2, 30), (3, 40)];
        let after = gap(&[one(2), one(3)].concat(), &ends, &[]);
        assert_eq!(most(&after), with_held_back(42, 1));
        let marks: Vec<_> = after.ended.iter().map(|ended| (ended.pid, ended.mark, ended.whole)).collect();
        assert_eq!(marks, [(2, ByteSize::mib(30), true), (3, ByteSize::mib(40), true)]);
        let beside = [fork(ROOT, 2), fork(ROOT, 3), Event::Executed(2), Event::Executed(3), Event::Ended(3)];
        assert_eq!(most(&gap(&beside, &[(3, 40)], &[(2, 30)])), with_held_back(72, 2), "2 lives on");
    }

    #[test]
    fn a_fork_counts_if_it_holds_more_than_its_parent() {
        let events = [fork(ROOT, 2), Event::Ended(2)];
        let small = gap(&events, &[(2, 2)], &[]);
        assert_eq!((most(&small), small.ended.len()), (Some(2), 0));
        let large = gap(&events, &[(2, 50)], &[]);
        assert_eq!((most(&large), large.ended.len()), (with_held_back(52, 1), 1));
    }

    #[test]
    fn what_threads_hold_back_is_added_to_the_marks_of_all() {
        let late =
            |mib| Life { executed: true, mark: ByteSize::mib(mib), held_back: ByteSize::mib(4), ..Life::default() };
        let sampled = HashMap::from([(ROOT, ByteSize::mib(2)), (2, ByteSize::mib(30))]);
        let mut living = HashMap::from([(ROOT, late(2)), (2, late(30))]);
        let gap = follow(&[], &mut living, &mut HashMap::new(), &sampled);
        assert_eq!(most(&gap), Some(2 + 30 + 2 * 4));
    }

    #[test]
    fn a_mark_that_nobody_knows_leaves_no_bound() {
        assert_eq!(most(&gap(&[fork(ROOT, 2)], &[], &[])), None, "it was neither sampled nor reported");
        assert_eq!(most(&gap(&[], &[], &[(ROOT, 0)])), None, "someone has reset the mark");
    }

    #[test]
    fn the_mark_of_a_replaced_program_is_known_for_the_root_alone() {
        let chain = [fork(ROOT, 2), Event::Executed(2), Event::Executed(2), Event::Ended(2)];
        let replaced = gap(&chain, &[(2, 20)], &[]);
        assert_eq!((most(&replaced), replaced.ended[0].whole), (None, false));
        let alone = gap(&[Event::Executed(ROOT)], &[], &[]);
        assert_eq!((most(&alone), alone.most.with_line(None)), (Some(30), None));
        let known = Most { known: ByteSize::mib(60), ..Most::default() };
        assert_eq!(known.and(alone.most).with_line(Some(ByteSize::mib(30))), Some(ByteSize::mib(60)));
        // The event of an exec may come after the first sample of the program.
        let new = Life { mark: ByteSize::mib(1), ..Life::default() };
        let after = |life| {
            let sampled = HashMap::from([(ROOT, ByteSize::mib(2))]);
            follow(&[Event::Executed(ROOT)], &mut HashMap::from([(ROOT, life)]), &mut HashMap::new(), &sampled).most
        };
        assert!(!after(new).line && after(Life { lived_as_fork: true, ..new }).line);
    }
}
