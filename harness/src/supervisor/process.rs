//! One worker process: its channel, its output, its life and its end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use command_fds::FdMapping;
use plimsoll::ByteSize;
use plimsoll::meter::{Breach, ProcessId};
use plimsoll::run::Launched;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use super::clock::{Scheduled, after_name, processor_time, processor_time_beside, waited};
use super::loading::Stuck;
use super::outputs::SharedOutputs;
use super::pace::{Given, Moment, Pace, Turn};
use super::patience::{Beyond, Patience, Spent};
use super::turns::{Asked, Turns};
use crate::confine::Started;
use crate::protocol::{self, Inbox, Outcome, Reply, Request, monotonic_ns};
use crate::signals::Cancel;

/// How much of a worker's standard output and error is kept.
const TAIL: usize = 64 << 10;
/// How often a stream is read before other work has its turn: a worker may print without end.
const READS: usize = 64;
/// How long a worker may take to end after the request to end.
const GRACE: Duration = Duration::from_secs(5);

/// How often a worker that does not answer is looked at: one that is stopped twice in a row does not go on.
const STOPPED: Duration = Duration::from_secs(1);
/// How long a worker that hangs may take to write its calls.
const TRACE: Duration = Duration::from_millis(500);

/// The descriptor of a worker's own source, if it is given one.
pub const SOURCES_FD: i32 = 5;
/// The descriptor of the values of audited launches.
const VALUES_FD: i32 = 6;
/// The descriptor over which a worker asks for the values of its next launch.
const TURNS_FD: i32 = 9;
/// The descriptor of the arguments for a worker without access to paths.
pub const ARGUMENTS_FD: i32 = 7;

/// The last bytes of a stream that may be endless.
#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    dropped: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(TAIL);
        if excess > 0 {
            self.bytes.drain(..excess);
            self.dropped = true;
        }
    }

    fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        let text = String::from_utf8_lossy(&[front, back].concat()).into_owned();
        if self.dropped { format!("[earlier output left out]\n{text}") } else { text }
    }
}

/// Why a worker ended.
#[derive(Debug)]
pub enum Cause {
    /// By itself: an exit or a signal that the supervisor did not send.
    Died,
    /// The worker closed the channel but still runs (a kernel that closes descriptors).
    ChannelClosed,
    /// The worker sent an answer without a request.
    Unasked,
    /// The worker asked for the values of another launch than the next one.
    Ahead,
    /// The worker answered with outputs that were not there in time.
    Late(String),
    /// The worker answered something else than it was asked for.
    Refused(Box<Reply>),
    /// The worker sent a message that the protocol does not know.
    Protocol(String),
    /// The worker did not answer in time.
    TimedOut(Duration),
    /// The worker was stopped, and nobody continued it.
    Stopped,
    /// The worker did not get on with loading its kernel.
    NotLoaded(Stuck),
    /// The run was cancelled.
    Cancelled,
    /// A ceiling broke.
    Breached(Box<Breach>),
}

impl From<Spent> for Cause {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::TimedOut(limit) => Self::TimedOut(limit),
            Spent::NotLoaded(stuck) => Self::NotLoaded(stuck),
        }
    }
}

/// The end of a worker, after everything about it was read and no process of it is left.
#[derive(Debug)]
pub struct End {
    /// Why.
    pub cause: Cause,
    /// How the process ended.
    pub status: ExitStatus,
    /// Its process id.
    pub pid: u32,
    /// The last of its standard error, then of its standard output if the error is empty.
    pub output: String,
}

/// What the supervisor watches while it waits for an answer.
#[derive(Clone)]
pub struct Watch<'a> {
    /// The longest wait.
    pub limit: Duration,
    /// The longest wait for each launch of several, if the worker asks for the values of each.
    pub launch: Option<Duration>,
    /// What the wait may be longer for.
    pub beyond: Beyond,
    /// Ctrl-C.
    pub cancel: Cancel,
    /// Ceilings.
    pub meter: &'a plimsoll::meter::Meter,
}

impl Watch<'_> {
    /// # Errors
    /// The run was cancelled, or a ceiling broke.
    fn ended(&self) -> Result<(), Cause> {
        if self.cancel.requested() {
            return Err(Cause::Cancelled);
        }
        self.meter.breach().map_or(Ok(()), |breach| Err(Cause::Breached(Box::new(breach))))
    }
}

/// Memory that a worker shares.
fn shared_memory(name: &str) -> io::Result<File> {
    let memory = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    // A worker that shrank the memory would turn the supervisor's reads into faults.
    rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK)?;
    Ok(memory.into())
}

/// A running worker.
pub struct WorkerProcess {
    process: Started,
    pid: Pid,
    id: ProcessId,
    pidfd: OwnedFd,
    /// `/proc/PID/statm`, to be read again and again.
    sizes: Option<File>,
    /// Its first thread, which launches.
    first: Scheduled,
    channel: UnixStream,
    inbox: Inbox,
    /// The bytes of the last read.
    received: Box<[u8]>,
    outputs: SharedOutputs,
    values: File,
    turns: Turns,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    printed: Tail,
    complained: Tail,
}

impl WorkerProcess {
    /// Starts `command` as a worker in a process group of its own, with `sources` at [`SOURCES_FD`]. A command that is
    /// `separated` starts the worker in a name space.
    pub fn start(
        mut command: Command,
        sources: Option<OwnedFd>,
        arguments: Option<&File>,
        separated: bool,
    ) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (turns, their_turns) = Turns::pair()?;
        let (memory, values) = (shared_memory("plimsoll-outputs")?, shared_memory("plimsoll-values")?);
        let (channel_fd, outputs_fd) = (3, 4);
        let mut mappings = vec![
            FdMapping { parent_fd: theirs.into(), child_fd: channel_fd },
            FdMapping { parent_fd: memory.try_clone()?.into(), child_fd: outputs_fd },
            FdMapping { parent_fd: values.try_clone()?.into(), child_fd: VALUES_FD },
            FdMapping { parent_fd: their_turns, child_fd: TURNS_FD },
        ];
        if let Some(file) = arguments {
            mappings.push(FdMapping { parent_fd: file.try_clone()?.into(), child_fd: ARGUMENTS_FD });
        }
        mappings.extend(sources.map(|parent_fd| FdMapping { parent_fd, child_fd: SOURCES_FD }));
        command
            .env(protocol::CHANNEL, channel_fd.to_string())
            .env(protocol::OUTPUTS, outputs_fd.to_string())
            .env(protocol::VALUES, VALUES_FD.to_string())
            .env(protocol::TURNS, TURNS_FD.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut process = Started::by(command, mappings, separated)?;
        let pid = process.pid();
        let id = ProcessId::of(number(pid)).map_err(io::Error::other)?;
        let stdout = process.stdout.take().map(OwnedFd::from);
        let stderr = process.stderr.take().map(OwnedFd::from);
        for fd in stdout.iter().chain(&stderr) {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        let sizes = File::open(format!("/proc/{}/statm", number(pid))).ok();
        let first = Scheduled::of(format!("/proc/{0}/task/{0}/schedstat", number(pid)));
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        Ok(Self {
            process,
            pid,
            id,
            pidfd,
            sizes,
            first,
            channel: ours,
            inbox: Inbox::default(),
            received: vec![0; 64 << 10].into(),
            outputs: SharedOutputs::new(memory),
            values,
            turns,
            stdout,
            stderr,
            printed: Tail::default(),
            complained: Tail::default(),
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        number(self.pid)
    }

    /// The children of this process that belong to the worker.
    pub fn family(&self) -> Vec<u32> {
        self.process.family()
    }

    /// The process, distinct from a later one with the same number.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Its resident memory now. One read of an open file: cheap enough before every launch.
    pub fn rss(&self) -> Option<ByteSize> {
        let mut text = [0; 128];
        let read = self.sizes.as_ref()?.read_at(&mut text, 0).ok()?;
        let pages = std::str::from_utf8(&text[..read]).ok()?.split(' ').nth(1)?.parse::<u64>().ok()?;
        Some(ByteSize::new(pages.checked_mul(rustix::param::page_size() as u64)?)).filter(|rss| *rss > ByteSize::ZERO)
    }

    /// The shared memory of its outputs.
    pub fn memory(&self) -> &File {
        self.outputs.file()
    }

    /// The outputs of a launch; see [`SharedOutputs::collect`].
    pub fn collect(&mut self, outcome: Outcome, params: &[String]) -> Result<Launched, String> {
        self.outputs.collect(outcome, params)
    }

    /// Whether outputs stay from launch to launch; see [`SharedOutputs::stay`].
    pub fn outputs_stay(&mut self, stay: bool) {
        self.outputs.stay(stay);
    }

    /// Believes the tolerances that come with outputs; see [`SharedOutputs::believe_tolerances`].
    pub fn believe_tolerances(&mut self) {
        self.outputs.believe_tolerances();
    }

    /// The shared memory of the values of audited launches.
    pub fn values(&self) -> &File {
        &self.values
    }

    /// Sends `request` and waits for one answer.
    pub fn ask(&mut self, request: &Request, watch: &Watch<'_>) -> Result<Reply, Cause> {
        self.send(request, watch)?;
        self.answer(watch)
    }

    /// Sends `request` while reading the worker's output, so that the two sides never wait for each other.
    pub fn send(&mut self, request: &Request, watch: &Watch<'_>) -> Result<(), Cause> {
        self.send_line(request, &Self::line(request), watch)
    }

    /// The bytes of a request.
    pub fn line(request: &Request) -> Vec<u8> {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        line
    }

    /// As [`WorkerProcess::send`]; `line` is the encoded request.
    pub fn send_line(&mut self, request: &Request, line: &[u8], watch: &Watch<'_>) -> Result<(), Cause> {
        self.inbox.expect(request.launches());
        if self.has_unasked() {
            return Err(Cause::Unasked);
        }
        let mut patience = Patience::begin(self.pid(), watch.limit, Beyond::Nothing);
        let mut rest = line;
        while !rest.is_empty() {
            match self.channel.write(rest) {
                Ok(n) => rest = &rest[n..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::OUT, &mut patience, watch, &mut Pace::of(Given::Nothing))?
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.closed()),
            }
        }
        Ok(())
    }

    /// What the system knows of both sides.
    pub fn moment(&self, at: Instant) -> Moment {
        let pid = self.pid();
        Moment { at, queued: waited(), ran: processor_time(pid).unwrap_or_default(), first: self.first.times() }
    }

    /// The processor time of the processes that the worker has started, and of the supervisor's own.
    pub fn beside(&self) -> Duration {
        processor_time_beside(self.pid())
    }

    /// Whether the worker has sent something without a request: every request has one answer, or ends with one.
    fn has_unasked(&mut self) -> bool {
        if matches!(self.turns.asked(), Asked::Next(_) | Asked::Ahead) {
            return true;
        }
        // The next request notices an end, or an error.
        if let Ok(n) = self.channel.read(&mut self.received) {
            self.inbox.add(&self.received[..n]);
        }
        !self.inbox.is_empty()
    }

    /// Waits for the next answer.
    pub fn answer(&mut self, watch: &Watch<'_>) -> Result<Reply, Cause> {
        self.answer_in_turns(watch, &mut Pace::of(Given::Nothing))
    }

    /// Waits for the next answer, and hands out the values of launches meanwhile.
    pub fn answer_in_turns(&mut self, watch: &Watch<'_>, pace: &mut Pace<'_>) -> Result<Reply, Cause> {
        let mut patience = Patience::begin(self.pid(), watch.limit, watch.beyond).each_launch(watch.launch);
        loop {
            match self.inbox.take().map_err(Cause::Protocol)? {
                Some(Reply::Waits) => {
                    // A worker may say so without end.
                    watch.ended()?;
                    patience.waits()?;
                    continue;
                }
                Some(reply) => return Ok(reply),
                None => {}
            }
            match self.channel.read(&mut self.received) {
                Ok(0) => return Err(self.closed()),
                Ok(n) => self.inbox.add(&self.received[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.wait(PollFlags::IN, &mut patience, watch, pace)?,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.closed()),
            }
        }
    }

    /// The channel is at its end: the worker died, or closed the channel and still runs.
    fn closed(&mut self) -> Cause {
        // A dying process closes its descriptors a moment before it can be waited for.
        let gone = wait_readable(&[self.pidfd.as_fd()], Duration::from_millis(500));
        if gone { Cause::Died } else { Cause::ChannelClosed }
    }

    /// Hands the worker, which asks for them, the values of its next launch.
    fn hand_out(&mut self, pace: &mut Pace<'_>, woke: Instant) -> Result<(), Cause> {
        let answer = match pace.next().ok_or(Cause::Ahead)? {
            Turn::Keep(keep) => {
                pace.kept(woke.elapsed());
                u8::from(keep)
            }
            Turn::Values(bytes) => {
                let put = self.values.write_all_at(&bytes, 0);
                put.map_err(|error| Cause::Protocol(format!("nothing ({error})")))?;
                if !pace.looks().is_empty() {
                    pace.found.push(self.outputs.words(pace.looks()));
                }
                pace.launches(monotonic_ns());
                0
            }
        };
        // Not later: the worker may take this thread's processor, and launch.
        pace.handed_out(self.moment(Instant::now()));
        self.turns.answer(answer);
        Ok(())
    }

    /// Waits until the channel is ready for `flags`, drains what the worker prints, and hands out values.
    fn wait(
        &mut self,
        flags: PollFlags,
        patience: &mut Patience,
        watch: &Watch<'_>,
        pace: &mut Pace<'_>,
    ) -> Result<(), Cause> {
        let mut stopped = false;
        loop {
            if watch.cancel.requested() {
                return Err(Cause::Cancelled);
            }
            let left = patience.left()?;
            // A stream at its end, and turns that nobody takes, are not polled: the process takes their place, and is asked
            // for nothing.
            let ended = || PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::empty());
            let [stdout, stderr] = [&self.stdout, &self.stderr]
                .map(|stream| stream.as_ref().map_or_else(ended, |fd| PollFd::new(fd, PollFlags::IN)));
            let mut fds = [
                PollFd::new(&self.channel, flags),
                PollFd::new(&self.pidfd, PollFlags::IN),
                PollFd::from_borrowed_fd(watch.cancel.fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(watch.meter.breach_fd(), PollFlags::IN),
                stdout,
                stderr,
                ended(),
            ];
            let in_turns = pace.has_launches() && !pace.closed;
            if in_turns {
                fds[6] = PollFd::new(&self.turns, PollFlags::IN);
            }
            let queued = if in_turns { waited() } else { Duration::ZERO };
            match poll(&mut fds, left.min(STOPPED).try_into().ok().as_ref()) {
                Ok(0) => {
                    // One that is stopped with this process, as from a terminal, is continued with it.
                    let before = std::mem::replace(&mut stopped, is_stopped(self.pid));
                    if before && stopped {
                        return Err(Cause::Stopped);
                    }
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(Cause::Protocol(format!("poll failed: {e}"))),
            }
            let woke = Instant::now();
            let [channel_ready, gone, _, breached, printed, complained, turn] = fds.map(|fd| !fd.revents().is_empty());
            let asked = if turn { self.turns.asked() } else { Asked::Nothing };
            if in_turns && (channel_ready || turn) {
                // Only then the worker waits for this thread: it may print while it launches.
                let late =
                    if let Asked::Next(ago) = asked { ago.saturating_sub(woke.elapsed()) } else { Duration::ZERO };
                pace.heard(monotonic_ns());
                pace.woken(self.moment(woke), queued, late);
            }
            if printed {
                drain(&mut self.stdout, &mut self.printed);
            }
            if complained {
                drain(&mut self.stderr, &mut self.complained);
            }
            if breached {
                watch.ended()?;
            }
            match asked {
                Asked::Nothing => {}
                Asked::Next(_) => {
                    self.hand_out(pace, woke)?;
                    patience.launches();
                }
                Asked::Ahead => return Err(Cause::Ahead),
                Asked::Closed => pace.closed = true,
            }
            // A worker that answered and then died has answered: read its message first.
            if channel_ready {
                return Ok(());
            }
            if gone {
                return Err(Cause::Died);
            }
        }
    }

    /// Ends the worker: asks, waits a moment, then kills it and everything that it started.
    pub fn finish(mut self, watch: &Watch<'_>) -> End {
        let polite = Watch { limit: GRACE, beyond: Beyond::Nothing, ..watch.clone() };
        let asked = self.send(&Request::Bye, &polite);
        let cause = match asked.and_then(|()| self.answer(&polite).map(drop)) {
            Err(cause @ (Cause::Cancelled | Cause::Breached(_))) => cause,
            _ => Cause::Died,
        };
        self.kill(cause)
    }

    /// Whether a signal has ended the worker already, or ends it within `patience`.
    pub fn was_killed(&mut self, patience: Duration) -> bool {
        let began = Instant::now();
        loop {
            match self.process.try_wait() {
                Ok(None) if began.elapsed() < patience => std::thread::sleep(Duration::from_millis(1)),
                ended => return matches!(ended, Ok(Some(status)) if status.signal().is_some()),
            }
        }
    }

    /// Lets a worker that hangs write its calls: Python's does at a signal that ends others.
    fn ask_where(&mut self) {
        drain(&mut self.stderr, &mut self.complained);
        if !catches(self.pid, Signal::QUIT) || rustix::process::kill_process(self.pid, Signal::QUIT).is_err() {
            return;
        }
        // The text comes in pieces, and a kernel may print without end.
        let (until, mut limit) = (Instant::now() + 2 * TRACE, TRACE);
        while let Some(stderr) = &self.stderr
            && wait_readable(&[stderr.as_fd()], limit)
            && Instant::now() < until
        {
            drain(&mut self.stderr, &mut self.complained);
            limit = TRACE / 10;
        }
    }

    /// Kills the worker with all its processes, and reads its remaining output.
    pub fn kill(mut self, cause: Cause) -> End {
        if matches!(self.process.try_wait(), Ok(None)) {
            if matches!(cause, Cause::TimedOut(_) | Cause::NotLoaded(_)) {
                self.ask_where();
            }
            // The group first: children of the kernel go with it.
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
        let status = self.process.end();
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        drain(&mut self.stdout, &mut self.printed);
        drain(&mut self.stderr, &mut self.complained);
        let complained = self.complained.text();
        let output = if complained.trim().is_empty() { self.printed.text() } else { complained };
        End { cause, status, pid: number(self.pid), output }
    }
}

impl Drop for WorkerProcess {
    /// A run that could not begin leaves no worker behind.
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
            self.process.end();
        }
    }
}

/// Whether a process is stopped (SIGSTOP).
fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", number(pid))).unwrap_or_default();
    after_name(&stat).starts_with('T')
}

/// Whether a process has a handler for a signal.
fn catches(pid: Pid, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", number(pid))).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}

/// The number of a process.
fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

fn wait_readable(fds: &[BorrowedFd<'_>], limit: Duration) -> bool {
    let mut fds: Vec<_> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    matches!(poll(&mut fds, limit.try_into().ok().as_ref()), Ok(n) if n > 0)
}

/// Reads available data, up to a limit; a stream at its end is closed, so that it is not polled again.
fn drain(stream: &mut Option<OwnedFd>, tail: &mut Tail) {
    let mut buffer = [0; 16 << 10];
    for _ in 0..READS {
        let Some(fd) = stream else { return };
        match rustix::io::read(&*fd, &mut buffer) {
            Ok(0) => *stream = None,
            Ok(n) => tail.push(&buffer[..n]),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => return,
            Err(_) => *stream = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_bytes_of_an_endless_stream() {
        let mut tail = Tail::default();
        for i in 0..10_000 {
            tail.push(format!("line {i}\n").as_bytes());
        }
        let text = tail.text();
        assert!(text.starts_with("[earlier output left out]\n"));
        assert!(text.ends_with("line 9999\n"));
        assert!(text.len() < TAIL + 100);
    }

    #[test]
    fn a_stream_that_never_ends_is_left_for_other_things() {
        let mut stream = Some(OwnedFd::from(File::open("/dev/zero").unwrap()));
        let mut tail = Tail::default();
        drain(&mut stream, &mut tail);
        assert!(stream.is_some() && tail.dropped);
    }
}
