//! The end of a process tree: everything in it is killed, and nothing is left of it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::wait::reap_any;
use crate::meter::{CpuTime, ProcessId, ProcessMemory, is_stopped, process_tree};

/// A process that can neither be stopped nor killed, as it waits for a disk that is gone, must not hold us for longer,
/// each.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_micros(200);

/// Kills processes until none of those that `alive` names is left; how many were killed.
///
/// All of them are stopped first: none sees another killed and goes on, as a shell goes on with its next command, and none
/// forks meanwhile.
pub(super) fn kill_all(mut alive: impl FnMut() -> Vec<ProcessId>) -> usize {
    let began = Instant::now();
    // One that has ended has no memory left.
    let mut living =
        || alive().into_iter().filter(|id| ProcessMemory::read(id.pid).is_ok()).collect::<Vec<ProcessId>>();
    let mut stopped: HashSet<ProcessId> = HashSet::new();
    while began.elapsed() < PATIENCE {
        let others: Vec<ProcessId> = living().into_iter().filter(|id| stopped.insert(*id)).collect();
        if others.is_empty() {
            break;
        }
        let sent: Vec<ProcessId> = others.into_iter().filter(|id| send(*id, Signal::STOP)).collect();
        while sent.iter().any(|id| !is_stopped(id.pid)) && began.elapsed() < PATIENCE {
            std::thread::sleep(PAUSE);
        }
    }
    let mut killed: HashSet<ProcessId> = HashSet::new();
    loop {
        let sent: Vec<ProcessId> = living().into_iter().filter(|id| send(*id, Signal::KILL)).collect();
        if sent.is_empty() || began.elapsed() > 2 * PATIENCE {
            return killed.len();
        }
        killed.extend(sent);
        std::thread::sleep(PAUSE);
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

/// The same; also the processor time of those that were reaped, with that of the processes that they had reaped.
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
            // Fails for those that are no child of this process.
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
