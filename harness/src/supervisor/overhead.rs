//! [`overhead`]: the time that a worker takes beside launches, by the supervisor's own clock.

use std::time::Instant;

use plimsoll::run::{Overhead, Span};

use super::early::WORD;
use super::pace::{Given, Pace};
use super::process::{Cause, Watch, WorkerProcess};
use crate::protocol::{Reply, Request};
use crate::signals::was_stopped;

/// The launches of a region that measures the overhead.
const IDLE_LAUNCHES: usize = 12;
/// The bytes of a patch: few and many.
const IDLE_BYTES: [u64; 2] = [64, 128 << 10];
/// The patches of a launch.
const IDLE_PATCHES: usize = 33;
/// The outputs of a launch.
const IDLE_OUTPUTS: usize = 5;
/// The most time to copy a byte, even on a busy machine: the error of the measurement must not hide a launch.
const SLOWEST_BYTE_NS: f64 = 0.5;
/// How often each is measured; the minimum counts.
const IDLE_ROUNDS: usize = 3;

/// How long an idle launch takes: the median of a region without the last, after which the worker answers.
fn idle(
    process: &mut WorkerProcess,
    watch: &Watch<'_>,
    device: Option<(u32, bool)>,
    (patches, bytes, outputs): (usize, u64, usize),
) -> Result<f64, Cause> {
    let launch = (0..patches as u64).map(|patch| (0, patch * bytes, bytes)).collect();
    let (device, small_context) = (device.map(|(index, _)| index), device.is_some_and(|(_, small)| small));
    let request = Request::Idle { id: 0, launches: vec![launch; IDLE_LAUNCHES], outputs, device, small_context };
    let Clocked { reply, mut spans, .. } = clocked(process, &request, watch, Given::Idle)?;
    match reply {
        Reply::Region { durations_ns, .. } => {
            spans.truncate(IDLE_LAUNCHES - 1);
            let beside = spans.iter().zip(durations_ns).map(|(span, ns)| span.beside_ns(ns as f64));
            let mut beside: Vec<f64> = beside.collect();
            beside.sort_unstable_by(f64::total_cmp);
            Ok(beside.get(beside.len() / 2).copied().unwrap_or_default())
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
    let mut least = |patches, bytes, outputs| -> Result<f64, Cause> {
        let mut least = f64::INFINITY;
        for _ in 0..IDLE_ROUNDS {
            least = least.min(idle(process, watch, device, (patches, bytes, outputs))?);
        }
        Ok(least)
    };
    let [little, much] = IDLE_BYTES;
    let (launch, large, patched) = (least(1, little, 1)?, least(1, much, 1)?, least(IDLE_PATCHES, little, 1)?);
    let several = least(1, little, IDLE_OUTPUTS)?;
    // Each byte is put in, and copied out of memory that was filled before.
    let byte_ns = ((large - launch) / (3 * (much - little)) as f64).clamp(0.0, SLOWEST_BYTE_NS);
    let patch_ns = ((patched - launch) / (IDLE_PATCHES - 1) as f64).max(0.0);
    let output_ns = ((several - launch) / (IDLE_OUTPUTS - 1) as f64).max(0.0);
    Ok(Overhead { patch_ns, launch_ns: launch.max(0.0), byte_ns, output_ns })
}

/// An answer by the supervisor's clock.
pub struct Clocked {
    /// The answer.
    pub reply: Reply,
    /// Each launch.
    pub spans: Vec<Span>,
    /// What was found where to look at outputs.
    pub found: Vec<Vec<[u8; WORD]>>,
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
    pace.handed_out(process.moment(Instant::now()));
    process.send_line(request, &line, watch)?;
    let reply = process.answer_in_turns(watch, &mut pace)?;
    let Reply::Region { starts_ns, durations_ns, .. } = &reply else {
        return Ok(Clocked { reply, spans: Vec::new(), found: Vec::new(), stopped: was_stopped(), placed: true });
    };
    if !pace.is_complete() {
        return Err(Cause::Ahead);
    }
    let spans = pace.spans(|| process.beside().saturating_sub(beside));
    let placed = pace.holds(starts_ns, durations_ns);
    Ok(Clocked { reply, spans, found: pace.found, stopped: was_stopped(), placed })
}
