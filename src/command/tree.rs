//! The end of a process tree: everything in it is killed, and nothing is left of it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use crate::meter::{ProcessId, ProcessMemory, process_tree};

/// A process that cannot be killed, as it waits for a disk that is gone, must not hold us for longer.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// Kills processes until none of those that `alive` names is left, which may fork while they are being killed. How many
/// were killed. `root` is stopped and killed last: what the others leave behind becomes its children, where `alive` finds
/// it.
pub(super) fn kill_all(root: u32, mut alive: impl FnMut() -> Vec<ProcessId>) -> usize {
    let began = Instant::now();
    let mut killed: HashSet<ProcessId> = HashSet::new();
    loop {
        // One that has ended has no memory left.
        let left: Vec<ProcessId> = alive().into_iter().filter(|id| ProcessMemory::read(id.pid).is_ok()).collect();
        let others = left.iter().any(|id| id.pid != root);
        let sent = left.iter().filter(|id| {
            let signal = if id.pid == root && others { Signal::STOP } else { Signal::KILL };
            let sent = send(**id, signal);
            if sent && signal == Signal::KILL {
                killed.insert(**id);
            }
            sent
        });
        if sent.count() == 0 || began.elapsed() > PATIENCE {
            return killed.len();
        }
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
    let own = std::process::id();
    let below = || {
        reap();
        process_tree(own).map_or_else(|_| Vec::new(), |tree| tree.into_iter().filter(|id| id.pid != own).collect())
    };
    let killed = kill_all(own, below);
    reap();
    killed
}

fn reap() {
    while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
}
