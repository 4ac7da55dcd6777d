//! One run of a matrix: a command under the meter, its log, its record.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use plimsoll::ceiling::Ceilings;
use plimsoll::command::{Ended, Metered, Step};
use plimsoll::defaults::SAMPLE_INTERVAL;
use plimsoll::diagnose::Input;
use plimsoll::matrix::{self, LogReadings, MatrixError, Plan, Run, Turn};
use plimsoll::record::{CommandSemantics, ProcessPolicy, ProcessRun, RecordFile, RunState, Semantics};
use plimsoll::timing::nanoseconds;

use super::{Failed, own_command, run};
use crate::signals::Cancel;

/// File times are coarser than the clock.
const COARSE: Duration = Duration::from_millis(100);

/// The folders of a matrix.
pub struct Folders {
    /// The folder of the plan: commands run there, and its paths are relative to it.
    pub folder: PathBuf,
    /// The folder of the logs.
    pub work: PathBuf,
    /// The folder of the records, if they are wanted.
    pub records: Option<PathBuf>,
}

/// Makes a run; `None` if a signal came, in which case its processes are ended and its result is dropped.
pub fn turn(plan: &Plan, turn: &Turn<'_>, place: &Folders, cancel: &Cancel) -> Result<Option<Run>, Failed> {
    let (name, repeat) = (&turn.configuration.name, turn.repeat);
    let words = plan.command(turn.configuration).expect("only commands are run");
    let digest = plan.digest(turn.configuration);
    let stem = stem(name, &digest, repeat);
    let record = place.records.as_ref().map(|folder| RecordFile::prepare(&folder.join(format!("{stem}.json"))));
    let record = record.transpose()?;

    let printed = place.work.join(format!("{stem}.log"));
    let file = fs::create_dir_all(&place.work).and_then(|()| File::create(&printed));
    let file = file.map_err(|error| format!("cannot write {}: {error}", printed.display()))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(plan.environment(turn.configuration)).current_dir(&place.folder);
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let started = SystemTime::now();
    let Some(ended) = metered(command, plan.timeout, cancel)? else { return Ok(None) };

    let mut made = Run::new(name, digest, repeat).metered(&ended);
    match plan.log(turn.configuration, repeat).map(|log| place.folder.join(log)) {
        None => take_log(&mut made, plan, &printed)?,
        Some(log) if is_new(&log, started) => take_log(&mut made, plan, &log)?,
        Some(log) => made.note = Some(format!("run {repeat} did not write its log {}", log.display())),
    }
    if !made.succeeded() {
        made.log_file = Some(printed.display().to_string());
    }
    if let Some(record) = record {
        record.commit(&process_run(plan, name, words, started, ended).into())?;
    }
    Ok(Some(made))
}

/// Reads `path` into `run`, with a note if it contains nothing.
pub fn take_log(run: &mut matrix::Run, plan: &Plan, path: &Path) -> Result<(), MatrixError> {
    let failed = |source| MatrixError::Io { path: path.to_owned(), what: "read the log", source };
    let label = plan.label.as_deref();
    if let Input::Text(text) = Input::recognise(File::open(path).map_err(failed)?).map_err(failed)? {
        run.log = LogReadings::read(text, label).map_err(failed)?;
    }
    run.log_file = Some(path.display().to_string());
    if let (None, Some(label)) = (&run.log, label) {
        run.note = Some(format!("{} has no telemetry at the label `{label}`", path.display()));
    }
    Ok(())
}

fn metered(command: Command, timeout: Option<Duration>, cancel: &Cancel) -> Result<Option<Ended>, Failed> {
    let mut metered =
        Metered::new(command).sample_interval(SAMPLE_INTERVAL).gpu(true).subreaper(true).dies_with_thread(true);
    if let Some(timeout) = timeout {
        metered = metered.timeout(timeout);
    }
    let mut running = metered.spawn()?;
    if running.step(&[cancel.fd()])? == Step::Ready {
        running.cancel();
    }
    let ended = running.wait()?;
    // Ctrl-C at a terminal reaches the command as well, which may have ended first.
    Ok((!cancel.requested()).then_some(ended))
}

/// Whether the file was written since then.
fn is_new(path: &Path, since: SystemTime) -> bool {
    let modified = fs::metadata(path).and_then(|file| file.modified());
    modified.is_ok_and(|modified| modified + COARSE >= since)
}

/// The file name of a run: as much of the name as fits, the configuration's digest, the repeat.
fn stem(name: &str, digest: &str, repeat: u32) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    let digest = digest.trim_start_matches("blake3:");
    format!("{name}.{}.{repeat}", &digest[..digest.len().min(8)])
}

fn process_run(plan: &Plan, name: &str, words: Vec<String>, started: SystemTime, ended: Ended) -> ProcessRun {
    ProcessRun {
        command: own_command(),
        semantics: Semantics::Command(CommandSemantics { label: name.to_owned(), command: words }),
        policy: ProcessPolicy {
            ceilings: Ceilings::default(),
            enforce: false,
            timeout_ns: plan.timeout.map(nanoseconds),
            sample_interval_ns: nanoseconds(SAMPLE_INTERVAL),
            own_cgroup: false,
            repetition: None,
        },
        started,
        wall: ended.wall,
        state: RunState::Complete,
        rank: None,
        exit_code: ended.end.shell_exit_code(),
        verdicts: vec![run::verdict(&ended)],
        end: Some(ended.end),
        phases: ended.phases,
        runs: Vec::new(),
    }
}
