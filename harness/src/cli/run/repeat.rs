//! The runs of a command: warm-ups, and recorded runs.

use std::fs::File;
use std::io::{IsTerminal as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use plimsoll::ceiling::Ceilings;
use plimsoll::command::{CommandError, Ended, Metered, OutputWatch, ProcessEnd, Repeats, Running, Step};
use plimsoll::diagnose::{CommandWatch, cause_by_text};
use plimsoll::meter::{Metric, PhaseReadings};
use plimsoll::record::{Environment, Record};
use plimsoll::run::Observer as _;

use super::super::args::CeilingFlags;
use super::super::output;
use super::document;
use super::flags::Run;
use super::made::Made;
use super::phases::Phases;
use super::tmpfs::Tmpfs;
use crate::guardian;
use crate::keep::Keeper;
use crate::live::Live;

/// Sampling takes at most one part in this many of a processor's time, however large the tree is.
const SAMPLING_PARTS: u32 = 200;

/// After this time a run has settled: memory that only starting needed is then released.
const SETTLED: Duration = Duration::from_millis(500);

/// Why there is no further run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// The command could not be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The command of --prepare failed.
    #[error("--prepare `{command}` {end}, so the run that it prepares was not started; run it by itself to see why")]
    Unprepared {
        /// The command of --prepare.
        command: String,
        /// How it ended.
        end: ProcessEnd,
    },
}

impl NotRun {
    /// The code by which a shell reports a command that could not be run.
    pub fn shell_exit_code(&self) -> Option<u8> {
        match self {
            Self::Command(error) => error.shell_exit_code(),
            Self::Unprepared { .. } => None,
        }
    }
}

/// Runs the command as often as requested; fewer times if one run fails, a terminating signal comes, or the guardian is
/// gone.
pub fn repeat(
    arguments: &Run,
    ceilings: &Ceilings,
    keeper: &mut Keeper,
    watch: Option<&CommandWatch>,
) -> Result<Made, NotRun> {
    let guarded = guardian::guarded();
    let began = Instant::now();
    let mut made = Made::new(Repeats::default(), SystemTime::now(), Duration::ZERO);
    let total = arguments.warmup.saturating_add(arguments.repeat.get());
    for number in 0..total {
        prepare(arguments, None)?;
        let offset = began.elapsed();
        progress("run", number, arguments);
        let eyes = watch.map(|watch| -> OutputWatch { Box::new(watch.output(&name(arguments, number))) });
        let mut tmpfs = (!arguments.own_cgroup()).then(Tmpfs::begin);
        let running = start(arguments, ceilings, total > 1, false, eyes, None)?;
        // The machine is described while the command runs, not in the time after its end.
        made.environment.get_or_insert_with(Environment::here);
        let so_far = &mut |phases| document::so_far(arguments, &made, began.elapsed(), phases);
        // Remove it before anything else is written.
        let live = arguments.live.then(|| Live::start(running.0.meter().viewer(), ceilings.clone()));
        let ended = wait(running, Some((&mut *keeper, so_far)), tmpfs.as_mut())?;
        let uncounted = tmpfs.and_then(|tmpfs| tmpfs.uncounted(&ended.phases));
        drop(live);
        watch.inspect(|watch| watch.ended());
        let signals = guarded.map(|guarded| &guarded.signals).inspect(|signals| signals.note());
        made.orphaned = signals.is_some_and(|signals| signals.orphaned());
        let failed = !ended.end.success();
        // If no run follows a warm-up, it is all that there is to report.
        let is_last = number + 1 == total || (failed && !arguments.keep_going);
        made.interrupted = made.orphaned || (!is_last && signals.is_some_and(|signals| signals.ends()));
        if number >= arguments.warmup || is_last || made.interrupted {
            made.repeats.push(offset, ended);
            made.uncounted = made.uncounted.max(uncounted);
        }
        if is_last || made.interrupted {
            break;
        }
    }
    made.wall = began.elapsed();
    Ok(made)
}

/// Shows on a terminal which of several runs begins, after `number` earlier ones.
pub fn progress(what: &str, number: u32, arguments: &Run) {
    let (warmup, repeat) = (arguments.warmup, arguments.repeat.get());
    if arguments.quiet || arguments.live || warmup + repeat < 2 || !std::io::stderr().is_terminal() {
        return;
    }
    match number.checked_sub(warmup) {
        Some(number) => output::note(&format_args!("{what} {} of {repeat}", number + 1)),
        None => output::note(&format_args!("warm-up {} of {warmup}", number + 1)),
    }
}

/// One run of which nothing is kept before its end; its standard output is discarded.
pub fn once(arguments: &Run, ceilings: &Ceilings) -> Result<Ended, NotRun> {
    prepare(arguments, None)?;
    Ok(wait(start(arguments, ceilings, true, true, None, None)?, None, None)?)
}

/// Runs the command of --prepare, if there is one.
pub fn prepare(arguments: &Run, place: Option<&Surroundings>) -> Result<(), NotRun> {
    let Some(prepare) = &arguments.prepare else { return Ok(()) };
    let command = ["sh".into(), "-c".into(), prepare.clone()].to_vec();
    let (timeout, phases, phase_fd) = (None, Vec::new(), None);
    let run = Run { command, timeout, phases, phase_fd, enforce: false, cgroup: false, ..arguments.clone() };
    let run = Run { ceilings: CeilingFlags::default(), ..run };
    let end = wait(start(&run, &Ceilings::default(), true, true, None, place)?, None, None)?.end;
    match end.success() {
        true => Ok(()),
        false => Err(NotRun::Unprepared { command: prepare.to_string_lossy().into_owned(), end }),
    }
}

/// One run in a worktree; its standard output is discarded, and its readings show which mappings grew.
pub fn once_in(arguments: &Run, place: &Surroundings) -> Result<Ended, NotRun> {
    prepare(arguments, Some(place))?;
    let mut ended = wait(start(arguments, &Ceilings::default(), true, true, None, Some(place))?, None, None)?;
    if !arguments.pss {
        // Mappings are read with it, so seldom: nobody asked to judge these figures.
        ended.phases.iter_mut().for_each(|phase| drop(phase.readings.remove(&Metric::PeakPss)));
    }
    Ok(ended)
}

/// Where a command runs.
pub struct Surroundings<'a> {
    /// Its working directory.
    pub folder: &'a Path,
    /// Variables to remove.
    pub without: &'a [&'a str],
}

/// The name of the output of run `number`, from 0, in findings.
fn name(arguments: &Run, number: u32) -> String {
    match number.checked_sub(arguments.warmup) {
        None => format!("output of warm-up {}", number + 1),
        Some(_) if arguments.repeat.get() == 1 => "output".to_owned(),
        Some(at) => format!("output of run {}", at + 1),
    }
}

fn start(
    arguments: &Run,
    ceilings: &Ceilings,
    one_of_many: bool,
    silent: bool,
    watch: Option<OutputWatch>,
    place: Option<&Surroundings>,
) -> Result<(Running, Phases), CommandError> {
    let (program, rest) = arguments.command.split_first().expect("the parser asks for a command");
    let mut command = Command::new(program);
    command.args(rest).stdin(if one_of_many { input_again() } else { Stdio::inherit() });
    command.stdout(if silent { Stdio::null() } else { Stdio::inherit() });
    if let Some(Surroundings { folder, without }) = place {
        command.current_dir(folder);
        for name in *without {
            command.env_remove(name);
        }
    }
    if let Some(guarded) = guardian::guarded() {
        guarded.prepare(&mut command);
    }
    let phases = Phases::attach(arguments, &mut command, watch, silent).map_err(|source| CommandError::System {
        program: program.to_string_lossy().into_owned(),
        what: "how it reports phases",
        source,
    })?;
    let asked = |metric| ceilings.get(metric).is_some();
    let mut metered = Metered::new(command)
        .ceilings(ceilings.clone())
        .enforce(arguments.enforce)
        .sample_interval(arguments.sample_interval)
        .pss(arguments.pss || asked(Metric::PeakPss))
        .mappings(place.is_some())
        .gpu(arguments.gpu || asked(Metric::GpuPeak) || asked(Metric::UnifiedPeak))
        .own_cgroup(arguments.own_cgroup())
        .bounded_by_cgroup(true)
        .makes_room(guardian::guarded().is_some())
        .resets_mark(true)
        .subreaper(true)
        .dies_with_thread(true);
    // A watchdog that looks seldom stops late.
    if !arguments.enforce {
        metered = metered.cost(SAMPLING_PARTS);
    }
    if let Some(timeout) = arguments.timeout {
        metered = metered.timeout(timeout);
    }
    Ok((metered.spawn()?, phases))
}

/// Makes the record of the facts known during the run.
type SoFar<'a> = &'a mut dyn FnMut(Vec<PhaseReadings>) -> Record;

/// Waits for the end of a run; passes signals on and keeps the facts known so far.
fn wait(
    (mut running, mut phases): (Running, Phases),
    mut kept: Option<(&mut Keeper, SoFar)>,
    mut tmpfs: Option<&mut Tmpfs>,
) -> Result<Ended, CommandError> {
    let mut signals = guardian::guarded().map(|guarded| &guarded.signals);
    let mut settles = Some(Instant::now() + SETTLED);
    loop {
        let fds: Vec<_> = signals.iter().map(|signals| signals.fd()).chain(phases.fds()).collect();
        let keeps = kept.as_ref().and_then(|(keeper, _)| keeper.keeps());
        let looks = tmpfs.as_ref().map(|tmpfs| tmpfs.due());
        match running.step_until(&fds, keeps.into_iter().chain(settles).chain(looks).min())? {
            Step::Over => break,
            Step::Elapsed => {
                let now = Instant::now();
                if let Some(tmpfs) = tmpfs.as_mut().filter(|tmpfs| tmpfs.due() <= now) {
                    tmpfs.look();
                }
                let mut worked = settles.is_some_and(|settles| settles <= now);
                if let Some((keeper, so_far)) = &mut kept
                    && keeper.keeps().is_some_and(|due| due <= now)
                {
                    keeper.keep(&so_far(running.meter().so_far()));
                    worked = true;
                }
                // Memory used to start, or to make a record, is not needed soon.
                if worked {
                    guardian::let_go();
                    settles = None;
                }
            }
            Step::Ready => {
                phases.begin(&running);
                if let Some(received) = signals {
                    phases.resize();
                    received.hand_on(running.pid());
                    if received.orphaned() {
                        running.cancel();
                        signals = None;
                    }
                }
            }
        }
    }
    if let Some(tmpfs) = tmpfs {
        tmpfs.look();
    }
    phases.begin(&running);
    let mut ended = running.wait()?;
    let (too_many, said) = phases.finish();
    if let Some(cause) = cause_by_text(&ended.end, &said) {
        ended.end.cause = cause;
    }
    if too_many > 0 {
        output::note(&format_args!("note: {too_many} phases were too many, and belong to the last"));
    }
    Ok(ended)
}

/// Standard input for one of several runs, so that each reads the same: a file from its position, a terminal as it is,
/// and nothing instead of a pipe, which only the first run could read.
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
