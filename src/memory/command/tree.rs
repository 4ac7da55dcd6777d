//! The end of a process tree: kills and reaps everything in it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::wait::{self, reap_any};
use crate::meter::{CpuTime, ProcessId, ProcessMemory, process_tree};

/// The time limit for a process that cannot be killed, for example because it waits for a lost disk.
const WAIT_FOR_DEATHS: Duration = Duration::from_secs(10);
const PAUSE_BETWEEN_KILLS: Duration = Duration::from_micros(200);

/// How often new processes are searched before all are killed. A tree that forks faster than the search is killed as
/// far as it is known, repeatedly.
const LOOKS: usize = 8;

/// Kills processes until `alive` returns none, parents before their children; returns how many were killed.
///
/// All of them are first sent a stop, without waiting for it. A process with a pending signal completes no fork, so
/// after one search that finds nobody new nobody can appear, and a shell whose child is killed does not start its next
/// command. A process in a system call stops only at its end, which may be gigabytes later (mmap(2) with
/// `MAP_POPULATE`, read(2)); a kill interrupts the call.
pub(super) fn kill_all(mut alive: impl FnMut() -> Vec<ProcessId>) -> usize {
    let began = Instant::now();
    // An ended process has no memory left.
    let mut living =
        || alive().into_iter().filter(|id| ProcessMemory::read(id.pid).is_ok()).collect::<Vec<ProcessId>>();
    let mut stopped: HashSet<ProcessId> = HashSet::new();
    for _ in 0..LOOKS {
        let new: Vec<ProcessId> = living().into_iter().filter(|id| stopped.insert(*id)).collect();
        if new.is_empty() {
            break;
        }
        for id in new {
            let _ = send(id, Signal::STOP);
        }
    }
    let mut killed: HashSet<ProcessId> = HashSet::new();
    loop {
        let sent: Vec<ProcessId> = living().into_iter().filter(|id| send(*id, Signal::KILL)).collect();
        if sent.is_empty() || began.elapsed() > WAIT_FOR_DEATHS {
            return killed.len();
        }
        killed.extend(sent);
        std::thread::sleep(PAUSE_BETWEEN_KILLS);
    }
}

/// Sends a signal; returns whether `id` existed. A later process with the same number is not affected.
fn send(id: ProcessId, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(id.pid.cast_signed()) else { return false };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    !id.is_gone() && rustix::process::pidfd_send_signal(&pidfd, signal).is_ok()
}

/// Kills and reaps every process below this one. For a process that starts nothing else: as a subreaper it inherits
/// what its children leave behind, such as daemons.
pub fn end_children() -> usize {
    reap_children().0
}

/// Reaps ended children: returns how many, and their processor time including that of processes they had reaped.
pub(super) fn reap_children() -> (usize, CpuTime) {
    let mut cpu = CpuTime::default();
    let killed = end(&[], |_| {
        while let Some(reaped) = reap_any() {
            cpu = cpu + reaped.cpu;
        }
    });
    (killed, cpu)
}

/// Like [`end_children`], except for the children `spared` and their descendants, whose statuses remain for their
/// parents.
pub fn end_children_but(spared: &[u32]) -> usize {
    end(spared, |others| {
        for id in others {
            // Fails for processes that are not children of this one.
            let _ = rustix::process::waitpid(Pid::from_raw(id.pid.cast_signed()), WaitOptions::NOHANG);
        }
    })
}

/// Kills every process below this one except `spared` and their descendants; returns how many were killed. `reap`
/// receives the remaining ones and reaps those that have ended.
fn end(spared: &[u32], mut reap: impl FnMut(&[ProcessId])) -> usize {
    if !wait::has_children() {
        return 0;
    }
    let own = std::process::id();
    let mut below = || {
        let spared: HashSet<ProcessId> = spared.iter().filter_map(|pid| process_tree(*pid).ok()).flatten().collect();
        let tree = process_tree(own).unwrap_or_default();
        let others: Vec<_> = tree.into_iter().filter(|id| id.pid != own && !spared.contains(id)).collect();
        reap(&others);
        others
    };
    let killed = kill_all(&mut below);
    // One that is about to end has no memory left, and cannot be reaped yet.
    let began = Instant::now();
    let ends = |id: &ProcessId| ProcessMemory::read(id.pid).is_err() && !id.is_gone();
    while below().iter().any(ends) && began.elapsed() < WAIT_FOR_DEATHS {
        std::thread::sleep(PAUSE_BETWEEN_KILLS);
    }
    killed
}
