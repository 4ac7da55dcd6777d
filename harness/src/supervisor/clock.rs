//! What the system says of the time of threads: how long they ran, and waited for a processor.

use std::time::Duration;

/// How long a thread has run, and has waited for a processor; zero if the system does not report it.
pub(super) fn scheduled(stat: &str) -> (Duration, Duration) {
    let text = std::fs::read_to_string(stat).unwrap_or_default();
    let mut fields = text.split_ascii_whitespace().map(|ns| ns.parse().ok());
    let mut next = || Duration::from_nanos(fields.next().flatten().unwrap_or_default());
    (next(), next())
}

/// How long a thread has waited for a processor.
pub(super) fn waited(stat: &str) -> Duration {
    scheduled(stat).1
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
