//! `matrix`: compares configurations of a command with a baseline.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use plimsoll::matrix::{self, Plan, State, Turn};
use plimsoll::report::{self, terminal};

use super::turn::{Folders, take_log, turn};
use super::{Failed, output};
use crate::signals::Cancel;

#[derive(Args)]
#[command(
    after_help = "What a run prints goes to a file in FILE.matrix/, a folder beside FILE, and so does the state that \
    --resume continues. Exit codes: 0 every configuration is as expected (where there is a gate: near the baseline); 1 one \
    is not; 3 a figure of the gate was not measured; 2 a bad file; 128 and the signal where one interrupted it."
)]
pub struct Matrix {
    /// The plan, a TOML file
    ///
    /// Its paths are relative to its folder, in which the commands run.
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,

    /// Skip the runs that are done
    ///
    /// Configurations that changed since and runs that failed are run again.
    #[arg(long, env = "PLIMSOLL_RESUME")]
    pub resume: bool,
    /// Run only this configuration and the baseline; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// Write the table in Markdown
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Write the table as an HTML page of its own
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write a record of every run into this folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub record_dir: Option<PathBuf>,
    /// Print the table as JSON
    #[arg(long, env = "PLIMSOLL_JSON", help_heading = "Output")]
    pub json: bool,
}

/// Runs what is due and judges it; 1 if a configuration is not as expected, 3 if undecided.
pub fn run(arguments: Matrix) -> Result<u8, Failed> {
    let plan = Plan::read(&arguments.file)?.only(&arguments.only)?;
    // Check that the documents can be written now, not after hours of work.
    for path in arguments.markdown.iter().chain(&arguments.html) {
        if !folder_of(path).is_dir() {
            return Err(format!("{}: there is no folder {}", path.display(), folder_of(path).display()).into());
        }
    }
    if let Some(folder) = &arguments.record_dir {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    let place = Folders {
        folder: folder_of(&arguments.file).to_owned(),
        work: arguments.file.with_extension("matrix"),
        records: arguments.record_dir.clone(),
    };
    let state_file = place.work.join("state.json");
    let mut state = begin(&plan, &state_file, arguments.resume)?;
    let cancel = Cancel::install()?;
    if let Some(code) = run_what_is_due(&plan, &mut state, &state_file, &place, &cancel)? {
        return Ok(code);
    }
    let mut runs = state.runs;
    for turn in plan.turns().filter(|turn| plan.command(turn.configuration).is_none()) {
        runs.push(read_log(&plan, &turn, &place)?);
    }
    let table = matrix::Matrix::of(&plan, &runs);
    if let Some(path) = &arguments.markdown {
        write(path, &report::matrix::markdown(&table))?;
    }
    if let Some(path) = &arguments.html {
        write(path, &report::matrix::html(&table))?;
    }
    if arguments.json {
        output::json(&table)?;
    } else {
        output::text(&terminal::matrix(&table, &super::screen()))?;
    }
    Ok(table.exit_code())
}

/// The runs to keep: none without `resume`, but half a matrix is not thrown away unasked.
fn begin(plan: &Plan, file: &Path, resume: bool) -> Result<State, Failed> {
    let mut state = State::read(file)?;
    if resume {
        let due: Vec<_> = plan.turns().filter_map(|turn| Some(state.done(plan, &turn)?.clone())).collect();
        let dropped = state.retain(plan, |run| due.contains(run));
        if dropped > 0 {
            output::note(&format_args!(
                "note: runs to repeat, as they failed or their configuration changed: {dropped}"
            ));
        }
        return Ok(state);
    }
    let (done, due): (Vec<_>, Vec<_>) = commands(plan).partition(|turn| state.done(plan, turn).is_some());
    if !done.is_empty() && !due.is_empty() {
        return Err(format!(
            "{}: {} of {} runs are done: --resume continues; to start over, remove the file",
            file.display(),
            done.len(),
            done.len() + due.len()
        )
        .into());
    }
    state.retain(plan, |_| false);
    Ok(state)
}

fn commands(plan: &Plan) -> impl Iterator<Item = Turn<'_>> {
    plan.turns().filter(|turn| plan.command(turn.configuration).is_some())
}

/// Makes the missing runs and writes the state after each. Returns an exit code if a signal came.
fn run_what_is_due(
    plan: &Plan,
    state: &mut State,
    file: &Path,
    place: &Folders,
    cancel: &Cancel,
) -> Result<Option<u8>, Failed> {
    let total = commands(plan).count();
    for (at, next) in commands(plan).enumerate() {
        if state.done(plan, &next).is_some() {
            continue;
        }
        output::note(&format_args!(
            "run {} of {total}: {}, repeat {} of {}",
            at + 1,
            next.configuration.name.escape_debug(),
            next.repeat,
            plan.runs_of(next.configuration)
        ));
        let made = if cancel.requested() { None } else { turn(plan, &next, place, cancel)? };
        let Some(run) = made else {
            output::note(&format_args!("interrupted before run {} of {total} was done; --resume continues", at + 1));
            return Ok(Some(128 + cancel.signal().unwrap_or(2)));
        };
        if let Some(end) = run.end.as_ref().filter(|end| !end.success()) {
            let log = run.log_file.as_deref().unwrap_or("its log");
            output::note(&format_args!("warning: it {end}: see {log}"));
        }
        state.runs.push(run);
        state.write(file)?;
    }
    Ok(None)
}

/// The result of an existing log, or of values in the plan.
fn read_log(plan: &Plan, turn: &Turn<'_>, place: &Folders) -> Result<matrix::Run, Failed> {
    let mut run = matrix::Run::new(&turn.configuration.name, plan.digest(turn.configuration), turn.repeat);
    if let Some(given) = turn.configuration.given() {
        return Ok(run.given(given));
    }
    let log = plan.log(turn.configuration, turn.repeat).expect("a plan has a command, a log or values");
    take_log(&mut run, plan, &place.folder.join(log))?;
    Ok(run)
}

/// Writes `text` to a file beside `path`, then renames it.
fn write(path: &Path, text: &str) -> Result<(), Failed> {
    let written = tempfile::Builder::new()
        .prefix(".plimsoll-matrix-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(folder_of(path))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.persist(path).map(drop).map_err(|error| error.error)
        });
    written.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

/// The folder of `path`.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
