//! Tests whose body runs in a process of its own under the meter. `#[plimsoll::test]` expands to this.
//!
//! The test function runs twice. In the test binary that cargo or nextest started, it is the *parent*: it starts the
//! same binary for this one test (`NAME --exact`), measures that process tree, prints its output, and judges. In that
//! second process it is the *child*: it runs the body.
//!
//! The child's standard input is a socket to the parent; the body gets an empty one. Each message is one line of words
//! between tabs (`wire`), and the child continues only after the parent has answered with one byte:
//!
//! ```text
//! child                             parent
//! Ready                             drops what the test harness has printed, begins to measure
//! Phase   load                      ends a phase, begins the next
//! Done    Returned   Err   none     takes the last reading, while the process still has its memory
//!                                   lets it exit
//! ```
//!
//! The readings therefore cover exactly the body, and for a single process they are exact to its end.
//!
//! For a test that is not in Rust, a process that does nothing else starts the test's process through
//! [`Isolated::judge_command`]. The test's process sends the same messages, and may add
//! `Outcome` if its runner corrects how the body ended. The pytest plugin works this way. A process that was forked
//! from one that has done the imports already is judged by [`Isolated::judge_fork`].

mod argument;
mod calibrate;
mod child;
pub(super) mod message;
mod output;
mod parent;
mod verdict;

use std::future::Future;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Termination};
use std::time::{Duration, SystemTime};

use super::counted::{HeapCounter, HeapLimit};
use super::limits::{Limit, LimitError};
use super::test_run::Keeper;
use crate::bytes::ByteSize;
use crate::ceiling::{Ceiling, Ceilings};
use crate::command::{CommandError, Metered};
use crate::meter::{DEFAULT_SAMPLE_INTERVAL, Metric};
use child::Child;

pub(super) use output::{Output, To};

pub use argument::ArgumentError;
pub use verdict::Judgement;

/// A test whose body runs in a process of its own; `#[plimsoll::test]` builds it.
#[derive(Clone, Debug)]
pub struct Isolated {
    package: String,
    suite: String,
    name: String,
    ceilings: Ceilings,
    heap: Vec<HeapLimit>,
    enforce: bool,
    timeout: Option<Duration>,
    sample_interval: Duration,
    should_panic: bool,
    /// Whether this process runs nothing but the test.
    alone: bool,
    keeper: Option<Keeper>,
}

impl Isolated {
    /// Creates the test `function` in the module `module_path!()`, whose first part is the test binary's crate.
    pub fn new(package: &str, module: &str, function: &str) -> Self {
        let (suite, module) = module.split_once("::").map_or((module, None), |(suite, rest)| (suite, Some(rest)));
        Self {
            package: package.to_owned(),
            suite: suite.to_owned(),
            name: module.map_or_else(|| function.to_owned(), |module| format!("{module}::{function}")),
            ceilings: Ceilings::new(),
            heap: Vec::new(),
            enforce: false,
            timeout: None,
            sample_interval: DEFAULT_SAMPLE_INTERVAL,
            should_panic: false,
            alone: false,
            keeper: None,
        }
    }

    /// Limits `metric`.
    ///
    /// # Panics
    /// If it already has a limit.
    #[track_caller]
    pub fn ceiling(mut self, metric: Metric, limit: ByteSize) -> Self {
        if let Err(error) = self.ceilings.add(Ceiling { metric, limit }) {
            panic!("{error}");
        }
        self
    }

    /// Limits an allocator count.
    pub fn heap(mut self, counter: HeapCounter, limit: u64) -> Self {
        self.heap.push(HeapLimit { counter, limit });
        self
    }

    /// Limits a metric or a counter: an argument of `#[plimsoll::test]`.
    ///
    /// # Panics
    /// If the limit is not an amount, or the metric already has one.
    #[doc(hidden)]
    #[track_caller]
    pub fn limit(self, limit: Result<Limit, LimitError>) -> Self {
        match limit {
            Ok(Limit::Memory(Ceiling { metric, limit })) => self.ceiling(metric, limit),
            Ok(Limit::Heap(HeapLimit { counter, limit })) => self.heap(counter, limit),
            Err(error) => panic!("#[plimsoll::test]: {error}"),
        }
    }

    /// Whether the processes are killed as soon as they exceed a ceiling, rather than judged when they have ended.
    pub fn enforce(mut self, enforce: bool) -> Self {
        self.enforce = enforce;
        self
    }

    /// Kills the processes once the body has run for this long; the time to start them does not count.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The time between two samples.
    pub fn sample_interval(mut self, interval: Duration) -> Self {
        self.sample_interval = interval;
        self
    }

    /// Expects the test to panic. A broken ceiling still fails it.
    pub fn should_panic(mut self) -> Self {
        self.should_panic = true;
        self
    }

    /// Sets what records the test if [`RECORD_DIR`](super::RECORD_DIR) requests it. Without a keeper such a test fails.
    pub fn keeper(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Runs `body` in a process of its own and judges it.
    ///
    /// # Panics
    /// If the body panics, with its message; if it returns an error, ends its process or is killed; if a ceiling is
    /// broken or cannot be measured. A test that should panic does so only for its body's panic; otherwise this
    /// returns, so that the test fails.
    #[track_caller]
    pub fn run<R: Termination>(self, body: impl FnOnce() -> R + Send + 'static) {
        match Child::of_parent(&self.name) {
            Some(child) => child.run(body),
            None => self.supervise(),
        }
    }

    /// Runs an async body on the runtime that runs the test.
    ///
    /// # Panics
    /// Under the same conditions as [`Isolated::run`].
    #[track_caller]
    pub fn run_async<F>(self, body: impl FnOnce() -> F) -> impl Future<Output = ()>
    where
        F: Future<Output: Termination>,
    {
        let child = Child::of_parent(&self.name);
        if child.is_none() {
            self.supervise();
        }
        async move {
            if let Some(child) = child {
                child.run_async(body()).await;
            }
        }
    }

    /// Runs `command`, a process that runs the body of this test and reports through its standard input as described in
    /// the [module](self); its standard output and error are its own. The run is cancelled once `cancel` is readable.
    ///
    /// The calling process should start nothing else: it becomes a subreaper, so that nothing of the test is left
    /// behind.
    pub fn judge_command(mut self, command: Command, cancel: Option<BorrowedFd<'_>>) -> Judgement {
        self.alone = true;
        let started = SystemTime::now();
        self.judgement(parent::supervise_command(&self, command, cancel), started)
    }

    /// Like [`Isolated::judge_command`] for a child of this process that exists already: the process `pid`, a copy of
    /// this process's parent by fork(2), waits on the other side of `channel` for one byte.
    ///
    /// # Errors
    /// [`CommandError`] if it cannot be measured like a process of its own; its body has not begun then, and it is
    /// killed.
    pub fn judge_fork(
        mut self,
        pid: u32,
        channel: UnixStream,
        cancel: Option<BorrowedFd<'_>>,
    ) -> Result<Judgement, CommandError> {
        self.alone = true;
        let started = SystemTime::now();
        let like = std::os::unix::process::parent_id();
        let running = parent::metered(&self, Metered::adopt(pid, like)).spawn()?;
        // If it is gone, its exit status says why.
        let _ = (&channel).write_all(b"\n");
        Ok(self.judgement(parent::follow(&self, running, channel, cancel), started))
    }

    fn once(&self, started: SystemTime) -> Judgement {
        self.judgement(parent::supervise(self), started)
    }

    fn judgement(&self, finished: Result<parent::Finished, parent::IsolationError>, started: SystemTime) -> Judgement {
        match finished {
            Ok(finished) => verdict::judge(self, finished, started),
            Err(error) => Judgement::Failed(format!("{}: {error}", self.name)),
        }
    }

    #[track_caller]
    fn supervise(&self) {
        let started = SystemTime::now();
        let judgement = match calibrate::asked() {
            Ok(None) => self.once(started),
            Ok(Some(calibration)) => calibration.run(self),
            Err(error) => Judgement::Failed(format!("{}: {error}", self.name)),
        };
        match judgement {
            Judgement::Passed => {}
            // The panic was already reported where it happened.
            Judgement::Panicked(message) => std::panic::resume_unwind(Box::new(message)),
            // A panic would count as the expected one.
            Judgement::Failed(message) if self.should_panic => eprintln!("{message}"),
            Judgement::Failed(message) => panic!("{message}"),
        }
    }
}
