//! `calibrate`: proposes ceilings for a command from several runs.

use clap::Args;
use plimsoll::gate::Allowance;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroU32;
use std::path::Path;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll::ceiling::Ceilings;
use plimsoll::command::{EndCause, Ended, Metered, Step};
use plimsoll::gate::{Calibration, Proposal, propose};
use plimsoll::meter::{Metric, worst_reading};
use plimsoll::report::terminal;

use super::args::{ConfigFlags, HEADROOM, default, duration, flag};
use super::{Failed, NOT_MEASURABLE, ceilings_toml, output};
use crate::signals::Cancel;

#[derive(Args)]
#[command(after_help = "Exit codes: 0 ceilings are proposed; 2 bad usage, or FILE cannot be written; 3 a run failed.")]
pub struct Calibrate {
    /// How often the command is run
    #[arg(long, value_name = "N", env = "PLIMSOLL_RUNS", default_value = "10")]
    pub runs: NonZeroU32,

    /// Room above the worst reading: the larger of the two parts
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// Propose a ceiling for this metric only; may be repeated
    ///
    /// peak_pss, gpu_peak and unified_peak are read only if they are named.
    #[arg(long = "metric", value_name = "METRIC", env = "PLIMSOLL_METRICS", value_delimiter = ',')]
    pub metrics: Vec<Metric>,

    /// The name of the command in FILE [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Write the ceilings to this TOML file, as table [ceilings.NAME]
    ///
    /// Everything else in the file stays.
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_WRITE")]
    pub write: Option<PathBuf>,

    /// Kill a run that takes longer
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Time between two samples of memory
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_SAMPLE_INTERVAL", default_value = default("run.sample_interval"), value_parser = duration)]
    pub sample_interval: Duration,

    #[command(flatten)]
    pub config: ConfigFlags,

    /// Print the proposal as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Runs the command several times and proposes ceilings; 3 if a run fails.
pub fn run(arguments: &Calibrate) -> Result<u8, Failed> {
    let (label, proposal) = match measure(arguments)? {
        Ok(measured) => measured,
        Err(code) => return Ok(code),
    };
    // A missing ceiling that was asked for is an error, and half a table would mislead.
    let lacking = proposal.ceilings.is_empty() || arguments.metrics.len() > proposal.ceilings.len();
    let written = arguments.write.as_deref().filter(|_| !lacking);
    if let Some(file) = written {
        ceilings_toml::write(file, &label, &proposal)?;
    }
    if arguments.json {
        let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        output::json(&Calibration::new(label, command, proposal))?;
    } else {
        output::text(&shown(&label, &arguments.command, &proposal, written))?;
    }
    Ok(if lacking { NOT_MEASURABLE } else { 0 })
}

/// The label of the command and the proposed ceilings, or the exit code of the failure.
pub fn measure(arguments: &Calibrate) -> Result<Result<(String, Proposal), u8>, Failed> {
    let cancel = Cancel::install()?;
    let label = super::run::label(arguments.label.as_deref(), &arguments.command);
    let runs = arguments.runs.get();
    let mut phases = Vec::new();
    for number in 1..=runs {
        let ended = under_the_meter(arguments, &cancel)?;
        if let Some(signal) = cancel.signal() {
            return Ok(Err(128 + signal));
        }
        if ended.end.cause != EndCause::Exited || ended.end.exit_code != Some(0) {
            let end = &ended.end;
            super::report_message(&format!("run {number} of {runs} {end}: calibration needs successful runs"));
            return Ok(Err(NOT_MEASURABLE));
        }
        progress(number, runs, &ended);
        phases.push(ended.phases);
    }
    let mut proposal = propose(&phases, arguments.headroom);
    if !arguments.metrics.is_empty() {
        proposal = proposal.only(&arguments.metrics);
    }
    Ok(Ok((label, proposal)))
}

/// One run. Its standard output is discarded, so that only the calibration is printed here.
fn under_the_meter(arguments: &Calibrate, cancel: &Cancel) -> Result<Ended, Failed> {
    let (program, rest) = arguments.command.split_first().expect("the parser asks for a command");
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null());
    let asked = |metric: &Metric| arguments.metrics.contains(metric);
    let mut metered = Metered::new(command)
        .sample_interval(arguments.sample_interval)
        .pss(asked(&Metric::PeakPss))
        .gpu(asked(&Metric::GpuPeak) || asked(&Metric::UnifiedPeak))
        .subreaper(true)
        .dies_with_thread(true);
    if let Some(timeout) = arguments.timeout {
        metered = metered.timeout(timeout);
    }
    let mut running = metered.spawn()?;
    while running.step(&[cancel.fd()])? == Step::Ready {
        if cancel.requested() {
            running.cancel();
            break;
        }
    }
    Ok(running.wait()?)
}

/// Shows the progress to someone who waits at a terminal.
fn progress(number: u32, runs: u32, ended: &Ended) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let peak = worst_reading(&ended.phases, Metric::PeakRss);
    let peak = peak.map_or_else(String::new, |(_, peak)| format!(", peak_rss {}", peak.bytes));
    output::note(&format_args!("run {number} of {runs}: {}{peak}", terminal::duration(ended.wall.as_nanos() as f64)));
}

fn shown(label: &str, command: &[OsString], proposal: &Proposal, written: Option<&Path>) -> String {
    let words: Vec<_> = command.iter().map(|word| super::quoted(&word.to_string_lossy())).collect();
    let mut text = terminal::proposal(proposal, &super::screen());
    let flags = flags(&proposal.ceilings());
    text += &format!("\nplimsoll run {flags}-- {}\n", words.join(" "));
    text += &format!("\n{}\n", proposal.attribute());
    text += &format!("\n{}", ceilings_toml::fresh(label, proposal));
    if let Some(file) = written {
        text += &format!("\n[ceilings.{label}] is in {}\n", file.display());
    }
    text
}

/// The proposed ceilings as flags of `run`, each followed by a space.
fn flags(ceilings: &Ceilings) -> String {
    let has = ceilings.iter().filter(|ceiling| ceiling.metric.facts().flag);
    has.map(|ceiling| format!("--{} {} ", flag(ceiling.metric), ceiling.limit.exact().replace(' ', ""))).collect()
}
