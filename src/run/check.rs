//! [`Check`]: the work of `plimsoll check`, in a line or two of a test.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::defaults;
use crate::record::{Record, VerdictStatus};
use plimsoll_capture::batch::OverCap;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::PlaceKind;
use plimsoll_capture::kernel::Kernel;
use plimsoll_capture::store::VerifyObjects;
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Capture, Digest};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Ceilings;
use plimsoll_memory::meter::{Meter, MeterOptions, Metric};

use super::error::RunError;
use super::in_process::InProcess;
use super::launcher::{LaunchError, Launcher};
use super::observer::Observer;
use super::operators::Operators;
use super::options::{AuditOptions, Options, Share};
use super::session::Run;

/// A kernel for a check: a [`Kernel`] in this process, or one that runs elsewhere, such as
/// `plimsoll_harness::supervisor::Isolated` in worker processes.
pub trait Launch {
    /// The place of launches; if that is a GPU, its memory is metered.
    fn place(&self) -> PlaceKind {
        PlaceKind::Cpu
    }

    /// The launcher for a run that is about to begin.
    ///
    /// # Errors
    /// The kernel does not exist, or nothing can run it.
    fn launcher<'r>(
        self: Box<Self>,
        role: Role,
        context: &'r RunContext,
    ) -> Result<Box<dyn Launcher + 'r>, LaunchError>
    where
        Self: 'r;
}

impl<K: Kernel> Launch for K {
    fn launcher<'r>(self: Box<Self>, _: Role, _: &'r RunContext) -> Result<Box<dyn Launcher + 'r>, LaunchError>
    where
        Self: 'r,
    {
        Ok(Box::new(InProcess::new(*self)))
    }
}

/// The role of a kernel in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The checked kernel.
    Kernel,
    /// The kernel whose outputs are expected.
    Reference,
    /// The kernel that the checked one is timed in turns with.
    Versus,
    /// The witness of audited launches, in a process that times nothing.
    Witness,
}

/// The shared state of the launchers of one run.
#[derive(Debug)]
pub struct RunContext {
    meter: Meter,
    workers: Cell<u32>,
}

impl RunContext {
    /// The context of a run that `meter` watches.
    pub fn new(meter: Meter) -> Self {
        Self { meter, workers: Cell::new(0) }
    }

    /// The meter of the run.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The number of a worker that has just started, from 1; no two workers of a run have the same.
    pub fn next_worker(&self) -> u32 {
        self.workers.set(self.workers.get() + 1);
        self.workers.get()
    }
}

/// The state of a check without a kernel.
#[derive(Clone, Copy, Debug)]
pub struct NoKernel;

/// A check of a kernel on every entry of a capture: validate, release the memory, time, judge.
///
/// The kernel runs in this process, or in worker processes if it is an `Isolated` of `plimsoll_harness::supervisor`. A
/// crash, a hang or a leak of an isolated kernel fails the entry and not the test, and a worker that breaks a ceiling
/// is stopped at once. In this process ceilings are judged at the end, on the memory of the whole process.
///
/// ```
/// use plimsoll::capture::{Capture, synthesize};
/// use plimsoll::kernel::builtin;
/// use plimsoll::run::Check;
/// use plimsoll::timing::Protocol;
///
/// let dir = tempfile::tempdir()?;
/// synthesize::gemma4_e2b_gb10().scale(1, 1536).entries(2).write(dir.path())?;
/// let capture = Capture::open(dir.path())?;
/// let report = Check::of(&capture)
///     .kernel(builtin::embedding())
///     .ceilings("peak_rss = 4 GiB".parse()?)
///     .protocol(Protocol::Samples { warmup: 1, launches: 3.try_into().unwrap() })
///     .run()?;
/// assert!(report.passed(), "{}", report.summary());
/// assert!(report.record().results.timing.is_some());
/// # Ok::<(), plimsoll::Error>(())
/// ```
#[must_use = "a check does nothing until it is run"]
pub struct Check<'a, K = NoKernel> {
    capture: &'a Capture,
    kernel: K,
    reference: Option<Box<dyn Launch + 'a>>,
    versus: Option<Box<dyn Launch + 'a>>,
    witnesses: Vec<Box<dyn Launch + 'a>>,
    operators: Vec<Box<dyn Launch + 'a>>,
    left_out: Vec<String>,
    options: Options,
    ceilings: Ceilings,
    sample_interval: Duration,
}

impl<'a> Check<'a> {
    /// A check of every entry of `capture`, by the operator's own comparison rule, with the settings of `plimsoll
    /// check` without flags.
    pub fn of(capture: &'a Capture) -> Self {
        Self {
            capture,
            kernel: NoKernel,
            reference: None,
            versus: None,
            witnesses: Vec::new(),
            operators: Vec::new(),
            left_out: Vec::new(),
            options: Options::default(),
            ceilings: Ceilings::new(),
            sample_interval: defaults::SAMPLE_INTERVAL,
        }
    }

    /// Checks `kernel`.
    pub fn kernel<K: Launch + 'a>(self, kernel: K) -> Check<'a, K> {
        Check {
            kernel,
            capture: self.capture,
            reference: self.reference,
            versus: self.versus,
            witnesses: self.witnesses,
            operators: self.operators,
            left_out: self.left_out,
            options: self.options,
            ceilings: self.ceilings,
            sample_interval: self.sample_interval,
        }
    }
}

impl<'a, K> Check<'a, K> {
    /// Only validates: every entry is launched once and judged, and none is timed.
    pub fn validate_only(mut self) -> Self {
        (self.options.validate, self.options.profile) = (true, false);
        self
    }

    /// Only times: no entry is judged.
    pub fn profile_only(mut self) -> Self {
        (self.options.validate, self.options.profile) = (false, true);
        self
    }

    /// Compares validated outputs with those of `reference` for the same arguments. Timed outputs are compared with the
    /// captured ones.
    pub fn reference(mut self, reference: impl Launch + 'a) -> Self {
        self.reference = Some(Box::new(reference));
        self
    }

    /// Validates `other` too, and times both kernels in turns on each entry.
    pub fn versus(mut self, other: impl Launch + 'a) -> Self {
        self.versus = Some(Box::new(other));
        self
    }

    /// Audits timed launches: each has values that the kernel cannot know, and its output is judged afterwards. A
    /// witness computes the expected outputs: the reference, if there is one; else the kernel itself in a separate
    /// process, and after it the kernel that it is compared with.
    pub fn audit(mut self, audit: AuditOptions, witness: impl Launch + 'a) -> Self {
        self.options.audit = Some(audit);
        self.witnesses.push(Box::new(witness));
        self
    }

    /// An implementation of the captured operator that is none of the kernels. Without a reference, an audit chooses the
    /// first that reproduces the captured output of an entry; the record says which, or why none.
    pub fn operator(mut self, operator: impl Launch + 'a) -> Self {
        self.operators.push(Box::new(operator));
        self
    }

    /// Says in the record of an audit why an implementation of the captured operator is left out.
    pub fn operator_left_out(mut self, why: impl Into<String>) -> Self {
        self.left_out.push(why.into());
        self
    }

    /// How often two kernels are measured side by side on each entry.
    pub fn pairs(mut self, pairs: NonZeroU32) -> Self {
        self.options.pairs = pairs;
        self
    }

    /// How many times as fast as the other the kernel has to be.
    pub fn min_speedup(mut self, ratio: f64) -> Self {
        self.options.min_speedup = Some(ratio);
        self
    }

    /// Compares by `rule`.
    pub fn comparison(mut self, rule: Comparison) -> Self {
        self.options.comparison = Some(rule);
        self
    }

    /// The arguments that the kernel is meant to change in place; an entry fails if the kernel changes any other.
    pub fn mutates(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.mutates = arguments.into_iter().map(Into::into).collect();
        self
    }

    /// How launches are timed.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.options.protocol = protocol;
        self
    }

    /// The most bytes that may be resident together while timing.
    pub fn batch_bytes(mut self, bytes: ByteSize) -> Self {
        self.options.batch_bytes = bytes;
        self
    }

    /// The action on an entry that alone exceeds [`Check::batch_bytes`].
    pub fn over_cap(mut self, rule: OverCap) -> Self {
        self.options.over_cap = rule;
        self
    }

    /// Replaces a validation worker after this many bytes of entries. A kernel in this process has no worker.
    pub fn recycle_after(mut self, bytes: ByteSize) -> Self {
        self.options.recycle_after = Some(bytes);
        self
    }

    /// Replaces a validation worker whose resident memory reached this. A kernel in this process has no worker.
    pub fn recycle_rss(mut self, bytes: ByteSize) -> Self {
        self.options.recycle_rss = Some(bytes);
        self
    }

    /// What the digests of entries cover.
    pub fn digest(mut self, digest: Digest) -> Self {
        self.options.digest = digest;
        self
    }

    /// How often the objects of a store are verified before a kernel gets their bytes.
    pub fn verify(mut self, verify: VerifyObjects) -> Self {
        self.options.verify = verify;
        self
    }

    /// Runs a share of a capture: the capture of this check has its entries alone.
    pub fn share(mut self, share: Share) -> Self {
        self.options.share = Some(share);
        self
    }

    /// Stops at the first entry that does not pass.
    pub fn fail_fast(mut self) -> Self {
        self.options.fail_fast = true;
        self
    }

    /// Limits memory: `"peak_rss = 256 MiB, swap_growth = 0 B".parse()?`.
    pub fn ceilings(mut self, ceilings: Ceilings) -> Self {
        self.ceilings = ceilings;
        self
    }

    /// The time between two samples of memory.
    pub fn sample_interval(mut self, interval: Duration) -> Self {
        self.sample_interval = interval;
        self
    }

    /// Replaces every setting at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}

impl<'a, K: Launch + 'a> Check<'a, K> {
    /// Runs the check.
    ///
    /// # Errors
    /// [`RunError`] if the kernel cannot be launched at all, memory cannot be metered, or the batches cannot be planned. An
    /// entry that fails is a result, not an error.
    pub fn run(self) -> Result<Report, RunError> {
        self.run_observed(&mut ())
    }

    /// Runs the check; `observer` follows its progress and may stop it.
    ///
    /// # Errors
    /// As [`Check::run`].
    pub fn run_observed(self, observer: &mut dyn Observer) -> Result<Report, RunError> {
        let Self { capture, kernel, reference, versus, witnesses, options, ceilings, sample_interval, .. } = self;
        let (operators_of, mut missing) = (self.operators, self.left_out);
        let kernel: Box<dyn Launch + 'a> = Box::new(kernel);
        let on_gpu = |launch: &dyn Launch| launch.place() != PlaceKind::Cpu;
        let limits_gpu = [Metric::GpuPeak, Metric::UnifiedPeak].iter().any(|metric| ceilings.get(*metric).is_some());
        let context = RunContext::new(Meter::start_with(MeterOptions {
            sample_interval,
            watches: ceilings.watches(),
            gpu: limits_gpu || on_gpu(&*kernel) || versus.as_deref().is_some_and(on_gpu),
            ..MeterOptions::default()
        })?);
        let launcher = |launch: Box<dyn Launch + 'a>, role| launch.launcher(role, &context).map_err(RunError::Launch);
        let mut kernel = launcher(kernel, Role::Kernel)?;
        let mut versus = versus.map(|other| launcher(other, Role::Versus)).transpose()?;
        let mut reference = reference.map(|reference| launcher(reference, Role::Reference)).transpose()?;
        let mut witnesses =
            witnesses.into_iter().map(|witness| launcher(witness, Role::Witness)).collect::<Result<Vec<_>, _>>()?;
        let mut operators = Vec::new();
        if reference.is_none() && options.audit.is_some() {
            for operator in operators_of {
                match operator.launcher(Role::Reference, &context) {
                    Ok(launcher) => operators.push(launcher),
                    // The audit then has the kernel itself as its witness.
                    Err(error) => missing.push(error.to_string()),
                }
            }
        }
        for launcher in [Some(&mut kernel), versus.as_mut(), reference.as_mut()].into_iter().flatten() {
            launcher.prepare().map_err(RunError::Launch)?;
        }
        let mut run = Run::of(capture, &mut *kernel, context.meter(), &options, observer);
        if let Some(other) = &mut versus {
            run = run.in_turns_with(&mut **other);
        }
        run = run.witnessed_by(witnesses.iter_mut().map(|witness| &mut **witness as &mut dyn Launcher));
        if let Some(reference) = &mut reference {
            run = run.against(&mut **reference);
        }
        let operators = operators.iter_mut().map(|operator| &mut **operator as &mut dyn Launcher);
        run = run.choosing_from(Operators::new(operators.collect(), missing));
        run.record().map(Report)
    }
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Report(Record);

impl Report {
    /// Whether every entry passed and every verdict holds.
    pub fn passed(&self) -> bool {
        self.0.verdicts.iter().all(|verdict| verdict.status == VerdictStatus::Pass)
    }

    /// The verdicts, a line each.
    pub fn summary(&self) -> String {
        self.0.verdicts.iter().map(|v| format!("{}: {}\n", v.subject, v.message)).collect()
    }

    /// The record of the run.
    pub fn record(&self) -> &Record {
        &self.0
    }

    /// The record of the run, to keep.
    pub fn into_record(self) -> Record {
        self.0
    }
}
