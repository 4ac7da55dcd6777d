//! What the system says of the time of threads: how long they ran, and waited for a processor.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

/// The scheduler's figures of a thread. Its file stays open, as it is read twice a launch.
#[derive(Debug)]
pub(super) struct Scheduled(Option<File>);

impl Scheduled {
    /// The figures of the thread with this `schedstat`.
    pub(super) fn of(path: impl AsRef<Path>) -> Self {
        Self(File::open(path).ok())
    }

    /// How long the thread has run, and has waited for a processor; zero if the system does not report it.
    pub(super) fn times(&self) -> (Duration, Duration) {
        let mut text = [0; 64];
        let read = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(&text[..read]).unwrap_or_default();
        let mut fields = text.split_ascii_whitespace().map(|ns| ns.parse().ok());
        let mut next = || Duration::from_nanos(fields.next().flatten().unwrap_or_default());
        (next(), next())
    }
}

/// How long this thread has waited for a processor.
pub(super) fn waited() -> Duration {
    thread_local! {
        static OWN: Scheduled = Scheduled::of("/proc/thread-self/schedstat");
    }
    OWN.with(Scheduled::times).1
}

/// The processor time of every thread of a process so far; `None` if the system does not report it.
pub(super) fn processor_time(pid: u32) -> Option<Duration> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: either call writes to the variable that it is handed, and keeps no pointer.
    let read = unsafe {
        libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    read.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The processor time so far of all processes below this one but `worker` itself, those included that have ended: its
/// children, and daemons that it has left.
pub(super) fn processor_time_beside(worker: u32) -> Duration {
    let own = std::process::id();
    let (mut found, mut rest) = (BTreeSet::new(), vec![own]);
    while let Some(pid) = rest.pop() {
        if found.insert(pid) {
            rest.extend(children(pid));
        }
    }
    let of = |pid: &u32| {
        let living = if *pid == own || *pid == worker { None } else { processor_time(*pid) };
        living.unwrap_or_default() + reaped(*pid)
    };
    found.iter().map(of).sum()
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// What follows the name in the `stat` of a process or a thread, beginning with its state. The name stands in brackets, and
/// may hold anything.
pub(super) fn after_name(stat: &str) -> &str {
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest)
}

/// The processor time of the children of a process that have ended and been waited for.
fn reaped(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = after_name(&text).split_ascii_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_nanos(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_thread_are_those_of_now() {
        let own = Scheduled::of("/proc/thread-self/schedstat");
        let before = own.times().0;
        let start = processor_time(std::process::id()).unwrap();
        while processor_time(std::process::id()).unwrap() - start < Duration::from_millis(20) {}
        // The time since the last tick may be missing.
        assert!(own.times().0 > before, "{before:?}, {:?}", own.times());
        assert_eq!(Scheduled::of("/proc/0/schedstat").times(), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn the_time_of_children_counts_when_they_live_and_when_they_have_ended() {
        let own = std::process::id();
        let before = processor_time_beside(own);
        let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo done; read line";
        let mut child = std::process::Command::new("sh");
        child.args(["-c", busy]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut done = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut done).unwrap();
        let living = processor_time_beside(own) - before;
        assert!(living > Duration::ZERO);
        child.wait().unwrap();
        let ended = processor_time_beside(own) - before;
        assert!(ended + Duration::from_millis(20) > living, "{ended:?} {living:?}");
    }
}
