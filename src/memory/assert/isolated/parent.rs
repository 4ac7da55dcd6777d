//! The parent: starts the process of a test, measures it, prints its output, and answers it.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::wire::value;
use super::Isolated;
use super::message::{CHILD, LONGEST_PANIC, Message, Outcome};
use super::output::{Output, To};
use crate::alloc::HeapReadings;
use crate::command::{CommandError, Ended, Metered, Running, Step};
use crate::meter::{Metric, SwapScope};

/// The phase of a test until it names one.
const FIRST_PHASE: &str = "test";

/// The time limit before the body begins for a test with a timeout; the timeout itself, if that is longer.
const LONGEST_START: Duration = Duration::from_secs(60);

/// The maximum length of a message: a panic's text, escaped.
const LONGEST_MESSAGE: usize = 8 * LONGEST_PANIC;

/// Why a test could not run at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum IsolationError {
    #[error("the test cannot be started in a process of its own: {0}")]
    Start(io::Error),
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// A test whose process has ended.
pub(super) struct Finished {
    pub(super) ended: Ended,
    /// Whether the body began.
    pub(super) begun: bool,
    /// The reported end of the body, if there was a report.
    pub(super) report: Option<(Outcome, Result<HeapReadings, String>)>,
    /// The output before the body began.
    pub(super) prelude: String,
}

/// Runs `test` of this test binary in a second process.
pub(super) fn supervise(test: &Isolated) -> Result<Finished, IsolationError> {
    let mut command = Command::new(std::env::current_exe().map_err(IsolationError::Start)?);
    command
        .args([&test.name, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, &test.name)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    supervise_command(test, command, None)
}

/// Runs `command`, the process of `test`, to its end or until `cancel` is readable.
pub(super) fn supervise_command(
    test: &Isolated,
    mut command: Command,
    cancel: Option<BorrowedFd<'_>>,
) -> Result<Finished, IsolationError> {
    let (ours, theirs) = UnixStream::pair().map_err(IsolationError::Start)?;
    command.stdin(Stdio::from(OwnedFd::from(theirs)));
    let running = metered(test, Metered::new(command)).spawn()?;
    follow(test, running, ours, cancel)
}

/// `process` as the process of `test`.
pub(super) fn metered(test: &Isolated, process: Metered) -> Metered {
    let metered = process
        .first_phase(None)
        .name(test.name.rsplit("::").next().unwrap_or(&test.name))
        .ceilings(test.process_ceilings())
        .enforce(test.enforce)
        .sample_interval(test.sample_interval)
        .swap(SwapScope::Tree)
        .pss(test.ceilings.get(Metric::PeakPss).is_some())
        .gpu([Metric::GpuPeak, Metric::UnifiedPeak].iter().any(|metric| test.ceilings.get(*metric).is_some()))
        .mappings(true)
        .resets_mark(true)
        .subreaper(test.alone)
        .dies_with_thread(true);
    match test.timeout {
        Some(timeout) => metered.timeout(timeout.max(LONGEST_START)),
        None => metered,
    }
}

/// Follows the process of `test` over its channel to its end or until `cancel` is readable.
pub(super) fn follow(
    test: &Isolated,
    mut running: Running,
    channel: UnixStream,
    cancel: Option<BorrowedFd<'_>>,
) -> Result<Finished, IsolationError> {
    channel.set_nonblocking(true).map_err(IsolationError::Start)?;
    let outputs = [
        Output::new(running.stdout(), To::Stdout).map_err(IsolationError::Start)?,
        Output::new(running.stderr(), To::Stderr).map_err(IsolationError::Start)?,
    ];
    let mut supervision = Supervision {
        running,
        timeout: test.timeout,
        channel: Some(channel),
        inbox: Vec::new(),
        outputs,
        begun: false,
        report: None,
        prelude: String::new(),
    };
    while supervision.step(cancel)? {}
    supervision.finish()
}

struct Supervision {
    running: Running,
    timeout: Option<Duration>,
    /// Absent once its other side is closed.
    channel: Option<UnixStream>,
    inbox: Vec<u8>,
    outputs: [Output; 2],
    begun: bool,
    report: Option<(Outcome, Result<HeapReadings, String>)>,
    prelude: String,
}

impl Supervision {
    /// Whether the process still runs.
    fn step(&mut self, cancel: Option<BorrowedFd<'_>>) -> Result<bool, CommandError> {
        let channel = self.channel.as_ref().map(AsFd::as_fd);
        let fds: Vec<_> = self.outputs.iter().filter_map(Output::fd).chain(channel).chain(cancel).collect();
        let step = self.running.step(&fds)?;
        if cancel.is_some_and(can_be_read) {
            self.running.cancel();
            return Ok(false);
        }
        self.listen();
        self.forward();
        Ok(step == Step::Ready)
    }

    fn forward(&mut self) {
        for output in &mut self.outputs {
            if self.begun {
                output.forward();
            } else {
                self.prelude += &output.take();
            }
        }
    }

    /// Reads and answers messages of the process.
    fn listen(&mut self) {
        let mut buffer = [0; 4 << 10];
        while let Some(channel) = &mut self.channel {
            match channel.read(&mut buffer) {
                Ok(0) => self.channel = None,
                Ok(n) => {
                    self.inbox.extend_from_slice(&buffer[..n]);
                    self.answer_all();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.channel = None,
            }
        }
    }

    fn answer_all(&mut self) {
        while let Some(end) = self.inbox.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.inbox.drain(..=end).collect();
            match str::from_utf8(&line[..end]).ok().and_then(value) {
                Some(message) => self.answer(message),
                // Only a foreign process sends something else; without an answer it ends.
                None => self.channel = None,
            }
        }
        if self.inbox.len() > LONGEST_MESSAGE {
            self.channel = None;
        }
    }

    fn answer(&mut self, message: Message) {
        // Output that precedes a message is already in the pipes.
        self.forward();
        match message {
            Message::Ready => {
                self.begun = true;
                // The time that the runner took to start does not belong to the test.
                if let Some(timeout) = self.timeout {
                    self.running.set_timeout(timeout);
                }
                self.running.phase(FIRST_PHASE);
            }
            Message::Phase { name } => self.running.phase(&name),
            Message::Done { outcome, heap } => {
                self.running.finish_phases();
                self.report = Some((outcome, heap));
            }
            Message::Outcome { outcome } => {
                let heap = match self.report.take() {
                    Some((_, heap)) => heap,
                    None => Err("the body did not run".to_owned()),
                };
                self.report = Some((outcome, heap));
            }
        }
        // If the process is gone, its exit status says why.
        let _ = self.channel.as_mut().map(|channel| channel.write_all(b"\n"));
    }

    fn finish(self) -> Result<Finished, IsolationError> {
        let Self { running, mut outputs, begun, report, mut prelude, .. } = self;
        let ended = running.wait()?;
        // No process of the tree is left that could print more.
        for output in &mut outputs {
            if begun {
                output.forward();
            } else {
                prelude += &output.take();
            }
        }
        Ok(Finished { ended, begun, report, prelude })
    }
}

fn can_be_read(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
