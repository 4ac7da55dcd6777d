//! [`Loading`]: whether a worker that loads its kernel makes progress.
//!
//! An import may read gigabytes from a slow disk, start compilers or compute tables, on a machine that gives it a tenth
//! of a processor. None of that is a hang, so no clock on the wall decides: what the worker reads, what its processes
//! compute and what it waits for do.

use std::fs;
use std::time::{Duration, Instant};

use super::building::ticks_below;
use super::clock::{Scheduled, after_name, processor_time};

/// How often a worker is looked at within the time that it may be idle.
const LOOKS: u32 = 10;
/// Bytes a second, read or written, that count as progress: programs that poll a file move less.
const LEAST_RATE: f64 = 32.0 * 1024.0;
/// The share of the time for which a worker wants a processor if it computes: one that polls sleeps nearly always.
const LEAST_SHARE: u32 = 10;

/// How long a load may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// While nothing happens.
    pub idle: Duration,
    /// While the worker computes, reads little and compiles nothing.
    pub computing: Duration,
    /// At most.
    pub total: Duration,
}

/// Why a load was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Nothing happened for this long.
    Idle(Duration),
    /// The worker computed for this long.
    Computing(Duration),
    /// The load took this long.
    Long(Duration),
}

/// What a worker has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Processor time of the processes that it started, in ticks.
    below: u64,
    /// Its own processor time.
    ran: Duration,
    /// For how long its threads waited for a processor.
    queued: Duration,
    /// Bytes that it read and wrote.
    moved: u64,
    /// Whether a thread of it waits for a disk.
    waits_for_disk: bool,
}

impl Done {
    fn by(worker: u32) -> Self {
        let (queued, waits_for_disk) = threads(worker);
        let ran = processor_time(worker).unwrap_or_default();
        Self { below: ticks_below(worker), ran, queued, moved: moved(worker), waits_for_disk }
    }
}

/// A load that is watched.
pub struct Loading {
    worker: u32,
    allowed: Allowed,
    began: Instant,
    /// The last look.
    at: Instant,
    done: Done,
    /// When there was progress for the last time.
    progress: Instant,
    /// How long the worker has computed since it last read or compiled something.
    computed: Duration,
}

impl Loading {
    /// Begins to watch the worker `pid`.
    pub fn begin(worker: u32, allowed: Allowed) -> Self {
        let now = Instant::now();
        let done = Done::by(worker);
        Self { worker, allowed, began: now, at: now, done, progress: now, computed: Duration::ZERO }
    }

    /// The time to the next look.
    pub fn pause(&self) -> Duration {
        self.allowed.idle / LOOKS
    }

    /// The worker says that it waits for a process that builds.
    ///
    /// # Errors
    /// The load has taken too long.
    pub fn waits(&mut self) -> Result<(), Stuck> {
        self.progress = Instant::now();
        self.in_time()
    }

    fn in_time(&self) -> Result<(), Stuck> {
        if self.began.elapsed() < self.allowed.total { Ok(()) } else { Err(Stuck::Long(self.allowed.total)) }
    }

    /// Looks at what the worker has done since the last look.
    ///
    /// # Errors
    /// The load is stuck.
    pub fn look(&mut self) -> Result<(), Stuck> {
        self.judge(Done::by(self.worker), Instant::now())
    }

    fn judge(&mut self, done: Done, now: Instant) -> Result<(), Stuck> {
        let passed = now.saturating_duration_since(self.at);
        let before = std::mem::replace(&mut self.done, done);
        self.at = now;
        let moved = done.moved.saturating_sub(before.moved) as f64;
        if done.below > before.below || done.waits_for_disk || moved > LEAST_RATE * passed.as_secs_f64() {
            self.progress = now;
            self.computed = Duration::ZERO;
        }
        let ran = done.ran.saturating_sub(before.ran);
        if (ran + done.queued.saturating_sub(before.queued)) * LEAST_SHARE > passed {
            self.progress = now;
            // Threads that compute at the same time count once.
            self.computed += ran.min(passed);
        }
        if self.computed >= self.allowed.computing {
            return Err(Stuck::Computing(self.allowed.computing));
        }
        if now.saturating_duration_since(self.progress) >= self.allowed.idle {
            return Err(Stuck::Idle(self.allowed.idle));
        }
        self.in_time()
    }
}

/// For how long the threads of a process have waited for a processor, and whether one waits for a disk.
fn threads(pid: u32) -> (Duration, bool) {
    let (mut queued, mut waits) = (Duration::ZERO, false);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        queued += Scheduled::of(thread.path().join("schedstat")).times().1;
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        waits |= after_name(&stat).starts_with('D');
    }
    (queued, waits)
}

/// The bytes that a process has read and written, from the disk for mapped files; 0 if the system does not say.
fn moved(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let counted = |line: &str| {
        let (name, bytes) = line.split_once(": ")?;
        ["rchar", "wchar", "read_bytes"].contains(&name).then(|| bytes.parse::<u64>().ok())?
    };
    text.lines().filter_map(counted).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ALLOWED: Allowed =
        Allowed { idle: Duration::from_secs(60), computing: Duration::from_secs(120), total: Duration::from_secs(600) };

    /// The outcome of a load that does `step` in each of `looks` times of 6 s.
    fn outcome(looks: u32, step: impl Fn(&mut Done, u32)) -> Result<(), (u32, Stuck)> {
        let mut loading = Loading::begin(std::process::id(), ALLOWED);
        assert_eq!(loading.pause(), 6 * SECOND);
        let (start, mut done) = (loading.at, loading.done);
        (1..=looks).try_for_each(|look| {
            step(&mut done, look);
            loading.judge(done, start + loading.pause() * look).map_err(|stuck| (look, stuck))
        })
    }

    #[test]
    fn what_does_nothing_ends_and_what_makes_progress_does_not() {
        assert_eq!(outcome(90, |_, _| {}), Err((10, Stuck::Idle(60 * SECOND))));
        // A program that polls a lock ten times a second.
        let polls = |done: &mut Done, _: u32| (done.ran, done.moved) = (done.ran + SECOND / 50, done.moved + 6000);
        assert_eq!(outcome(90, polls), Err((10, Stuck::Idle(60 * SECOND))));
        assert_eq!(outcome(90, |done, _| done.moved += 300_000), Ok(()));
        assert_eq!(outcome(90, |done, look| done.waits_for_disk = look % 9 == 0), Ok(()));
        assert_eq!(outcome(90, |done, look| done.below += u64::from(look % 9 == 0)), Ok(()));
        assert_eq!(outcome(25, |done, look| done.below += u64::from(look < 9)), Err((18, Stuck::Idle(60 * SECOND))));
    }

    #[test]
    fn a_load_that_only_computes_ends_by_its_processor_time() {
        let alone = |done: &mut Done, _: u32| done.ran += 6 * SECOND;
        assert_eq!(outcome(90, alone), Err((20, Stuck::Computing(120 * SECOND))));
        // Sixteen threads at a time are no longer than one.
        assert_eq!(outcome(19, |done, _| done.ran += 96 * SECOND), Ok(()));
        // On a machine that is busy, the same work takes longer.
        let beside = |done: &mut Done, _: u32| (done.ran, done.queued) = (done.ran + SECOND, done.queued + 5 * SECOND);
        assert_eq!(outcome(90, beside), Ok(()));
        let reads = |done: &mut Done, _: u32| (done.ran, done.moved) = (done.ran + 6 * SECOND, done.moved + 300_000);
        assert_eq!(outcome(90, reads), Ok(()));
    }

    #[test]
    fn no_load_takes_longer_than_all_together_whatever_it_says() {
        let mut loading = Loading::begin(std::process::id(), Allowed { total: Duration::ZERO, ..ALLOWED });
        assert_eq!(loading.waits(), Err(Stuck::Long(Duration::ZERO)));
        assert_eq!(loading.look(), Err(Stuck::Long(Duration::ZERO)));
    }

    #[test]
    fn the_system_says_what_a_process_moves_and_whether_its_threads_queue() {
        let own = std::process::id();
        let before = moved(own);
        let mut folder = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut folder, &[1; 1 << 20]).unwrap();
        assert!(moved(own) >= before + (1 << 20));
        assert_eq!((moved(0), threads(0)), (0, (Duration::ZERO, false)));
    }
}
