//! [`Building`]: whether a first launch that takes longer than allowed is building its kernel.
//!
//! `load_inline` and `torch.compile` run compilers when a kernel is first launched. While processes below the worker
//! use processor time, the worker builds; a launch that hangs, or sleeps with a sleeping child, still ends at its
//! timeout.

use std::time::{Duration, Instant};

use plimsoll::meter::process_tree;

use super::clock::after_name;

/// A launch that may build.
pub struct Building {
    worker: u32,
    until: Instant,
    /// The processor time of the worker's descendants, in ticks, at the last look.
    seen: u64,
}

impl Building {
    /// Begins to watch the worker `pid`, which may build for as long as `limit`.
    pub fn begin(worker: u32, limit: Duration) -> Self {
        Self { worker, until: Instant::now() + limit, seen: ticks_below(worker) }
    }

    /// Whether processes below the worker have used processor time since the last look, and time is left.
    pub fn goes_on(&mut self) -> bool {
        let now = ticks_below(self.worker);
        let went_on = now > self.seen;
        self.seen = now;
        went_on && self.in_time()
    }

    /// Whether time is left to build.
    pub fn in_time(&self) -> bool {
        Instant::now() < self.until
    }
}

/// The processor time of all processes below `worker`, including those that it has waited for.
pub(super) fn ticks_below(worker: u32) -> u64 {
    let tree = process_tree(worker).unwrap_or_default();
    tree.iter().filter_map(|process| ticks(process.pid, process.pid == worker)).sum()
}

/// The time of one process, in ticks: its own, unless only its children's (`alone`) is wanted, and that of children it
/// has waited for.
fn ticks(pid: u32, alone: bool) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // utime is the twelfth field behind the name, then stime, cutime, cstime.
    let mut fields = after_name(&stat).split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let mut next = || fields.next().and_then(Result::ok);
    let (utime, stime, cutime, cstime) = (next()?, next()?, next()?, next()?);
    Some(cutime + cstime + if alone { 0 } else { utime + stime })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_child_uses_is_building_and_what_sleeps_is_not() {
        let own = std::process::id();
        let mut building = Building::begin(own, Duration::from_secs(600));
        let mut asleep = Command::new("sleep").arg("600").spawn().unwrap();
        // Wait until the process sleeps: starting takes time too.
        while building.goes_on() {
            std::thread::yield_now();
        }
        // The shell counts until it has used a few ticks, however long that takes.
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        while !building.goes_on() {
            std::thread::yield_now();
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        let mut spent = Building::begin(own, Duration::ZERO);
        spent.seen = 0;
        assert!(!spent.goes_on(), "no time is left");
        asleep.kill().unwrap();
        asleep.wait().unwrap();
    }
}
