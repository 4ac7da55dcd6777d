//! The whole way of a run: manifest, validation, release, profiling, verdicts, record.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::{Instant, SystemTime};

use crate::bytes::ByteSize;
use crate::capture::Capture;
use crate::capture::batch::Batch;
use crate::capture::store::ObjectVerifier;
use crate::compare::Comparison;
use crate::gpu::PlaceKind;
use crate::meter::{Meter, MeterError, PhaseReadings, SystemInfo};
use crate::record::{
    Aggregation, Batching, CacheRelease, CapturePolicy, CaptureSemantics, CaptureSource, EntryResult, Environment, Gpu,
    Policy, Record, RecordError, Recycling, Release, ReleaseReason, Results, RunState, SCHEMA, Semantics, SourceKind,
    Verdict, exit_code, timestamp,
};
use crate::timing::nanoseconds;

use super::entries::Entries;
use super::launcher::{Launcher, Launchers};
use super::manifest::{Planned, manifest};
use super::observer::{Observer, Phase};
use super::options::Options;
use super::plan::{Grouping, Plan};
use super::{profile, validate, verdicts};

/// Why a run could not begin, or its record not be built. Whatever happens to an entry is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An entry exceeds the byte cap and was to be refused.
    #[error("{name} alone keeps {bytes} resident, over the cap of {cap}: raise the cap, or let such entries run alone")]
    OverCap {
        /// The entry.
        name: String,
        /// What it keeps resident.
        bytes: ByteSize,
        /// The cap.
        cap: ByteSize,
    },
    /// The record could not be built.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Memory could not be metered.
    #[error(transparent)]
    Meter(#[from] MeterError),
}

/// Runs `options` on `capture` with the kernel of `launcher`, metered by `meter`, and gives the record.
///
/// The meter is finished here; its phases are those of [`Phase`]. An interruption ([`Observer::cancelled`]) ends in a
/// record too, whose state says so.
///
/// # Errors
/// [`RunError`]; nothing was launched where the batches could not be planned.
pub fn run(
    capture: &Capture,
    launcher: &mut dyn Launcher,
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    run_against(capture, Launchers { kernel: launcher, reference: None }, meter, options, observer)
}

/// As [`run`], the outputs of validated entries judged against what the reference gives for the same arguments, where there is
/// one. What is timed is judged against what was captured.
///
/// # Errors
/// As [`run`].
pub fn run_against(
    capture: &Capture,
    mut launchers: Launchers<'_, '_>,
    meter: &Meter,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Record, RunError> {
    let session = Session::begin(capture, options);
    let begin = if options.validate { Phase::Validate } else { Phase::Profile };
    meter.phase(begin.name());
    let planned = manifest(capture, options.digest);
    let on_device = launchers.kernel.place() != PlaceKind::Cpu;
    let grouping = if on_device && !options.validate { Grouping::FirstAlone } else { Grouping::Together };
    let timed = if options.profile { &planned[..] } else { &[] };
    let mut plan = Plan::new(timed, options, grouping)?;
    let mut semantics = semantics(capture, launchers.kernel, &planned, options);
    semantics.reference = launchers.reference.as_ref().map(|reference| reference.kernel());
    let mut results = no_results(&planned);
    let mut verifier = ObjectVerifier::new(options.verify);

    if options.validate {
        observer.phase(Phase::Validate, planned.len());
        let rule = semantics.comparison.as_ref().expect("a run that validates has a rule");
        let mut entries =
            Entries { capture, planned: &planned, verifier: &mut verifier, by_name: launchers.kernel.by_name() };
        validate::validate(&mut entries, &planned, rule, &mut launchers, options, observer, &mut results);
        meter.phase(Phase::Release.name());
        observer.phase(Phase::Release, 0);
        if let Some(reference) = &mut launchers.reference {
            reference.recycle(ReleaseReason::Finished);
        }
        launchers.kernel.recycle(if options.profile {
            ReleaseReason::BeforeProfiling
        } else {
            ReleaseReason::Finished
        });
    }
    if options.profile {
        if options.validate {
            meter.phase(Phase::Profile.name());
        }
        observer.phase(Phase::Profile, planned.len());
        let mut entries =
            Entries { capture, planned: &planned, verifier: &mut verifier, by_name: launchers.kernel.by_name() };
        let rule = semantics.comparison.as_ref();
        plan.learn(&results);
        profile::profile(&mut entries, &mut plan, rule, launchers.kernel, options, observer, &mut results);
        launchers.kernel.recycle(ReleaseReason::Finished);
    }
    let phases = meter.finish();
    verifier.remember();
    let mut releases = launchers.kernel.releases();
    let mut versions = launchers.kernel.versions();
    if let Some(reference) = &mut launchers.reference {
        releases.extend(reference.releases());
        releases.sort_by_key(|release| release.worker);
        versions.extend(reference.versions());
    }

    let mut verdicts = Vec::new();
    if options.validate {
        verdicts.push(verdicts::validation("validation", &results));
    }
    if options.profile {
        verdicts.push(verdicts::profile("profile", &results));
    }
    let timing = semantics.aggregation.and_then(|how| how.aggregate(&results));
    session.record(Ended {
        semantics,
        batches: plan.into_batches(),
        phases,
        releases,
        gpus: launchers.kernel.gpus(),
        versions,
        results: Results { entries: results, timing, versus: None },
        verdicts,
        interrupted: observer.cancelled(),
    })
}

/// A run that has begun.
pub(super) struct Session<'a> {
    capture: &'a Capture,
    options: &'a Options,
    started: SystemTime,
    clock: Instant,
}

/// What a run came to.
pub(super) struct Ended {
    pub semantics: CaptureSemantics,
    pub batches: Vec<Batch>,
    pub phases: Vec<PhaseReadings>,
    pub releases: Vec<Release>,
    pub gpus: Vec<Gpu>,
    pub versions: BTreeMap<String, String>,
    pub results: Results,
    /// On the results; those on releases and ceilings come after them.
    pub verdicts: Vec<Verdict>,
    pub interrupted: bool,
}

impl<'a> Session<'a> {
    /// A run that begins now.
    pub fn begin(capture: &'a Capture, options: &'a Options) -> Self {
        Self { capture, options, started: SystemTime::now(), clock: Instant::now() }
    }

    /// The record of the run, which is over.
    ///
    /// # Errors
    /// The system cannot be read.
    pub fn record(self, ended: Ended) -> Result<Record, RunError> {
        let Ended { semantics, batches, phases, releases, gpus, versions, results, mut verdicts, interrupted } = ended;
        if !releases.is_empty() {
            verdicts.push(verdicts::release(&releases));
        }
        verdicts.extend(ceiling_verdicts(&phases, self.options));
        let semantics = Semantics::Capture(semantics);
        Ok(Record {
            schema: SCHEMA.to_owned(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.options.command.clone(),
            state: if interrupted { RunState::Interrupted } else { RunState::Complete },
            started: timestamp(self.started),
            wall_ns: nanoseconds(self.clock.elapsed()),
            semantics_digest: semantics.digest(),
            semantics,
            policy: Policy::Capture(policy(self.capture, self.options, batches)),
            environment: Environment { gpus, ..Environment::of(SystemInfo::read()?, versions) },
            phases,
            end: None,
            runs: Vec::new(),
            releases,
            results,
            exit_code: exit_code(&verdicts),
            verdicts,
        })
    }
}

/// What a run of the kernel of `launcher` by itself measures.
pub(super) fn semantics(
    capture: &Capture,
    launcher: &dyn Launcher,
    planned: &[Planned],
    options: &Options,
) -> CaptureSemantics {
    let operator = capture.function_name().to_owned();
    let rule = || options.comparison.unwrap_or_else(|| Comparison::for_operator(&operator));
    CaptureSemantics {
        comparison: options.validate.then(rule),
        operator,
        entries: planned.iter().map(|p| p.semantics.clone()).collect(),
        kernel: launcher.kernel(),
        device: launcher.place(),
        graph: options.profile && launcher.replays(),
        reference: None,
        mutates: options.mutates.clone(),
        timing: options.profile.then_some(options.protocol),
        aggregation: options.profile.then(|| Aggregation::of(options.protocol)),
        versus: None,
    }
}

/// A place for the result of each entry.
pub(super) fn no_results(planned: &[Planned]) -> Vec<EntryResult> {
    let result = |(index, p): (usize, &Planned)| EntryResult {
        index,
        name: p.semantics.name.clone(),
        validation: None,
        profile: None,
    };
    planned.iter().enumerate().map(result).collect()
}

fn ceiling_verdicts(phases: &[PhaseReadings], options: &Options) -> Vec<Verdict> {
    crate::ceiling::judge(phases, &options.ceilings).into_iter().map(Verdict::from).collect()
}

fn policy(capture: &Capture, options: &Options, batches: Vec<Batch>) -> CapturePolicy {
    CapturePolicy {
        source: source(capture, options),
        batching: options.profile.then(|| Batching {
            cap: Some(options.batch_bytes),
            over_cap: options.over_cap,
            batches: batches.into_iter().map(Into::into).collect(),
        }),
        recycling: Recycling { after: options.recycle_after, rss_mark: options.recycle_rss },
        cache_release: CacheRelease::BetweenBatches,
        threads: std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u32,
        timeout_ns: options.timeout.map(nanoseconds),
        sampling_interval_ns: nanoseconds(options.sampling_interval),
        digest: options.digest,
    }
}

fn source(capture: &Capture, options: &Options) -> CaptureSource {
    let path = capture.path().display().to_string();
    match capture.is_in_store() {
        true => CaptureSource { kind: SourceKind::Store, path, verify: Some(options.verify) },
        false => CaptureSource { kind: SourceKind::Folder, path, verify: None },
    }
}
