//! Builds and runs a commit.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use plimsoll::command::{CommandError, EndCause, Repeats};
use plimsoll::record::Record;

use super::super::Failed;
use super::super::run::{Made, NotRun, Run, Surroundings, once_in, record};
use super::repository::OF_GIT;
use crate::guardian;

/// The exit code by which a build or command asks to skip this commit, as in `git bisect run`.
const SKIP: i32 = 125;

/// Why a commit was not measured.
pub enum Stop {
    /// The commit could not be built or run.
    Skip(String),
    /// A signal came: the search stops and can be resumed.
    Signal,
    /// An error that the commit did not cause.
    Failed(Failed),
}

impl<E: Into<Failed>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The tools that build and run commits.
pub struct Worker<'a> {
    pub run: &'a Run,
    pub build: Option<&'a str>,
    /// The working directory within a worktree.
    pub prefix: &'a Path,
    /// The log of builds.
    pub log: PathBuf,
}

impl Worker<'_> {
    /// Builds the commit that is checked out in `tree`.
    pub fn build(&self, tree: &Path) -> Result<(), Stop> {
        let Some(words) = self.build else { return Ok(()) };
        // Both outputs go to the log: a build prints much, and the search little.
        let script = "exec >\"$0\" 2>&1; eval \"$1\"";
        let command = ["sh".into(), "-c".into(), script.into(), self.log.clone().into(), words.into()].to_vec();
        let (timeout, prepare, phases, phase_fd) = (None, None, Vec::new(), None);
        let run = Run { command, timeout, prepare, phases, phase_fd, ..self.run.clone() };
        let ended = once_in(&run, &Surroundings { folder: &self.folder(tree)?, without: &OF_GIT })?;
        signalled()?;
        if ended.end.success() {
            return Ok(());
        }
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last = log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        Err(Stop::Skip(format!("the build {}: {last}", ended.end)))
    }

    /// Runs the command in `tree` once more.
    pub fn once(&self, tree: &Path, runs: &mut Runs) -> Result<(), Stop> {
        let folder = self.folder(tree)?;
        let offset = runs.began.elapsed();
        let ended = match once_in(self.run, &Surroundings { folder: &folder, without: &OF_GIT }) {
            Err(error @ NotRun::Command(CommandError::Start { .. })) => return Err(Stop::Skip(error.to_string())),
            ended => ended?,
        };
        signalled()?;
        match ended.end.exit_code {
            _ if ended.end.success() => {}
            Some(SKIP) if ended.end.cause == EndCause::Exited => {
                return Err(Stop::Skip(format!("the command exited with code {SKIP}")));
            }
            _ => return Err(Stop::Skip(format!("the command failed: it {}", ended.end))),
        }
        runs.wall += ended.wall;
        runs.repeats.push(offset, ended);
        Ok(())
    }

    /// The working directory in `tree`.
    fn folder(&self, tree: &Path) -> Result<PathBuf, Stop> {
        let folder = tree.join(self.prefix);
        match folder.is_dir() {
            true => Ok(folder),
            false => Err(Stop::Skip(format!("the folder {} is not in this commit", self.prefix.display()))),
        }
    }
}

/// The runs of a commit so far.
#[derive(Clone)]
pub struct Runs {
    repeats: Repeats,
    started: SystemTime,
    began: Instant,
    wall: Duration,
}

impl Runs {
    pub fn new() -> Self {
        Self { repeats: Repeats::default(), started: SystemTime::now(), began: Instant::now(), wall: Duration::ZERO }
    }

    /// The number of runs.
    pub fn count(&self) -> usize {
        self.repeats.runs().len()
    }

    /// The record of the runs, of which there must be at least one.
    pub fn record(&self, run: &Run) -> Record {
        let count = u32::try_from(self.count()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
        let Self { repeats, started, wall, .. } = self.clone();
        record(&Run { repeat: count, ..run.clone() }, Made::new(repeats, started, wall))
    }
}

/// Stops if a signal came.
fn signalled() -> Result<(), Stop> {
    let signals = guardian::guarded().map(|guarded| &guarded.signals);
    match signals.inspect(|signals| signals.note()) {
        Some(signals) if signals.ends() || signals.orphaned() => Err(Stop::Signal),
        _ => Ok(()),
    }
}
