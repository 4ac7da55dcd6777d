//! `check`, `validate`, `profile`: the main job and its halves.

mod flags;
mod share;

use std::path::{Path, PathBuf};

use plimsoll::capture::batch::OverCap;
use plimsoll::capture::store::VerifyObjects;
use plimsoll::capture::{Capture, Digest};
use plimsoll::compare::Comparison;
use plimsoll::defaults;
use plimsoll::elsewhere::Local;
use plimsoll::gpu::{DeviceFacts, Place};
use plimsoll::kernel::{KernelSpec, Reference};
use plimsoll::record::{Record, RecordFile, RunState};
use plimsoll::report::terminal;
use plimsoll::run::{self, AuditOptions, Options};
use plimsoll::timing::{Protocol, nanoseconds};

use super::args::{Chosen, named};
use super::{Failed, output};
use crate::keep::Keeper;
use crate::progress::RunProgress;
use crate::signals::Cancel;
use crate::supervisor::Workers;

pub use flags::Check;
use flags::{ComparisonFlags, DigestMode, OverCapRule, ProtocolName, TimingFlags, VerifyMode};
use share::Shared;

/// Which halves to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    Both,
    Validate,
    Profile,
}

/// Runs the parts and returns the exit code of the record's verdicts.
pub fn run(parts: Parts, check: Check) -> Result<u8, Failed> {
    if parts == Parts::Validate && check.versus.vs.is_some() {
        return Err(
            "`validate` times nothing: `plimsoll check --vs` validates both kernels and times them in turns".into()
        );
    }
    let cancel = Cancel::new()?;
    let (device, facts) = share::device(&check)?;
    let workers = workers(&check, device, facts, &cancel)?;
    let local = Local::open(&check.capture, &check.remote.keep(check.memory.batch_bytes))?;
    let whole = Capture::open(local.path())?;
    for other in whole.others() {
        output::note(&format_args!("note: {other} is left alone: its name is not entry_*.pt"));
    }
    let shared = share::share(parts, &check, whole, device)?;
    let capture = &shared.capture;
    // Everything was read: until here a signal ends the process, even if it waits for a named pipe.
    cancel.take_over_against_kernels()?;
    // Check that the record can be written now, not after hours of work.
    let path = record_path(&check, shared.chosen.as_ref())?;
    let file = path.as_deref().map(RecordFile::prepare).transpose()?;
    check.documents.check()?;

    let function = capture.function_name();
    let reference = check.reference.as_ref().and_then(|reference| reference.kernel(function));
    let audit = audit(parts, &check, device)?;
    if reference.is_some() && audit.is_none() && (parts != Parts::Validate || check.versus.vs.is_some()) {
        return Err(
            "--reference is for validate and --audit: otherwise timed outputs are compared with the captured ones"
                .into(),
        );
    }
    let workers = if audit.is_some() { workers.audited() } else { workers };
    let hidden = || [Some(local.path().to_owned()), path.clone()].into_iter().flatten();
    let workers = if check.audit.untrusted { workers.untrusted(hidden())? } else { workers };
    let mut job = run::Check::of(capture)
        .options(options(parts, &check, &shared, reference.as_ref()))
        .ceilings(check.memory.ceilings.ceilings())
        .sample_interval(check.memory.sample_interval)
        .kernel(workers.clone().sources(check.kernel_source.iter().cloned()).isolated(check.kernel.clone()));
    for kernel in [Some(&check.kernel), check.versus.vs.as_ref()].into_iter().flatten() {
        if let Some(audit) = audit.clone() {
            job = job.audit(audit, workers.isolated(kernel.clone()));
        }
    }
    if let Some(other) = &check.versus.vs {
        job = job.versus(workers.isolated(other.clone()));
    }
    if let Some(reference) = reference {
        job = job.reference(workers.isolated(reference));
    }
    if check.reference.is_none() {
        // A library's process may be small, and torch's would be held to the same ceilings.
        let limited = !check.kernel.needs_python() && !check.memory.ceilings.ceilings().watches().is_empty();
        for operator in Reference::known(function) {
            job = match operator {
                KernelSpec::Torch(_) if limited => {
                    job.operator_left_out(format!("{operator} is not loaded under a ceiling"))
                }
                KernelSpec::Torch(_) => {
                    let in_python = workers.isolated(operator.clone()).in_python();
                    job.operator(workers.isolated(operator)).operator(in_python)
                }
                _ => job.operator(workers.isolated(operator)),
            };
        }
    }
    let mut progress = RunProgress::new(&cancel, Keeper::new(path.as_deref()));
    let report = job.run_observed(&mut progress);
    let keeper = progress.finish();
    let record = report?.into_record();
    let alone = shared.is_resumed().then(|| record.clone());
    let record = match shared.joined(record) {
        Ok(record) => record,
        Err(error) => {
            // Keep the result of hours of work, although it cannot be joined with the earlier record.
            let kept = file.zip(alone).map(|(file, alone)| file.commit(&alone)).transpose()?.and(path);
            let kept =
                kept.map_or(String::new(), |path| format!("; the record of this run alone is in {}", path.display()));
            return Err(format!("{error}{kept}").into());
        }
    };

    // Report a verdict only once its record and report are on the disk: if they do not fit, the verdict does not hold.
    file.map(|file| file.commit(&record)).transpose()?;
    keeper.remove();
    check.documents.write(std::slice::from_ref(&record))?;
    show(&record, path.as_deref(), check.output.json)?;
    Ok(match (record.state, cancel.signal()) {
        (RunState::Interrupted, Some(signal)) => 128 + signal,
        _ => record.exit_code,
    })
}

/// How timed launches are audited, if they are.
fn audit(parts: Parts, check: &Check, device: Place) -> Result<Option<AuditOptions>, Failed> {
    let flags = &check.audit;
    if flags.untrusted && flags.audit == Some(false) {
        return Err("--untrusted audits the kernel: leave out --audit=off".into());
    }
    let possible = !matches!(check.timing.protocol, ProtocolName::Cold | ProtocolName::Until);
    let mut kernels = [Some(&check.kernel), check.versus.vs.as_ref()].into_iter().flatten();
    // KernelForge kernels are written by a language model.
    let suspect = kernels.any(|kernel| matches!(kernel, KernelSpec::KernelForge(_)));
    if !flags.untrusted && !flags.audit.unwrap_or(suspect && possible) {
        if !flags.constant.is_empty() || !flags.allow_blind.is_empty() {
            return Err("--constant and --allow-blind are for an audit: add --audit".into());
        }
        return Ok(None);
    }
    if parts == Parts::Validate {
        // `validate` times nothing.
        return Ok(None);
    }
    if let Place::Cuda(_) = device {
        if flags.untrusted {
            return Err("--untrusted is for kernels on the CPU: with --device, give --audit".into());
        }
        if check.graph {
            return Err("--audit launches on other values each time: leave out --graph".into());
        }
    }
    if !possible {
        return Err("--audit times by --protocol kernelforge or samples".into());
    }
    Ok(Some(AuditOptions { constant: flags.constant.clone(), allow_blind: flags.allow_blind.clone() }))
}

/// The workers that kernels run in.
fn workers(check: &Check, device: Place, facts: Option<DeviceFacts>, cancel: &Cancel) -> Result<Workers, Failed> {
    if device == Place::Cpu && check.graph {
        return Err("--graph is for kernels on a GPU: add --device cuda".into());
    }
    if let Place::Cuda(_) = device {
        for kernel in [Some(&check.kernel), check.versus.vs.as_ref()].into_iter().flatten() {
            if kernel.is_of_cpu() {
                return Err(format!(
                    "{kernel} runs on the CPU: --device {device} takes torch:, lib:, py: and kernelforge: kernels"
                )
                .into());
            }
            if check.graph && !matches!(kernel, KernelSpec::Library { .. }) {
                return Err(format!("--graph takes lib: kernels, and not {kernel}").into());
            }
        }
    }
    let workers = Workers::of(std::env::current_exe()?)?;
    let workers = match facts {
        Some(facts) => workers.on_gpu(facts, check.graph),
        None => workers.device(device, check.graph)?,
    };
    Ok(workers
        .python(&check.python)
        .timeout(check.timeout)
        .cancelled_by(cancel)
        // Daemons and orphans of workers stay below this process, where they are metered and ended.
        .subreaper()?)
}

fn record_path(check: &Check, chosen: Option<&Chosen>) -> Result<Option<PathBuf>, Failed> {
    Ok(match (&check.output.record, chosen) {
        (Some(path), _) => Some(named(path, chosen)?),
        (None, _) if check.output.no_record || check.output.json => None,
        (None, None) => Some(PathBuf::from(defaults::RECORD)),
        (None, Some(chosen)) => Some(PathBuf::from(defaults::record_of_shard(chosen.index, chosen.count.get()))),
    })
}

fn show(record: &Record, path: Option<&Path>, json: bool) -> Result<(), Failed> {
    if json { output::record(record) } else { output::text(&terminal::record(record, path, &super::screen())) }
}

fn options(parts: Parts, check: &Check, shared: &Shared, reference: Option<&KernelSpec>) -> Options {
    Options {
        validate: parts != Parts::Profile,
        profile: parts != Parts::Validate,
        comparison: Some(comparison(&check.comparison, shared.capture.function_name(), reference)),
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
        audit: None,
        share: shared.share.clone(),
        command: std::env::args().collect(),
    }
}

/// The operator's own comparison, or the named one, with the parts that flags override.
fn comparison(flags: &ComparisonFlags, operator: &str, reference: Option<&KernelSpec>) -> Comparison {
    let rule = flags.rule.map_or_else(|| Comparison::for_reference(operator, reference), Comparison::from);
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
