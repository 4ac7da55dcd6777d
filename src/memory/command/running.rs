//! [`Running`]: a command under the meter until it ends.

use std::io::ErrorKind;
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, OwnedFd};

use super::end::{EndCause, Killed, OomEvidence, ProcessEnd};
use super::enforcement::{Enforcement, Guard};
use super::error::CommandError;
use super::oom::OomWatch;
use super::root::Root;
use super::{tree, wait};
use crate::bytes::{ByteSize, MIB};
use crate::ceiling::{CeilingStatus, CeilingVerdict, Ceilings, judge};
use crate::meter::{CpuTime, EndMark, Meter, PhaseReadings, ProcessId};

/// Between the start latch and its program, the child touches at most about this much more memory.
const INHERITED_MARGIN: ByteSize = ByteSize::new(MIB / 2);

/// The memory of the process before it executed its program, which its mark at the end still includes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inherited {
    /// Its high-water mark at the start latch.
    pub(super) at_gate: Option<ByteSize>,
    /// Its mark at the first instruction of its program, if it stopped there.
    pub(super) at_exec: Option<ByteSize>,
}

impl Inherited {
    /// Interprets the mark at the end: it is the program's peak if it exceeds everything inherited; otherwise the peak
    /// is at most the mark.
    fn end_mark(self, mark: ByteSize) -> EndMark {
        let most = self.at_exec.or(self.at_gate.map(|mark| mark + INHERITED_MARGIN));
        if most.is_some_and(|most| mark > most) { EndMark::Peak(mark) } else { EndMark::AtMost(mark) }
    }
}

/// A command that runs under the meter. Dropping it kills the whole tree.
#[derive(Debug)]
pub struct Running {
    pub(super) program: String,
    pub(super) root: Root,
    pub(super) pidfd: OwnedFd,
    pub(super) meter: Meter,
    pub(super) inherited: Inherited,
    pub(super) began: Instant,
    pub(super) deadline: Option<(Duration, Instant)>,
    pub(super) ceilings: Ceilings,
    pub(super) guard: Option<Guard>,
    pub(super) oom: OomWatch,
    pub(super) subreaper: bool,
    /// Whether a phase began with the program's first instruction.
    pub(super) from_start: bool,
    pub(super) killed: Option<Killed>,
    pub(super) phases: Option<Vec<PhaseReadings>>,
    pub(super) reaped: bool,
}

/// Why [`Running::step`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One of the descriptors is ready.
    Ready,
    /// The started process has ended.
    Over,
    /// The time limit for waiting has passed.
    Elapsed,
}

/// A command that has run under the meter; its whole tree is gone.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit status of the started process.
    pub status: ExitStatus,
    /// How it ended, and what ended it.
    pub end: ProcessEnd,
    /// The readings of each phase.
    pub phases: Vec<PhaseReadings>,
    /// What was set up to stop it at its ceilings, if requested.
    pub enforcement: Option<Enforcement>,
    /// The verdict on each ceiling.
    pub verdicts: Vec<CeilingVerdict>,
    /// The time from its start to its end.
    pub wall: Duration,
    /// How many processes it left running, which were killed.
    pub left_running: usize,
}

impl Running {
    /// The id of the started process.
    pub fn pid(&self) -> u32 {
        self.root.id()
    }

    /// Takes its standard input, if it is a pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.root.pipes()?.stdin.take()
    }

    /// Takes its standard output, if it is a pipe.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.root.pipes()?.stdout.take()
    }

    /// Takes its standard error, if it is a pipe.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.root.pipes()?.stderr.take()
    }

    /// The meter.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Begins a phase and ends the previous one.
    pub fn phase(&self, name: &str) {
        self.meter.phase(name);
    }

    /// Kills the whole tree once it has run for this long from now, replacing the original timeout.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.deadline = Some((timeout, Instant::now() + timeout));
    }

    /// Kills the whole tree, because the run is cancelled.
    pub fn cancel(&mut self) {
        self.kill(Killed::Cancelled);
    }

    /// Waits until one of `others` is readable (or closed at its other side), or until the process has ended, possibly
    /// killed at its timeout or at a ceiling.
    ///
    /// # Errors
    /// [`CommandError::System`] if the system refuses to wait.
    pub fn step(&mut self, others: &[BorrowedFd<'_>]) -> Result<Step, CommandError> {
        self.step_until(others, None)
    }

    /// Waits for the next step until `end` at the latest.
    ///
    /// # Errors
    /// Under the same conditions as [`Running::step`].
    pub fn step_until(&mut self, others: &[BorrowedFd<'_>], end: Option<Instant>) -> Result<Step, CommandError> {
        loop {
            let left = match (&self.killed, self.deadline) {
                (None, Some((timeout, deadline))) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        self.kill(Killed::Timeout(timeout));
                        continue;
                    }
                    Some(left)
                }
                _ => None,
            };
            if self.killed.is_none() && self.guard.is_some() {
                if let Some(breach) = self.meter.breach() {
                    self.kill(Killed::Ceiling(Box::new(breach)));
                    continue;
                }
                if self.oom.own_group().is_some() {
                    self.kill(Killed::GroupLimit);
                    continue;
                }
            }
            let mut fds = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
            // After a kill, further breaches are ignored, because an untaken one would keep the descriptor readable.
            if self.killed.is_none() {
                fds.push(PollFd::from_borrowed_fd(self.meter.breach_fd(), PollFlags::IN));
            }
            let own = fds.len();
            fds.extend(others.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
            // The kernel does not announce its kills, so they must be polled.
            let has_group = self.killed.is_none() && self.guard.as_ref().is_some_and(|guard| guard.group.is_some());
            let left = if has_group { Some(left.map_or(LOOK, |left| left.min(LOOK))) } else { left };
            let to_end = end.map(|end| end.saturating_duration_since(Instant::now()));
            let left = left.into_iter().chain(to_end).min();
            let left = left.map(|left| Timespec::try_from(left).unwrap_or(LONGEST_POLL));
            match poll(&mut fds, left.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(source) => {
                    return Err(CommandError::System {
                        program: self.program.clone(),
                        what: "poll",
                        source: source.into(),
                    });
                }
            }
            if fds[own..].iter().any(|fd| !fd.revents().is_empty()) {
                return Ok(Step::Ready);
            }
            if !fds[0].revents().is_empty() {
                return Ok(Step::Over);
            }
            if to_end.is_some_and(|left| left.is_zero()) {
                return Ok(Step::Elapsed);
            }
        }
    }

    /// Takes the last readings while the process still runs, so that they include its own mark. What it does afterwards
    /// is not measured.
    pub fn finish_phases(&mut self) {
        if self.phases.is_none() {
            self.phases = Some(self.meter.finish());
        }
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// [`CommandError::System`] if the system refuses to wait.
    pub fn wait(mut self) -> Result<Ended, CommandError> {
        while self.step(&[])? != Step::Over {}
        // The mark is kept until the process is reaped.
        let kept = wait::kept_of(self.pid()).ok();
        self.meter.observe_end(kept.map(|line| self.inherited.end_mark(line.largest)));
        let to_the_end = self.phases.is_none();
        let mut phases = self.phases.take().unwrap_or_else(|| self.meter.finish());
        let wall = self.began.elapsed();
        // The search for what is left looks at every thread of this process, and so at none that is about to end (see
        // `ChildFinder::new`).
        self.meter.stop();
        let Reaped { status, left_running, adopted } = self.reap()?;
        // Processor time that nobody inherited is missing from the kernel's sum.
        if let ([whole], Some(line)) = (&mut phases[..], kept)
            && to_the_end
            && self.from_start
            && (self.subreaper || left_running == 0)
        {
            whole.activity.set_reaped(line.cpu + adopted);
        }
        let explained = status.success() && self.guard.is_none();
        let oom = if explained { OomEvidence::default() } else { self.oom.evidence() };
        let end = ProcessEnd::of(status, self.killed.as_ref(), oom, self.guard.as_ref());
        let mut verdicts = judge(&phases, &self.ceilings);
        if let EndCause::CeilingEnforced { metric, .. } = end.cause {
            verdicts.iter_mut().filter(|verdict| verdict.metric == metric).for_each(|verdict| enforced(verdict, &end));
        }
        let enforcement = self.guard.as_ref().map(|guard| guard.enforcement.clone());
        Ok(Ended { status, end, phases, enforcement, verdicts, wall, left_running })
    }

    fn kill(&mut self, why: Killed) {
        self.meter.observe_exit(self.pid());
        self.killed = Some(why);
        self.oom.kill_own_group();
        self.kill_tree();
    }

    /// Kills what is left of the tree and returns how many processes that were.
    fn kill_tree(&self) -> usize {
        let own = std::process::id();
        tree::kill_all(|| self.meter.processes().into_iter().filter(|id: &ProcessId| id.pid != own).collect())
    }

    /// Ends what the tree has left behind and reaps it.
    fn reap(&mut self) -> Result<Reaped, CommandError> {
        let mut left_running = self.kill_tree();
        let status = loop {
            match self.root.wait() {
                Err(source) if source.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(CommandError::System { program: self.program.clone(), what: "wait", source });
                }
                Ok(status) => break status,
            }
        };
        self.reaped = true;
        let mut adopted = CpuTime::default();
        if self.subreaper {
            let (killed, cpu) = tree::reap_children();
            left_running += killed;
            adopted = cpu;
        }
        Ok(Reaped { status, left_running, adopted })
    }
}

/// Facts that are known once the whole tree is gone.
struct Reaped {
    status: ExitStatus,
    left_running: usize,
    /// The processor time of the processes that this one inherited.
    adopted: CpuTime,
}

/// Marks a ceiling at which the tree was killed as broken, even if the last reading is just within it.
fn enforced(verdict: &mut CeilingVerdict, end: &ProcessEnd) {
    if verdict.status != CeilingStatus::Broken {
        verdict.status = CeilingStatus::Broken;
        verdict.message = format!("{}; the process {end}", verdict.message.replace(" holds: ", " was enforced: "));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill(Killed::Cancelled);
            let _ = self.reap();
        }
    }
}

/// How often the run's control group is checked for kills.
const LOOK: Duration = Duration::from_millis(50);

const LONGEST_POLL: Timespec = Timespec { tv_sec: 3600, tv_nsec: 0 };
