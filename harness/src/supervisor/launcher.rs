//! [`WorkerLauncher`]: a [`Launcher`] whose kernels run in worker processes.

mod audit;
mod left;
mod profile;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::gpu::{PlaceKind, StateSampler};
use plimsoll::kernel::{KernelIdentity, KernelSpec};
use plimsoll::meter::{self, Metric, OomKills};
use plimsoll::record::{Failure, FailureKind, Gpu, Isolation, Layer, Release, ReleaseReason};
use plimsoll::run::{Audited, Job, LaunchError, Launched, Launcher, Overhead, Role, RunContext, Timed};
use plimsoll::timing::Protocol;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};

use super::call::CallBuilder;
use super::command::WorkerCommand;
use super::crew::Crew;
use super::death;
use super::error::NoLauncher;
use super::loading::Allowed;
use super::made::Made;
use super::overhead::overhead;
use super::patience::Beyond;
use super::process::{Cause, End, Watch, WorkerProcess};
use super::reclaim;
use super::settings::{OnGpu, Settings};
use super::untrusted::Copies;
use crate::confine;
use crate::protocol::{Reason, Reply, Request, VERSION};
use crate::signals::Cancel;

/// Loading a kernel may build it first, and so may the first launch: both may take longer than other launches.
const START_LIMIT: Duration = Duration::from_secs(600);
/// A load may be idle for as long as a launch may take, and no less than this.
const LEAST_IDLE: Duration = Duration::from_secs(10);
/// A load may compute for as long as a launch may take, and no less than this: compilers that are libraries do.
const LEAST_COMPUTING: Duration = Duration::from_secs(120);
/// A worker closes its channel a moment before it can be waited for.
const DYING: Duration = Duration::from_millis(100);
/// Measuring an entry needs many launches: it may take this many times the limit of one launch.
const PROFILE_FACTOR: u32 = 10;
/// The exit status of a program whose libraries the system's loader does not find.
const UNLINKED: i32 = 127;

/// Signals that do not mean that a kernel failed while it was loaded.
const FROM_OTHERS: [i32; 4] = [SIGKILL, SIGTERM, SIGINT, SIGHUP];

/// Runs a kernel in one worker after the other.
pub struct WorkerLauncher<'a> {
    command: WorkerCommand,
    /// The device of launches; absent for the CPU.
    gpu: Option<OnGpu>,
    /// The kernel, and its known files.
    made: Made,
    /// The name of its workers in readings of memory.
    name: &'static str,
    timeout: Duration,
    cancel: Cancel,
    context: &'a RunContext,
    /// The workers of this process, if it starts nothing else.
    crew: Option<Arc<Crew>>,
    worker: Option<Running>,
    /// The number of the last worker.
    number: Option<u32>,
    requests: u64,
    /// The memory readings of every worker that ended.
    proofs: Vec<Release>,
    versions: BTreeMap<String, String>,
    /// Whether others killed the last worker while it started.
    killed_at_start: bool,
    /// The file of `plimsoll`.
    program: PathBuf,
    /// The working directory, which relative paths of entries start from.
    folder: PathBuf,
    /// Copies of arguments, for workers without access to paths.
    copies: Option<Copies>,
    /// Whether the kernel is known to read only the rows of a table that it looks up.
    looks_up: bool,
    /// Whether launches are audited, and their times judged.
    audit: bool,
    /// The worker's overhead beside launches; measured if they are audited.
    overhead: Overhead,
    /// Why the kernel cannot be loaded: a fresh worker could not load it either.
    unloadable: Option<Unloadable>,
}

/// Why no worker can load the kernel.
struct Unloadable {
    failure: Failure,
    /// Whether a requirement of the kernel is missing, while the kernel itself may be correct.
    absent: bool,
}

fn oom_kills() -> Option<OomKills> {
    OomKills::read().ok().flatten()
}

struct Running {
    process: WorkerProcess,
    number: u32,
    available_before: Option<ByteSize>,
    oom_kills: Option<OomKills>,
    /// Whether the worker was asked to load its kernel, and whether it has.
    hello: Hello,
    /// Whether to measure the worker's overhead before it loads the kernel.
    measured: bool,
    /// Whether the worker has launched: only the first launch may build the kernel.
    launched: bool,
}

/// The stage of a worker's start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hello {
    ToBeSaid,
    Said,
    Answered,
}

impl Running {
    /// What the next launch may take longer for: the first may build the kernel.
    fn may_build(&mut self) -> Beyond {
        let first = !std::mem::replace(&mut self.launched, true);
        if first { Beyond::Building(START_LIMIT) } else { Beyond::Nothing }
    }
}

impl<'a> WorkerLauncher<'a> {
    /// A launcher of `spec`; the first worker starts with the first launch.
    ///
    /// # Errors
    /// The kernel's file cannot be read or does not have the kernel, the worker's files cannot be made, or it is not installed.
    pub(super) fn new(
        spec: KernelSpec,
        settings: &Settings,
        role: Role,
        gpu: Option<OnGpu>,
        context: &'a RunContext,
    ) -> Result<Self, NoLauncher> {
        let name = match role {
            Role::Kernel | Role::Versus => "worker",
            Role::Reference => "reference",
            Role::Witness => "witness",
        };
        let (python, in_python) = (settings.python_or_default(), settings.torch_in_python);
        let mut command = WorkerCommand::new(spec.clone(), &settings.program, python, in_python)?;
        if matches!(role, Role::Reference | Role::Witness) {
            command = command.untimed();
        }
        // A reference of Plimsoll's own runs nothing that anybody else has written.
        let own = matches!(role, Role::Reference) && matches!(spec, KernelSpec::Torch(_) | KernelSpec::Builtin(_));
        if let Some(hidden) = settings.hidden.as_ref().filter(|_| !own) {
            command = command.untrusted(&settings.program, &settings.python_or_default(), hidden)?;
        }
        Ok(Self {
            made: Made::of(&spec, &settings.sources)?,
            name,
            command,
            program: settings.program.clone(),
            folder: std::env::current_dir().unwrap_or_default(),
            copies: settings.hidden.as_ref().map(|_| Copies::new()).transpose()?,
            gpu,
            timeout: settings.timeout,
            cancel: settings.cancel.clone(),
            context,
            crew: settings.crew.clone(),
            worker: None,
            number: None,
            requests: 0,
            proofs: Vec::new(),
            versions: BTreeMap::new(),
            killed_at_start: false,
            // An audit looks up other rows than the captured ones.
            looks_up: matches!(spec, KernelSpec::Builtin(_)) && !settings.audit,
            audit: settings.audit && matches!(role, Role::Kernel | Role::Versus),
            overhead: Overhead::default(),
            unloadable: None,
        })
    }

    fn watch(&self, limit: Duration) -> Watch<'a> {
        Watch { limit, launch: None, beyond: Beyond::Nothing, cancel: self.cancel.clone(), meter: self.context.meter() }
    }

    /// The limits to watch while a kernel is loaded.
    fn loading_watch(&self) -> Watch<'a> {
        let total = START_LIMIT.max(self.timeout);
        // The driver of a GPU compiles in the worker itself.
        let computing = if self.gpu.is_some() { total } else { LEAST_COMPUTING.max(self.timeout) };
        let allowed = Allowed { idle: LEAST_IDLE.max(self.timeout), computing, total };
        Watch { beyond: Beyond::Loading(allowed), ..self.watch(total) }
    }

    /// The limits to watch while many launches are under way.
    fn profile_watch(&self) -> Watch<'a> {
        self.watch(self.timeout.saturating_mul(PROFILE_FACTOR))
    }

    /// Prepares a worker for an audit; one whose overhead was not measured is replaced.
    fn measure(&mut self) {
        if self.audit && self.worker.as_ref().is_some_and(|running| !running.measured) {
            self.end_worker(ReleaseReason::BeforeProfiling);
        }
        self.start_early();
    }

    /// The worker's overhead beside launches.
    fn overhead(&self) -> Overhead {
        self.overhead
    }

    /// The message of a single job.
    fn call(&mut self, job: Job<'_>) -> Result<CallBuilder, Failure> {
        self.copies.iter_mut().for_each(Copies::begin);
        CallBuilder::new(job, self.copies.as_mut(), &self.folder, self.looks_up)
    }

    fn next_id(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// The running worker, or a fresh one with the kernel loaded.
    fn running(&mut self) -> Result<&mut Running, Failure> {
        if let Some(Unloadable { failure, .. }) = &self.unloadable {
            return Err(failure.clone());
        }
        if self.worker.is_none() {
            self.start()?;
        }
        if self.worker.as_ref().is_some_and(|running| running.hello != Hello::Answered) {
            self.greet()?;
        }
        Ok(self.worker.as_mut().expect("started above"))
    }

    /// Starts a worker that has not loaded the kernel yet.
    fn start(&mut self) -> Result<(), Failure> {
        let available_before = meter::available();
        let oom_kills = oom_kills();
        self.check_kernel()?;
        let arguments = self.copies.as_ref().map(Copies::file);
        let separated = self.command.has_own_processes();
        let started = self
            .command
            .build()
            .and_then(|(command, sources)| WorkerProcess::start(command, sources, arguments, separated));
        let process = started.map_err(|error| Failure::new(FailureKind::Exit, self.command.not_started(&error)));
        let mut process = process.inspect_err(|failure| self.set_unloadable(failure, self.needs_torch()))?;
        if let KernelSpec::Float64(_) = self.command.kernel() {
            process.believe_tolerances();
        }
        if let Some(crew) = &self.crew {
            crew.enter(&process.family());
        }
        let number = self.context.next_worker();
        self.number = Some(number);
        self.context.meter().name_process(process.pid(), &format!("{} {number}", self.name));
        for first in process.family().into_iter().filter(|pid| *pid != process.pid()) {
            self.context.meter().name_process(first, &format!("name space of {} {number}", self.name));
        }
        let (hello, measured, launched) = (Hello::ToBeSaid, false, false);
        self.worker = Some(Running { process, number, available_before, oom_kills, hello, measured, launched });
        Ok(())
    }

    /// The request to load the kernel.
    fn hello(&self) -> Request {
        let (device, small_context) = self.device().map_or((None, false), |(index, small)| (Some(index), small));
        Request::Hello { protocol: VERSION, kernel: self.command.kernel(), device, small_context }
    }

    /// The number of the GPU, and whether its context should take little of its memory, which has a ceiling.
    fn device(&self) -> Option<(u32, bool)> {
        let small = || self.context.meter().watches().iter().any(|watch| watch.metric == Metric::GpuPeak);
        self.gpu.as_ref().map(|gpu| (gpu.facts.index, small()))
    }

    /// Makes the worker load the kernel.
    fn greet(&mut self) -> Result<(), Failure> {
        let (request, watch, device) = (self.hello(), self.loading_watch(), self.device());
        let running = self.worker.as_mut().expect("a worker was started");
        let asked = match running.hello {
            Hello::ToBeSaid if running.measured => match overhead(&mut running.process, &watch, device) {
                Ok(overhead) => {
                    self.overhead = overhead;
                    running.process.ask(&request, &watch)
                }
                Err(Cause::Refused(reply)) => Ok(*reply),
                Err(cause) => Err(cause),
            },
            Hello::ToBeSaid => running.process.ask(&request, &watch),
            _ => running.process.answer(&watch),
        };
        running.hello = Hello::Answered;
        match asked {
            Ok(Reply::Hello { protocol: VERSION, versions, sources, .. }) => {
                self.versions = versions;
                self.made.add(sources);
                self.killed_at_start = false;
                Ok(())
            }
            Ok(Reply::Error { kind, message, detail, .. }) => {
                let failure = death::reported(kind, message, detail);
                self.set_unloadable(&failure, matches!(kind, Reason::Unavailable(_)));
                self.end_worker(ReleaseReason::Failure);
                Err(failure)
            }
            Ok(other) => Err(self.lost(Cause::Protocol(format!("{other:?} instead of hello")))),
            Err(cause) => {
                let by_kernel = !matches!(cause, Cause::Cancelled | Cause::Breached(_));
                let died = matches!(cause, Cause::Died);
                let mut failure = self.lost(cause);
                // If others killed one worker, that does not count against the kernel, the first time.
                let killed = died && failure.signal.is_some_and(|signal| FROM_OTHERS.contains(&signal));
                if killed && !std::mem::replace(&mut self.killed_at_start, killed) {
                    return self.start().and_then(|()| self.greet());
                }
                let unlinked = self.is_torch() && failure.exit_code == Some(UNLINKED);
                if unlinked {
                    failure.message = self.command.unlinked(failure.stderr.as_deref().unwrap_or_default());
                }
                if by_kernel {
                    self.set_unloadable(&failure, unlinked);
                }
                Err(failure)
            }
        }
    }

    /// Refuses a kernel whose file has changed since the run began: an earlier worker may have rewritten it.
    fn check_kernel(&mut self) -> Result<(), Failure> {
        let Some(changed) = self.made.changed(&self.command.kernel()) else { return Ok(()) };
        let message =
            format!("{changed} changed during the run; run again when nothing writes to it, the kernel included");
        let failure = Failure::new(FailureKind::Input, message);
        self.set_unloadable(&failure, false);
        Err(failure)
    }

    fn is_torch(&self) -> bool {
        matches!(self.command.kernel(), KernelSpec::Torch(_))
    }

    /// Whether its workers need a PyTorch that somebody else has installed.
    fn needs_torch(&self) -> bool {
        self.is_torch() || self.command.kernel().needs_python()
    }

    fn set_unloadable(&mut self, failure: &Failure, absent: bool) {
        self.unloadable = Some(Unloadable { failure: failure.clone(), absent });
    }

    /// The worker cannot be used any more: kills it, and returns its end as the failure.
    fn lost(&mut self, cause: Cause) -> Failure {
        let reason = match cause {
            Cause::Cancelled => ReleaseReason::Interrupted,
            _ => ReleaseReason::Failure,
        };
        let running = self.worker.take().expect("a worker was asked");
        let (end, kills) = self.end(running, reason, |process, _| process.kill(cause));
        death::failure(&end, kills)
    }

    /// Ends the idle worker: a signal that has ended it, or does within `patience`, came from others.
    fn end_idle(&mut self, reason: ReleaseReason, patience: Duration) {
        if let Some(mut running) = self.worker.take() {
            let reason = if running.process.was_killed(patience) { ReleaseReason::Killed } else { reason };
            self.end(running, reason, |process, watch| process.finish(watch));
        }
    }

    /// Ends a worker by `how`, waits for its memory and keeps the proof. Also returns how many processes the kernel's
    /// OOM killer took meanwhile.
    fn end(
        &mut self,
        running: Running,
        reason: ReleaseReason,
        how: impl FnOnce(WorkerProcess, &Watch<'_>) -> End,
    ) -> (End, Option<u64>) {
        let Running { process, number, available_before, oom_kills: before, .. } = running;
        let (pid, family) = (process.pid(), process.family());
        let release = meter::Release::begin(process.id(), available_before);
        family.iter().for_each(|pid| self.context.meter().observe_exit(*pid));
        let end = how(process, &self.watch(self.timeout));
        if let Some(crew) = &self.crew {
            crew.leave(&family);
        }
        let proof = release.wait(reclaim::TOLERANCE, reclaim::WAIT_FOR_MEMORY);
        self.proofs.push(Release { worker: number, pid, reason, proof });
        let kills = before.zip(oom_kills()).map(|(before, after)| after.since(before));
        (end, kills)
    }
}

/// Whether a worker that failed this way is unusable: memory allocated before the failed allocation may still be held,
/// and a device that faulted stays faulted for the process.
fn is_spent(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::HostOom | FailureKind::DeviceOom | FailureKind::DeviceFault)
}

impl Launcher for WorkerLauncher<'_> {
    fn kernel(&self) -> KernelIdentity {
        self.made.identity().clone()
    }

    fn place(&self) -> PlaceKind {
        if self.gpu.is_some() { PlaceKind::Cuda } else { PlaceKind::Cpu }
    }

    fn gpus(&self) -> Vec<Gpu> {
        self.gpu.iter().map(|gpu| Gpu::from(&gpu.facts)).collect()
    }

    fn isolation(&self) -> Option<Isolation> {
        self.copies.as_ref()?;
        let mut layers = confine::layers(&self.program);
        layers.retain(|layer| match layer {
            Layer::OwnMemory => self.command.has_own_memory(),
            Layer::OwnProcesses => self.command.has_own_processes(),
            _ => true,
        });
        Some(Isolation::of(layers))
    }

    fn replays(&self) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.graph)
    }

    fn by_name(&self) -> bool {
        self.command.kernel().is_operator()
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.timeout)
    }

    /// Starts the first worker if one of its requirements may be missing. Any other failure is reported for entries.
    ///
    /// # Errors
    /// [`NoLauncher::Absent`].
    fn prepare(&mut self) -> Result<(), LaunchError> {
        if self.gpu.is_some() || self.needs_torch() {
            let _ = self.running();
        }
        match &self.unloadable {
            Some(Unloadable { failure, absent: true }) => Err(NoLauncher::Absent(failure.message.clone()).into()),
            _ => Ok(()),
        }
    }

    fn launch(&mut self, job: Job<'_>) -> Result<Launched, Failure> {
        let call = self.call(job)?;
        let id = self.next_id();
        let mut watch = self.watch(self.timeout);
        let request = Request::Launch { id, call: call.message() };
        let running = self.running()?;
        watch.beyond = running.may_build();
        match running.process.ask(&request, &watch) {
            Ok(Reply::Launched { id: of, mut outcome }) if of == id => {
                let sources = std::mem::take(&mut outcome.sources);
                let launched = running.process.collect(outcome, call.params());
                self.made.add(sources);
                let launched = launched.map_err(|what| self.lost(Cause::Protocol(what)))?;
                self.check_left().map(|()| launched)
            }
            Ok(Reply::Error { id: Some(of), kind, message, detail, .. }) if of == id => {
                let failure = death::reported(kind, message, detail);
                if is_spent(failure.kind) {
                    self.end_worker(ReleaseReason::Failure);
                }
                Err(failure)
            }
            Ok(other) => Err(self.lost(Cause::Protocol(format!("{other:?} in answer to launch {id}")))),
            Err(cause) => Err(call.explain(self.lost(cause))),
        }
    }

    fn profile(&mut self, batch: &[Job<'_>], protocol: Protocol, each: &mut dyn FnMut(usize, Result<Timed, Failure>)) {
        let mut calls = Vec::new();
        self.copies.iter_mut().for_each(Copies::begin);
        for (index, job) in batch.iter().enumerate() {
            match CallBuilder::new(*job, self.copies.as_mut(), &self.folder, self.looks_up) {
                Ok(call) => calls.push((index, call)),
                Err(failure) => each(index, Err(failure)),
            }
        }
        // If the state cannot be read, the record has none.
        let pci = self.gpu.as_ref().and_then(|gpu| gpu.facts.pci.as_deref());
        let sampler = pci.and_then(|pci| StateSampler::start(pci).ok());
        let mut rest = calls.as_slice();
        while !rest.is_empty() {
            let (done, failure) = self.profile_some(rest, protocol, sampler.as_ref(), each);
            rest = &rest[done..];
            if let (Some(failure), [(index, call), after @ ..]) = (failure, rest) {
                let cancelled = failure.kind == FailureKind::Cancelled;
                each(*index, Err(call.explain(failure)));
                rest = if cancelled { &[] } else { after };
            }
        }
    }

    fn start_early(&mut self) {
        if self.worker.is_some() || self.unloadable.is_some() || self.start().is_err() {
            return;
        }
        let (request, watch) = (self.hello(), self.loading_watch());
        let Some(running) = &mut self.worker else { return };
        running.measured = self.audit;
        // Measure while nothing else starts.
        if !running.measured {
            // The next wait for an answer notices a worker that is gone.
            running.hello = if running.process.send(&request, &watch).is_ok() { Hello::Said } else { running.hello };
        }
    }

    fn audit<'s>(&'s mut self, job: Job<'s>) -> Result<Box<dyn Audited + 's>, Failure> {
        Ok(Box::new(audit::AuditedWorker::of(self, job)?))
    }

    fn drop_caches(&mut self) {
        let watch = self.watch(self.timeout);
        if let Some(running) = &mut self.worker {
            match running.process.ask(&Request::DropCaches, &watch) {
                Ok(Reply::CachesDropped) => {}
                Ok(other) => drop(self.lost(Cause::Protocol(format!("{other:?} in answer to release")))),
                // No launch was under way, so nothing was lost.
                Err(Cause::Died) => self.end_idle(ReleaseReason::Failure, DYING),
                Err(cause) => drop(self.lost(cause)),
            }
        }
    }

    fn end_worker(&mut self, reason: ReleaseReason) {
        self.end_idle(reason, Duration::ZERO);
    }

    fn proofs(&mut self) -> Vec<Release> {
        std::mem::take(&mut self.proofs)
    }

    fn worker(&self) -> Option<u32> {
        self.number
    }

    fn worker_rss(&self) -> Option<ByteSize> {
        self.worker.as_ref()?.process.rss()
    }

    fn versions(&self) -> BTreeMap<String, String> {
        self.versions.clone()
    }
}
