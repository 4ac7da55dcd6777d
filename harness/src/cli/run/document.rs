//! The record of a command.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use plimsoll::command::{EndCause, Ended, Repeats};
use plimsoll::meter::PhaseReadings;
use plimsoll::record::{
    CommandSemantics, Environment, ProcessPolicy, ProcessRun, Rank, Record, RepeatedRun, Repetition, RunState,
    Semantics, Verdict, VerdictStatus, exit_code,
};
use plimsoll::timing::nanoseconds;

use super::super::args::launcher;
use super::super::own_command;
use super::flags::Run;
use super::made::Made;

pub fn record(arguments: &Run, made: Made) -> Record {
    let Made { repeats, started, wall, interrupted, environment, uncounted, .. } = made;
    let mut verdicts = vec![verdict_of_all(&repeats, arguments, interrupted)];
    if let Some(bytes) = uncounted {
        verdicts[0].message += &format!(
            "; files in memory (tmpfs) grew by {bytes} that no process mapped and no figure counts: --cgroup counts them"
        );
    }
    verdicts.extend(repeats.verdicts().into_iter().map(Verdict::from));
    // A command that failed by itself reports its own exit code, unless something failed here.
    let judged = exit_code(&verdicts);
    let largest = repeats.largest().expect("there is a run");
    let end = repeats.failure().map_or(&largest.end, |(_, failed)| &failed.end);
    let several = arguments.repeat.get() > 1 || arguments.warmup > 0;
    ProcessRun {
        command: own_command(),
        semantics: semantics(arguments),
        policy: policy(arguments),
        started,
        wall: if several { wall } else { largest.wall },
        state: if interrupted { RunState::Interrupted } else { RunState::Complete },
        rank: rank(),
        exit_code: if judged == 0 { end.shell_exit_code() } else { judged },
        end: Some(end.clone()),
        phases: largest.phases.clone(),
        runs: RepeatedRun::of(&repeats),
        verdicts,
    }
    .record(environment.unwrap_or_else(Environment::here))
}

/// The known facts about a command that still runs; `phases` of it were read so far.
pub fn so_far(arguments: &Run, made: &Made, wall: Duration, phases: Vec<PhaseReadings>) -> Record {
    let message = format!(
        "it had not ended when this was written, {} after it was started",
        humantime::format_duration(Duration::from_millis(wall.as_millis() as u64))
    );
    ProcessRun {
        command: own_command(),
        semantics: semantics(arguments),
        policy: policy(arguments),
        started: made.started,
        wall,
        state: RunState::Interrupted,
        rank: rank(),
        exit_code: 3,
        end: None,
        phases,
        runs: RepeatedRun::all(&made.repeats),
        verdicts: vec![Verdict::new("command", VerdictStatus::Inconclusive, message)],
    }
    .record(made.environment.clone().unwrap_or_else(Environment::here))
}

/// The rank of this process within its launcher; none if the launcher's variables make no sense.
fn rank() -> Option<Rank> {
    launcher(None).ok().filter(|found| found.ranks > 1).map(|found| Rank::from(&found))
}

fn semantics(arguments: &Run) -> Semantics {
    let command = arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Semantics::Command(CommandSemantics { label: label(arguments.label.as_deref(), &arguments.command), command })
}

fn policy(arguments: &Run) -> ProcessPolicy {
    let (repeat, warmup, keep_going) = (arguments.repeat.get(), arguments.warmup, arguments.keep_going);
    ProcessPolicy {
        ceilings: arguments.ceilings.ceilings(),
        enforce: arguments.enforce,
        timeout_ns: arguments.timeout.map(nanoseconds),
        sample_interval_ns: nanoseconds(arguments.sample_interval),
        own_cgroup: arguments.own_cgroup(),
        repetition: (repeat > 1 || warmup > 0).then_some(Repetition { repeat, warmup, keep_going }),
    }
}

/// The name of a command: the given one, the Rust test that it runs alone, or the program's file name.
pub fn label(given: Option<&str>, command: &[OsString]) -> String {
    given.map(str::to_owned).or_else(|| test_name(command)).unwrap_or_else(|| {
        let program = Path::new(&command[0]);
        let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
        without_hash(program, &name).map_or(name.clone(), str::to_owned)
    })
}

/// The test that a Rust test binary is to run, as nextest calls it: `--exact NAME`.
fn test_name(command: &[OsString]) -> Option<String> {
    let at = command.iter().position(|word| word == "--exact")?;
    let name = command.get(at + 1)?.to_str()?;
    (!name.starts_with('-')).then(|| name.to_owned())
}

/// The name of a binary in Cargo's folder `deps` without its hash, which every change of the code changes.
fn without_hash<'a>(program: &Path, name: &'a str) -> Option<&'a str> {
    let (plain, hash) = name.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && program.parent()?.ends_with("deps")).then_some(plain)
}

/// The verdict on the command itself over all of its runs, apart from its ceilings.
fn verdict_of_all(repeats: &Repeats, arguments: &Run, interrupted: bool) -> Verdict {
    let wanted = arguments.repeat.get() as usize;
    let made = repeats.runs().len();
    if wanted == 1 && made == 1 {
        return repeats.largest().map(verdict).expect("there is a run");
    }
    let failed = repeats.runs().enumerate().find(|(_, (_, ended))| verdict(ended).status == VerdictStatus::Fail);
    let failed = failed.map(|(at, (_, ended))| (at + 1, ended)).or(repeats.failure());
    let mut verdict = match failed {
        Some((number, ended)) => {
            let one = verdict(ended);
            Verdict::new(one.subject, one.status, format!("run {number} of {wanted}: {}", one.message))
        }
        None => Verdict::new("command", VerdictStatus::Pass, format!("{made} runs exited with code 0")),
    };
    if interrupted {
        verdict.status = VerdictStatus::Inconclusive;
        verdict.message += &format!("; a signal ended the runs after {made} of {wanted}");
    }
    verdict
}

/// The verdict on the command itself in one run, apart from its ceilings.
pub fn verdict(ended: &Ended) -> Verdict {
    let mut message = format!("it {}", ended.end);
    if let Some(enforcement) = &ended.enforcement {
        message += &format!("; ceilings enforced by {enforcement}");
    }
    if ended.left_running > 0 {
        let were = if ended.left_running == 1 { "was" } else { "were" };
        message += &format!("; {} that it left running {were} killed", ended.left_running);
    }
    let status = match ended.end.cause {
        EndCause::Timeout { .. } | EndCause::CeilingEnforced { .. } => VerdictStatus::Fail,
        _ => VerdictStatus::Pass,
    };
    Verdict::new("command", status, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_rust_goes_by_its_own_name() {
        let of = |words: &[&str]| label(None, &words.iter().map(OsString::from).collect::<Vec<_>>());
        let binary = "/t/target/debug/deps/reader-0123456789abcdef";
        assert_eq!(of(&[binary, "--exact", "import::large", "--nocapture"]), "import::large");
        assert_eq!(of(&[binary]), "reader");
        assert_eq!(of(&[binary, "--list", "--format", "terse"]), "reader");
        assert_eq!(of(&["/bin/tool-0123456789abcdef"]), "tool-0123456789abcdef", "no binary of Cargo's");
        assert_eq!(of(&["grep", "--exact"]), "grep");
        assert_eq!(label(Some("load"), &[OsString::from(binary)]), "load");
    }
}
