//! [`AuditedWorker`]: regions of launches in a worker, by the supervisor's own clock.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use plimsoll::record::{Failure, FailureKind};
use plimsoll::run::{Audited, Job, Overhead, Patch, Region};
use rustix::fs::{MemfdFlags, SealFlags};

use super::call::CallBuilder;
use super::launcher::WorkerLauncher;
use super::process::{Cause, Watch, WorkerProcess};
use super::{death, outputs};
use crate::protocol::{Outcome, Place, Reply, Request};

/// Launches of a region that measures the overhead, few and many.
const IDLE_LAUNCHES: [usize; 2] = [8, 64];
/// Bytes of one of their patches, few and many.
const IDLE_BYTES: [u64; 2] = [64, 128 << 10];
/// Patches of one of their launches.
const IDLE_PATCHES: usize = 33;
/// A byte takes no longer to copy, even while others use the machine: what a measurement may be off is not to hide a launch.
const SLOWEST_BYTE_NS: f64 = 0.5;
/// How often each is measured: the least counts.
const IDLE_ROUNDS: usize = 3;

/// The shared memory that values lie in: a worker can read it.
///
/// # Errors
/// The system has no memory or no descriptor left.
pub fn values() -> std::io::Result<File> {
    let memory = rustix::fs::memfd_create("plimsoll-values", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK)?;
    Ok(OwnedFd::into(memory))
}

/// How long a thread has waited for a processor; zero if the system does not say.
fn waited(stat: &str) -> Duration {
    let text = std::fs::read_to_string(stat).unwrap_or_default();
    let waited = text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(waited.unwrap_or_default())
}

/// A region of idle launches, as the clock saw it beside what the worker reported; nothing if it cannot be had.
fn idle(
    process: &mut WorkerProcess,
    watch: &Watch<'_>,
    launches: usize,
    patches: usize,
    bytes: u64,
) -> Result<f64, Cause> {
    let launch = (0..patches as u64).map(|patch| (0, patch * bytes, bytes)).collect();
    let request = Request::Idle { id: 0, launches: vec![launch; launches] };
    let (reply, seen, waited) = clocked(process, &request, watch)?;
    match reply {
        Reply::Region { durations_ns, .. } => {
            let reported: u64 = durations_ns.iter().sum();
            Ok(seen.saturating_sub(waited).as_nanos() as f64 - reported as f64)
        }
        other => Err(Cause::Protocol(format!("{other:?} in answer to idle launches"))),
    }
}

/// What a worker takes beside launches. To be asked before it has loaded a kernel.
pub fn overhead(process: &mut WorkerProcess, watch: &Watch<'_>) -> Result<Overhead, Cause> {
    let mut least = |launches, patches, bytes| -> Result<f64, Cause> {
        let mut least = f64::INFINITY;
        for _ in 0..IDLE_ROUNDS {
            least = least.min(idle(process, watch, launches, patches, bytes)?);
        }
        Ok(least)
    };
    let [few, many] = IDLE_LAUNCHES;
    let [little, much] = IDLE_BYTES;
    let (short, long, large) = (least(few, 1, little)?, least(many, 1, little)?, least(few, 1, much)?);
    let patched = least(few, IDLE_PATCHES, little)?;
    // With a part of what the region takes by itself, which is little of many launches.
    let launch_ns = (long / many as f64).max(0.0);
    // Each is put in, and copied out of what was filled before.
    let byte_ns = ((large - short) / (3 * few as u64 * (much - little)) as f64).clamp(0.0, SLOWEST_BYTE_NS);
    let patch_ns = ((patched - short) / (few * (IDLE_PATCHES - 1)) as f64).max(0.0);
    Ok(Overhead { patch_ns, region_ns: short.max(0.0), launch_ns, byte_ns })
}

/// The processor time of every thread of a process so far; nothing if the system does not say.
fn processor_time(pid: u32) -> Option<Duration> {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: either call writes to the variable that it is handed, and keeps no pointer.
    let told = unsafe {
        libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    told.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// The answer to a request, how long it took, and for how much of that neither side can have run.
fn clocked(
    process: &mut WorkerProcess,
    request: &Request,
    watch: &Watch<'_>,
) -> Result<(Reply, Duration, Duration), Cause> {
    let pid = process.pid();
    let (worker, own) = (format!("/proc/{pid}/task/{pid}/schedstat"), "/proc/thread-self/schedstat");
    let line = WorkerProcess::line(request);
    let (worker_before, ran_before, own_before) = (waited(&worker), processor_time(pid), waited(own));
    let start = Instant::now();
    process.send_line(&line, watch)?;
    let own_sent = waited(own);
    let reply = process.answer(watch)?;
    let seen = start.elapsed();
    // From the request on this thread slept until there was an answer: what it waited then came after the region.
    let after = waited(own).saturating_sub(own_sent);
    // A worker that is woken by the request may take this thread's processor, and leave it to others. It has run no longer than
    // its processor time says, and may have waited meanwhile, which does not count twice.
    let ran = processor_time(pid).zip(ran_before).map_or(seen, |(now, before)| now.saturating_sub(before));
    let sending = own_sent.saturating_sub(own_before).saturating_sub(ran);
    Ok((reply, seen, waited(&worker).saturating_sub(worker_before).max(sending) + after))
}

/// A call that is resident in a worker.
pub struct AuditedWorker<'s, 'a> {
    launcher: &'s mut WorkerLauncher<'a>,
    call: CallBuilder,
}

impl<'s, 'a> AuditedWorker<'s, 'a> {
    /// Has the launcher's worker make a job resident.
    ///
    /// # Errors
    /// What the worker says, or how it ended.
    pub fn of(launcher: &'s mut WorkerLauncher<'a>, job: Job<'_>) -> Result<Self, Failure> {
        let mut audited = Self { call: launcher.call(job)?, launcher };
        let call = audited.call.message();
        let (reply, ..) = audited.ask(|id| Request::Audit { id, call }, None)?;
        match reply {
            Reply::Ready { .. } => Ok(audited),
            other => Err(audited.unexpected(&other)),
        }
    }

    fn ask(
        &mut self,
        request: impl FnOnce(u64) -> Request,
        values: Option<&[Vec<Patch>]>,
    ) -> Result<(Reply, Duration, Duration), Failure> {
        let id = self.launcher.next_id();
        let mut watch = self.launcher.profile_watch();
        let running = self.launcher.running()?;
        watch.building = running.may_build();
        if let Some(launches) = values {
            put(&running.process, launches).map_err(|error| {
                Failure::new(FailureKind::HostOom, format!("values for the arguments cannot be had: {error}"))
            })?;
        }
        match clocked(&mut running.process, &request(id), &watch) {
            Ok((Reply::Error { id: Some(of), kind, message, detail, .. }, ..)) if of == id => {
                Err(death::reported(kind, message, detail))
            }
            Ok(done) if id_of(&done.0) == Some(id) => Ok(done),
            Ok((other, ..)) => Err(self.unexpected(&other)),
            Err(cause) => Err(self.call.explain(self.launcher.lost(cause))),
        }
    }

    fn unexpected(&mut self, reply: &Reply) -> Failure {
        self.launcher.lost(Cause::Protocol(format!("{reply:?} in an audit")))
    }
}

fn id_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Ready { id } | Reply::Region { id, .. } | Reply::Settled { id, .. } => Some(*id),
        _ => None,
    }
}

/// Has the shared memory hold the bytes of patches, one after the other.
fn put(process: &WorkerProcess, launches: &[Vec<Patch>]) -> std::io::Result<()> {
    let bytes: Vec<u8> = launches.iter().flatten().flat_map(|patch| &patch.bytes).copied().collect();
    let file = process.values();
    if file.metadata()?.len() < bytes.len() as u64 {
        file.set_len(bytes.len().next_power_of_two().max(1 << 20) as u64)?;
    }
    file.write_all_at(&bytes, 0)
}

impl Audited for AuditedWorker<'_, '_> {
    fn overhead(&self) -> Overhead {
        self.launcher.overhead()
    }

    fn region(&mut self, launches: &[Vec<Patch>], keep: &[usize], fill: u8) -> Result<Region, Failure> {
        let place = |patch: &Patch| -> Place { (patch.storage, patch.at, patch.bytes.len() as u64) };
        let places = launches.iter().map(|patches| patches.iter().map(place).collect()).collect();
        let keep = keep.to_vec();
        let (reply, seen, waited) =
            self.ask(|id| Request::Region { id, launches: places, keep, fill }, Some(launches))?;
        let Reply::Region { durations_ns, outputs: kept, .. } = reply else { return Err(self.unexpected(&reply)) };
        let count: Vec<usize> = kept.iter().map(Vec::len).collect();
        let outcome = Outcome { outputs: kept.into_iter().flatten().collect(), ..Outcome::default() };
        let memory = self.launcher.running()?.process.memory().try_clone();
        let launched = memory.map_err(|error| error.to_string()).and_then(|memory| outputs::collect(&memory, outcome));
        let launched = match launched {
            Ok(launched) => launched,
            Err(what) => return Err(self.launcher.lost(Cause::Protocol(what))),
        };
        let mut all = launched.outputs.into_iter();
        let outputs = count.into_iter().map(|count| all.by_ref().take(count).collect()).collect();
        let durations_ns = durations_ns.into_iter().map(|ns| ns as f64).collect();
        Ok(Region { seen, waited, durations_ns, outputs, memory: launched.memory })
    }

    fn settle(&mut self) -> Result<Vec<String>, Failure> {
        let (reply, ..) = self.ask(|id| Request::Settle { id }, None)?;
        match reply {
            Reply::Settled { mutated, .. } => Ok(mutated),
            other => Err(self.unexpected(&other)),
        }
    }
}
