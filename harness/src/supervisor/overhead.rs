//! [`overhead`]: the time that a worker takes beside launches, by the supervisor's own clock.

use std::time::{Duration, Instant};

use plimsoll::run::Overhead;

use super::pace::{Given, Pace};
use super::process::{Cause, Watch, WorkerProcess};
use crate::protocol::{Reply, Request};
use crate::signals::was_stopped;

/// The launches of a region that measures the overhead: few and many.
const IDLE_LAUNCHES: [usize; 2] = [8, 64];
/// The bytes of a patch: few and many.
const IDLE_BYTES: [u64; 2] = [64, 128 << 10];
/// The patches of a launch.
const IDLE_PATCHES: usize = 33;
/// The most time to copy a byte, even on a busy machine: the error of the measurement must not hide a launch.
const SLOWEST_BYTE_NS: f64 = 0.5;
/// How often each is measured; the minimum counts.
const IDLE_ROUNDS: usize = 3;

/// A region of idle launches: the time by the clock beside the time that the worker reported; `None` if unavailable.
fn idle(
    process: &mut WorkerProcess,
    watch: &Watch<'_>,
    device: Option<(u32, bool)>,
    (launches, patches, bytes): (usize, usize, u64),
) -> Result<f64, Cause> {
    let launch = (0..patches as u64).map(|patch| (0, patch * bytes, bytes)).collect();
    let (device, small_context) = (device.map(|(index, _)| index), device.is_some_and(|(_, small)| small));
    let request = Request::Idle { id: 0, launches: vec![launch; launches], device, small_context };
    let Clocked { reply, seen, waited, .. } = clocked(process, &request, watch, Given::Idle)?;
    match reply {
        Reply::Region { durations_ns, .. } => {
            let reported: f64 = durations_ns.iter().map(|&ns| ns as f64).sum();
            Ok(seen.saturating_sub(waited).as_nanos() as f64 - reported)
        }
        other => Err(Cause::Refused(Box::new(other))),
    }
}

/// A worker's overhead beside launches, on the GPU of this number if there is one, whose context takes little memory or not.
/// Must be measured before the worker has loaded a kernel.
pub fn overhead(
    process: &mut WorkerProcess,
    watch: &Watch<'_>,
    device: Option<(u32, bool)>,
) -> Result<Overhead, Cause> {
    let mut least = |launches, patches, bytes| -> Result<f64, Cause> {
        let mut least = f64::INFINITY;
        for _ in 0..IDLE_ROUNDS {
            least = least.min(idle(process, watch, device, (launches, patches, bytes))?);
        }
        Ok(least)
    };
    let [few, many] = IDLE_LAUNCHES;
    let [little, much] = IDLE_BYTES;
    let (short, long, large) = (least(few, 1, little)?, least(many, 1, little)?, least(few, 1, much)?);
    let patched = least(few, IDLE_PATCHES, little)?;
    // Includes a part of the region's own time, which is little over many launches.
    let launch_ns = (long / many as f64).max(0.0);
    // Each byte is put in, and copied out of memory that was filled before.
    let byte_ns = ((large - short) / (3 * few as u64 * (much - little)) as f64).clamp(0.0, SLOWEST_BYTE_NS);
    let patch_ns = ((patched - short) / (few * (IDLE_PATCHES - 1)) as f64).max(0.0);
    Ok(Overhead { patch_ns, region_ns: short.max(0.0), launch_ns, byte_ns })
}

/// An answer by the supervisor's clock.
pub struct Clocked {
    /// The answer.
    pub reply: Reply,
    /// How long it took.
    pub seen: Duration,
    /// For how much of that neither side can have run.
    pub waited: Duration,
    /// Whether this process was stopped meanwhile.
    pub stopped: bool,
    /// Whether the launches lie where this process's clock has them, as far as the worker says when they were.
    pub placed: bool,
}

/// The answer to a request.
pub fn clocked(
    process: &mut WorkerProcess,
    request: &Request,
    watch: &Watch<'_>,
    given: Given<'_>,
) -> Result<Clocked, Cause> {
    was_stopped();
    let line = WorkerProcess::line(request);
    let mut pace = Pace::of(given);
    let beside = process.beside();
    let start = Instant::now();
    pace.handed_out(process.moment(start));
    process.send_line(request, &line, watch)?;
    let reply = process.answer_in_turns(watch, &mut pace)?;
    let seen = start.elapsed();
    if matches!(reply, Reply::Region { .. }) && !pace.is_complete() {
        return Err(Cause::Ahead);
    }
    if pace.queued > Duration::ZERO {
        // Processes of the kernel may be what the worker waited for.
        pace.queued = pace.queued.saturating_sub(process.beside().saturating_sub(beside));
    }
    let placed = match &reply {
        Reply::Region { starts_ns, durations_ns, .. } => pace.holds(starts_ns, durations_ns),
        _ => true,
    };
    Ok(Clocked { reply, seen, waited: pace.queued + pace.handled, stopped: was_stopped(), placed })
}
