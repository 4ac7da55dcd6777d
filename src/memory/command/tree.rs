//! The end of a process tree: everything in it is killed, and nothing is left of it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::wait::reap_any;
use crate::meter::{CpuTime, ProcessId, ProcessMemory, process_tree};

/// A process that cannot be killed, as it waits for a disk that is gone, must not hold us for longer.
const WAIT_FOR_DEATHS: Duration = Duration::from_secs(10);
const PAUSE_BETWEEN_KILLS: Duration = Duration::from_micros(200);

/// How often new processes are looked for before all are killed. A tree that grows by generations faster than it is looked
/// through is killed as far as it is known, again and again.
const LOOKS: usize = 8;

/// Kills processes until none of those that `alive` names is left, parents before their children; how many were killed.
///
/// All of them are sent a stop first, which nothing waits for: with a signal pending, a process completes no fork any more,
/// so that after one look at which nobody new was found nobody can come, and one whose child is killed does not go on, as a
/// shell goes on with its next command. One that is within a system call stops at its end alone, which may be gigabytes
/// later (mmap(2) with `MAP_POPULATE`, read(2)); a kill ends the call.
pub(super) fn kill_all(mut alive: impl FnMut() -> Vec<ProcessId>) -> usize {
    let began = Instant::now();
    // One that has ended has no memory left.
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

/// Whether `id` was there to be sent to. A later process with the same number is not touched.
fn send(id: ProcessId, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(id.pid.cast_signed()) else { return false };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
    !id.is_gone() && rustix::process::pidfd_send_signal(&pidfd, signal).is_ok()
}

/// Kills and reaps every process below this one. For a process that starts nothing else: as a subreaper it inherits what
/// its children leave behind, such as daemons.
pub fn end_children() -> usize {
    reap_children().0
}

/// Reaps children that have ended: how many, and their processor time with that of the processes they had reaped.
pub(super) fn reap_children() -> (usize, CpuTime) {
    let mut cpu = CpuTime::default();
    let killed = end(&[], |_| {
        while let Some(reaped) = reap_any() {
            cpu = cpu + reaped.cpu;
        }
    });
    (killed, cpu)
}

/// As [`end_children`], but for the children `spared` and the processes below them. Their statuses are left to who waits
/// for them.
pub fn end_children_but(spared: &[u32]) -> usize {
    end(spared, |others| {
        for id in others {
            // Fails for those that are not a child of this process.
            let _ = rustix::process::waitpid(Pid::from_raw(id.pid.cast_signed()), WaitOptions::NOHANG);
        }
    })
}

/// Kills every process below this one but those `spared` and below; how many were killed. `reap` is given those that are left,
/// to reap what of them has ended.
fn end(spared: &[u32], mut reap: impl FnMut(&[ProcessId])) -> usize {
    let own = std::process::id();
    let mut below = || {
        let spared: HashSet<ProcessId> = spared.iter().filter_map(|pid| process_tree(*pid).ok()).flatten().collect();
        let tree = process_tree(own).unwrap_or_default();
        let others: Vec<_> = tree.into_iter().filter(|id| id.pid != own && !spared.contains(id)).collect();
        reap(&others);
        others
    };
    let killed = kill_all(&mut below);
    below();
    killed
}
