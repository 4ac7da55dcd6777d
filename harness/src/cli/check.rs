//! `check`, `validate`, `profile`: the main job and its halves.

use std::path::{Path, PathBuf};

use plimsoll::capture::batch::OverCap;
use plimsoll::capture::store::VerifyObjects;
use plimsoll::capture::{Capture, Digest};
use plimsoll::ceiling::{Ceiling, Ceilings};
use plimsoll::compare::Comparison;
use plimsoll::gpu::Place;
use plimsoll::kernel::KernelSpec;
use plimsoll::meter::{Meter, MeterOptions, Metric};
use plimsoll::record::{Record, RecordFile, RunState};
use plimsoll::report::terminal;
use plimsoll::run::{self, Launcher, Launchers, Options};
use plimsoll::timing::{Protocol, nanoseconds};

use super::args::{
    Check, ComparisonFlags, DigestMode, MemoryFlags, OverCapRule, ProtocolName, TimingFlags, VerifyMode,
};
use super::{Failed, devices, output};
use crate::progress::RunProgress;
use crate::signals::Cancel;
use crate::supervisor::{Crew, OnGpu, WorkerLauncher};

/// The record's name where none is given.
const DEFAULT_RECORD: &str = "plimsoll-record.json";

/// Which halves to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    Both,
    Validate,
    Profile,
}

/// Runs the parts and gives the exit code of the record's verdicts.
pub fn run(parts: Parts, check: Check) -> Result<u8, Failed> {
    if parts == Parts::Validate && check.versus.vs.is_some() {
        return Err(
            "`validate` times nothing: `plimsoll check --vs` validates both kernels and times them in turns".into()
        );
    }
    let cancel = Cancel::install_against_kernels()?;
    // Daemons and orphans of workers stay below this process, where they are metered and ended.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(std::io::Error::from)?;
    let gpu = match gpu(&check)? {
        Ok(gpu) => gpu,
        Err(reason) => {
            super::report_message(&reason);
            return Ok(super::NOT_MEASURABLE);
        }
    };
    let capture = Capture::open(&check.capture)?;
    for other in capture.others() {
        output::note(&format_args!("note: {other} is left alone: its name is not entry_*.pt"));
    }
    // The record's place is tried before hours of work, not after.
    let path = record_path(&check);
    let file = path.as_deref().map(RecordFile::prepare).transpose()?;
    check.documents.check()?;

    let ceilings = ceilings(&check.memory);
    let meter = Meter::start_with(MeterOptions {
        interval: check.memory.sample_interval,
        watches: ceilings.watches(),
        gpu: gpu.is_some() || check.memory.gpu_peak.is_some() || check.memory.unified_peak.is_some(),
        ..MeterOptions::default()
    })?;
    meter.name_process(std::process::id(), "supervisor");
    let options = options(parts, &check, &capture, ceilings);
    let reference = check.reference.kernel(capture.function_name());
    if reference.is_some() && (parts != Parts::Validate || check.versus.vs.is_some()) {
        return Err("--reference is validate's: what is timed is judged against what was captured".into());
    }
    let crew = Crew::default();
    let launcher = |kernel: &KernelSpec| {
        let python = Some(check.python.clone());
        // Only a reference can be built in where there is a GPU: it computes on the CPU what is expected.
        let gpu = gpu.clone().filter(|_| !matches!(kernel, KernelSpec::Builtin(_)));
        WorkerLauncher::new(kernel.clone(), python, gpu, check.timeout, &cancel, &meter, &crew)
    };
    let mut kernel = launcher(&check.kernel)?;
    let mut other = check.versus.vs.as_ref().map(launcher).transpose()?;
    let mut reference = reference.as_ref().map(launcher).transpose()?.map(|launcher| launcher.named("reference"));
    for launcher in [Some(&mut kernel), other.as_mut(), reference.as_mut()].into_iter().flatten() {
        launcher.prepare()?;
    }
    let mut progress = RunProgress::new(&cancel);
    let record = match &mut other {
        Some(other) => run::versus(&capture, &mut [&mut kernel, other], &meter, &options, &mut progress),
        None => {
            let reference = reference.as_mut().map(|launcher| launcher as &mut dyn Launcher);
            let launchers = Launchers { kernel: &mut kernel, reference };
            run::run_against(&capture, launchers, &meter, &options, &mut progress)
        }
    };
    progress.finish();
    let record = record?;

    // Nothing is said before it is true: a verdict whose record or report does not fit on the disk does not hold.
    file.map(|file| file.commit(&record)).transpose()?;
    check.documents.write(std::slice::from_ref(&record))?;
    show(&record, path.as_deref(), check.output.json)?;
    Ok(match (record.state, cancel.signal()) {
        (RunState::Interrupted, Some(signal)) => 128 + signal,
        _ => record.exit_code,
    })
}

/// The GPU that the kernel is to be launched on; the reason where there is none.
fn gpu(check: &Check) -> Result<Result<Option<OnGpu>, String>, Failed> {
    let Place::Cuda(index) = check.device else {
        return if check.graph {
            Err("--graph is for kernels on a GPU: add --device cuda".into())
        } else {
            Ok(Ok(None))
        };
    };
    for kernel in [Some(&check.kernel), check.versus.vs.as_ref()].into_iter().flatten() {
        if matches!(kernel, KernelSpec::Builtin(_)) {
            let device = check.device;
            return Err(
                format!("{kernel} runs on the CPU: --device {device} takes torch:, lib: and py: kernels").into()
            );
        }
        if check.graph && !matches!(kernel, KernelSpec::Library { .. }) {
            return Err(format!("--graph takes lib: kernels, and not {kernel}").into());
        }
    }
    let (graph, small_context) = (check.graph, check.memory.gpu_peak.is_some());
    Ok(devices::find(index).map(|facts| Some(OnGpu { facts, graph, small_context })))
}

fn record_path(check: &Check) -> Option<PathBuf> {
    match &check.output.record {
        Some(path) => Some(path.clone()),
        None if check.output.no_record || check.output.json => None,
        None => Some(PathBuf::from(DEFAULT_RECORD)),
    }
}

fn show(record: &Record, path: Option<&Path>, json: bool) -> Result<(), Failed> {
    if json { output::json(record) } else { output::text(&terminal::record(record, path, &super::screen())) }
}

fn options(parts: Parts, check: &Check, capture: &Capture, ceilings: Ceilings) -> Options {
    Options {
        validate: parts != Parts::Profile,
        profile: parts != Parts::Validate,
        comparison: Some(comparison(&check.comparison, capture.function_name())),
        mutates: check.mutates.clone(),
        protocol: protocol(&check.timing),
        pairs: check.versus.pairs,
        min_speedup: check.versus.min_speedup,
        batch_bytes: check.memory.batch_bytes,
        over_cap: match check.memory.over_cap {
            OverCapRule::Alone => OverCap::Alone,
            OverCapRule::Refuse => OverCap::Refuse,
        },
        recycle_after: Some(check.memory.recycle_after),
        recycle_rss: check.memory.recycle_rss,
        fail_fast: check.fail_fast,
        digest: match check.digest {
            DigestMode::Skeleton => Digest::Skeleton,
            DigestMode::Full => Digest::Full,
        },
        verify: match check.verify {
            VerifyMode::Always => VerifyObjects::Always,
            VerifyMode::Once => VerifyObjects::Once,
            VerifyMode::Never => VerifyObjects::Never,
        },
        ceilings,
        timeout: Some(check.timeout),
        sampling_interval: check.memory.sample_interval,
        command: std::env::args().collect(),
    }
}

/// The operator's own rule, or the one named, with what the flags put in place of its parts.
fn comparison(flags: &ComparisonFlags, operator: &str) -> Comparison {
    let rule = flags.rule.map_or_else(|| Comparison::for_operator(operator), Comparison::from);
    Comparison {
        rtol: flags.rtol.or(rule.rtol),
        atol: flags.atol.or(rule.atol),
        equal_nan: if flags.equal_nan { Some(true) } else { rule.equal_nan },
        ..rule
    }
}

fn protocol(flags: &TimingFlags) -> Protocol {
    let (warmup, launches) = (flags.warmup, flags.launches);
    match flags.protocol {
        ProtocolName::Kernelforge => Protocol::KernelForge { warmup, launches },
        ProtocolName::Samples => Protocol::Samples { warmup, launches },
        ProtocolName::Cold => Protocol::Cold { warmup, launches },
        ProtocolName::Until => Protocol::Until {
            warmup,
            launches,
            relative_error: flags.relative_error,
            time_ns: nanoseconds(flags.max_time),
        },
    }
}

fn ceilings(flags: &MemoryFlags) -> Ceilings {
    [
        (Metric::PeakRss, flags.peak_rss),
        (Metric::PeakAnon, flags.peak_anon),
        (Metric::SwapGrowth, flags.swap_growth),
        (Metric::AvailableFloor, flags.available_floor),
        (Metric::GpuPeak, flags.gpu_peak),
        (Metric::UnifiedPeak, flags.unified_peak),
    ]
    .into_iter()
    .filter_map(|(metric, limit)| limit.map(|limit| Ceiling { metric, limit }))
    .collect::<Vec<_>>()
    .try_into()
    .expect("each metric stands there once")
}
