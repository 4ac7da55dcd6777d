//! Whether the times that a worker reports agree with the caller's clock.

use std::ops::Range;
use std::time::Duration;

use crate::record::{Failure, FailureKind};

use super::super::launcher::{Patch, Region};
use super::super::overhead::{Besides, Overhead};
use super::Course;
use super::kept::{captured_outputs, copy_ns};

/// Regions whose reported times may contradict the clock before the kernel is accused.
const MISFITS: u32 = 64;
/// How many more are allowed for each region that fits: others use the machine.
const MISFITS_FOR_A_FIT: u32 = 16;
/// Regions whose launches lie elsewhere by the caller's clock, before the kernel is accused: both sides read the same one.
const MISPLACED: u32 = 2;
/// Regions during which the caller may be stopped, as a user does it from a terminal, before the kernel is accused.
const STOPS: u32 = 3;
/// An output of this size is copied from memory, not from a cache.
const LARGE: usize = 1 << 20;
/// Regions become half as long after each misfit, at most this often, and twice as long after each fit: shorter ones are
/// disturbed less often.
const HALVINGS: u32 = 3;

impl Course<'_> {
    /// Whether the reported times of the counted launches agree with the clock.
    ///
    /// # Errors
    /// A failure of kind `time-mismatch` after too many regions that do not.
    pub(super) fn fits(
        &mut self,
        region: &Region,
        overhead: &mut Overhead,
        launches: &[Vec<Patch>],
        counted: Range<usize>,
        (output, asks): (usize, bool),
    ) -> Result<bool, Failure> {
        if region.stopped {
            return self.stopped();
        }
        if !region.placed {
            return self.misplaced();
        }
        let (durations, spans) = (&region.durations_ns[counted.clone()], &region.spans[counted.clone()]);
        let (count, patches) = (counted.len(), launches[counted].iter().flatten());
        let reported: f64 = durations.iter().sum();
        let seen: f64 = spans.iter().map(|span| span.seen.as_nanos() as f64).sum();
        let each = spans.iter().zip(durations);
        let beside: f64 = each.clone().map(|(span, duration)| span.beside_ns(*duration)).sum();
        // Filled, copied, and its room filled before.
        let moved = patches.clone().map(|patch| patch.bytes.len()).sum::<usize>() + 3 * output * count;
        let besides = Besides {
            launches: count,
            turns: count * if asks { 2 } else { 1 },
            patches: patches.count(),
            bytes: moved,
            // As many as there should be: a kernel that returns more is wrong.
            more_outputs: captured_outputs(self.audition.job.entry).len().saturating_sub(1) * count,
        };
        let mut allowed = overhead.allowed_ns(besides);
        if beside > allowed + 0.03 * reported && output >= LARGE {
            // Memory is slower than a cache, and slower still while others use it.
            overhead.byte_ns = overhead.byte_ns.max(copy_ns(output));
            allowed = overhead.allowed_ns(besides);
        }
        if reported <= seen && beside <= allowed + 0.03 * reported {
            self.halvings = self.halvings.saturating_sub(1);
            // A launch that waited itself is no reason for another one to take longer.
            self.beside_ns += each.map(|(span, duration)| span.hidden_ns(*duration)).sum::<f64>();
            self.counted += count;
            return Ok(true);
        }
        self.audit.misfits += 1;
        self.halvings = (self.halvings + 1).min(HALVINGS);
        let fitted = self.audit.regions + 1 - self.audit.misfits.min(self.audit.regions + 1);
        if self.audit.misfits < MISFITS + MISFITS_FOR_A_FIT * fitted {
            return Ok(false);
        }
        let time = |ns: f64| humantime::format_duration(Duration::from_micros((ns / 1000.0) as u64));
        let message = format!(
            "the worker reported {} for {} launches, but the supervisor's clock measured {}, of which Plimsoll used at \
             most {}; {} regions did not fit: the kernel changes the clock, or the times that it reports",
            time(reported),
            count,
            time((reported + beside).max(0.0)),
            time(allowed),
            self.audit.misfits
        );
        Err(Failure::new(FailureKind::TimeMismatch, message))
    }

    /// A region whose launches began before their values were handed out, or ended after their worker spoke again, is not used.
    ///
    /// # Errors
    /// A failure of kind `time-mismatch` if it happens again.
    fn misplaced(&mut self) -> Result<bool, Failure> {
        self.misplaced += 1;
        self.audit.misfits += 1;
        if self.misplaced < MISPLACED {
            return Ok(false);
        }
        let message = format!(
            "in {} regions, the worker reported launches that began before it was given their values, or ended after it \
             asked for the next ones: the kernel changes the clock, or the times that it reports",
            self.misplaced
        );
        Err(Failure::new(FailureKind::TimeMismatch, message))
    }

    /// A region during which the caller was stopped is not used.
    ///
    /// # Errors
    /// A failure of kind `tampered` if it happens again and again.
    fn stopped(&mut self) -> Result<bool, Failure> {
        self.stops += 1;
        if self.stops < STOPS {
            return Ok(false);
        }
        let message = format!(
            "the supervisor was stopped and continued (SIGSTOP, SIGCONT) while launches were timed, in {} regions: the kernel \
             may do so if it may signal the supervisor; run it with --untrusted",
            self.stops
        );
        Err(Failure::new(FailureKind::Tampered, message))
    }
}
