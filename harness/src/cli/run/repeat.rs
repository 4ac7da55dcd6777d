//! The runs of a command: those of the warm-up, and those that are recorded.

use std::fs::File;
use std::io::{IsTerminal as _, Seek as _, SeekFrom};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use plimsoll::ceiling::Ceilings;
use plimsoll::command::{CommandError, Ended, Metered, Repeats, Step};
use plimsoll::meter::Metric;

use super::super::args::Run;
use super::super::output;
use crate::live::Live;
use crate::signals::Forward;

/// What was run.
pub struct Made {
    /// The runs that are recorded; at least one.
    pub repeats: Repeats,
    /// When the first of all began, those of the warm-up included.
    pub started: SystemTime,
    /// From then to the end of the last.
    pub wall: Duration,
    /// Whether a signal that ends a process came, so that there are fewer runs than were asked for.
    pub interrupted: bool,
}

/// Runs the command as often as it is to be run; fewer times where one run fails or a signal comes that ends a process.
pub fn repeat(arguments: &Run, ceilings: &Ceilings) -> Result<Made, CommandError> {
    let signals = Forward::install();
    if let Err(error) = &signals {
        output::note(&format_args!("note: signals are not forwarded to the command: {error}"));
    }
    let signals = signals.ok();
    let (started, began) = (SystemTime::now(), Instant::now());
    let total = arguments.warmup.saturating_add(arguments.repeat.get());
    let mut repeats = Repeats::default();
    let mut interrupted = false;
    for number in 0..total {
        let offset = began.elapsed();
        let ended = once(arguments, ceilings, total > 1, signals.as_ref())?;
        let failed = !ended.end.success();
        // A warm-up that is not followed by another run is all that there is to tell.
        let is_last = number + 1 == total || (failed && !arguments.keep_going);
        interrupted = !is_last && signals.as_ref().is_some_and(Forward::ends);
        if number >= arguments.warmup || is_last || interrupted {
            repeats.push(offset, ended);
        }
        if is_last || interrupted {
            break;
        }
    }
    Ok(Made { repeats, started, wall: began.elapsed(), interrupted })
}

fn once(
    arguments: &Run,
    ceilings: &Ceilings,
    one_of_many: bool,
    signals: Option<&Forward>,
) -> Result<Ended, CommandError> {
    let (program, rest) = arguments.command.split_first().expect("the parser asks for a command");
    let mut command = Command::new(program);
    command.args(rest).stdin(if one_of_many { input_again() } else { Stdio::inherit() });
    let asked = |metric| ceilings.get(metric).is_some();
    let mut metered = Metered::new(command)
        .ceilings(ceilings.clone())
        .enforce(arguments.enforce)
        .interval(arguments.sample_interval)
        .pss(arguments.pss || asked(Metric::PeakPss))
        .gpu(arguments.gpu || asked(Metric::GpuPeak) || asked(Metric::UnifiedPeak))
        .own_cgroup(arguments.own_cgroup())
        .subreaper(true)
        .dies_with_thread(true);
    if let Some(timeout) = arguments.timeout {
        metered = metered.timeout(timeout);
    }
    let mut running = metered.spawn()?;
    // Gone before the report is printed.
    let _live = arguments.live.then(|| Live::start(running.meter().viewer(), ceilings.clone()));
    if let Some(signals) = signals {
        while running.step(&[signals.fd()])? == Step::Ready {
            signals.forward(running.pid());
        }
    }
    running.wait()
}

/// Standard input for one of several runs, so that each reads the same: a file from where it stood, a terminal as it is,
/// and nothing in place of a pipe, which the first run alone could read.
fn input_again() -> Stdio {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Stdio::inherit();
    }
    let again = || {
        let stood = rustix::fs::seek(&input, rustix::fs::SeekFrom::Current(0)).ok()?;
        let mut file = File::open("/proc/self/fd/0").ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        file.seek(SeekFrom::Start(stood)).ok()?;
        Some(file)
    };
    again().map_or_else(Stdio::null, Stdio::from)
}
