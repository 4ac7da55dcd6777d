//! `run`: a command under the meter.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use plimsoll::ceiling::Ceilings;
use plimsoll::command::{CommandError, EndCause, Ended, Metered, Step};
use plimsoll::meter::Metric;
use plimsoll::record::{
    CommandSemantics, ProcessPolicy, ProcessRun, Record, RecordFile, RunState, Semantics, Verdict, VerdictStatus,
    exit_code,
};
use plimsoll::report::terminal;

use super::args::Run;
use super::{Failed, output};
use crate::signals::Forward;

/// Runs the command and gives its exit code, or that of what failed here.
pub fn run(arguments: &Run) -> Result<u8, Failed> {
    // The record's place is tried before hours of work, not after.
    let file = arguments.record.as_deref().map(RecordFile::prepare).transpose()?;
    let ceilings = arguments.ceilings.ceilings();
    let started = SystemTime::now();
    let ended = match under_the_meter(arguments, &ceilings) {
        Ok(ended) => ended,
        Err(error) => {
            let Some(code) = error.shell_exit_code() else { return Err(error.into()) };
            super::report_message(&error.to_string());
            return Ok(code);
        }
    };
    let record = record(arguments, ceilings, started, ended);
    let written = file.map(|file| file.commit(&record)).transpose();
    let path = arguments.record.as_deref().filter(|_| written.is_ok());
    show(&record, path, arguments.json)?;
    written?;
    Ok(record.exit_code)
}

fn under_the_meter(arguments: &Run, ceilings: &Ceilings) -> Result<Ended, CommandError> {
    let (program, rest) = arguments.command.split_first().expect("the parser asks for a command");
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::inherit());
    let signals = Forward::install();
    let mut metered = Metered::new(command)
        .ceilings(ceilings.clone())
        .enforce(arguments.enforce)
        .interval(arguments.sample_interval)
        .pss(ceilings.get(Metric::PeakPss).is_some())
        .gpu(ceilings.get(Metric::GpuPeak).or(ceilings.get(Metric::UnifiedPeak)).is_some())
        .subreaper(true)
        .dies_with_thread(true);
    if let Some(timeout) = arguments.timeout {
        metered = metered.timeout(timeout);
    }
    let mut running = metered.spawn()?;
    match &signals {
        Ok(signals) => {
            while running.step(&[signals.fd()])? == Step::Ready {
                signals.forward(running.pid());
            }
        }
        Err(error) => output::note(&format_args!("note: signals are not forwarded to the command: {error}")),
    }
    running.wait()
}

fn record(arguments: &Run, ceilings: Ceilings, started: SystemTime, ended: Ended) -> Record {
    let mut verdicts = vec![verdict(&ended)];
    verdicts.extend(ended.verdicts.iter().cloned().map(Verdict::from));
    // A command that failed by itself says so by its own code, unless something failed here.
    let judged = exit_code(&verdicts);
    let words = |words: &[OsString]| words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let label = label(arguments.label.as_deref(), &arguments.command);
    let nanoseconds = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    ProcessRun {
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        semantics: Semantics::Command(CommandSemantics { label, command: words(&arguments.command) }),
        policy: ProcessPolicy {
            ceilings,
            enforce: arguments.enforce,
            timeout_ns: arguments.timeout.map(nanoseconds),
            sampling_interval_ns: nanoseconds(arguments.sample_interval),
        },
        started,
        wall: ended.wall,
        state: RunState::Complete,
        exit_code: if judged == 0 { ended.end.shell_exit_code() } else { judged },
        end: Some(ended.end),
        phases: ended.phases,
        verdicts,
    }
    .into()
}

/// The name of a command: the one that was given, or the program's file name.
pub fn label(given: Option<&str>, command: &[OsString]) -> String {
    let program = Path::new(&command[0]);
    let name = || program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    given.map_or_else(name, str::to_owned)
}

/// What became of the command itself, apart from its ceilings.
pub(super) fn verdict(ended: &Ended) -> Verdict {
    let mut message = format!("it {}", ended.end);
    if let Some(enforcement) = &ended.enforcement {
        message += &format!("; ceilings enforced by {enforcement}");
    }
    if ended.left_running > 0 {
        message += &format!("; {} that it left running were killed", ended.left_running);
    }
    let status = match ended.end.cause {
        EndCause::Timeout { .. } | EndCause::CeilingEnforced { .. } => VerdictStatus::Fail,
        _ => VerdictStatus::Pass,
    };
    Verdict::new("command", status, message)
}

fn show(record: &Record, path: Option<&Path>, json: bool) -> Result<(), Failed> {
    if json {
        return output::json_aside(record);
    }
    output::note(&terminal::record(record, path, &super::screen()).trim_end());
    Ok(())
}
