//! After a worker: nothing that it started lives on, and its memory is back with the system.

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::meter::{SystemMemory, process_tree};
use rustix::process::{Pid, Signal, WaitOptions};

/// How far below what it was MemAvailable may stay: other programs, and the page tables and caches of the kernel, move it
/// by as much from one moment to the next.
pub const TOLERANCE: ByteSize = ByteSize::mib(64);
/// How long MemAvailable is waited for.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// MemAvailable now; `None` where it cannot be read.
pub fn available() -> Option<ByteSize> {
    SystemMemory::read().ok().and_then(|memory| memory.available)
}

/// Kills and reaps what workers left: as a subreaper, this process inherits daemons and orphans of its workers, and it
/// starts nothing else itself.
pub fn end_strays() {
    let own = std::process::id();
    // A process that forks while it is being killed needs another round; one that cannot be killed must not hold us.
    for _ in 0..100 {
        while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let strays: Vec<u32> = process_tree(own)
            .map(|tree| tree.into_iter().map(|process| process.pid).filter(|&pid| pid != own).collect())
            .unwrap_or_default();
        if strays.is_empty() {
            return;
        }
        for pid in strays.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
