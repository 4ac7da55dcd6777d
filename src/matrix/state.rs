//! [`State`]: finished runs, in a file.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::MatrixError;
use super::plan::{Plan, Turn};
use super::run::Run;
use plimsoll_memory::bytes::ByteSize;

/// The identifier of the state file.
const SCHEMA: &str = "plimsoll.matrix-state/1";

/// The largest state file that is read.
const MAX_STATE: ByteSize = ByteSize::mib(256);

/// Finished runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    schema: String,
    /// The runs, in the order in which they ended.
    pub runs: Vec<Run>,
}

impl Default for State {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), runs: Vec::new() }
    }
}

impl State {
    /// Reads the state at `path`; a missing file is an empty state.
    ///
    /// # Errors
    /// [`MatrixError`] if the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, MatrixError> {
        let failed = |source| MatrixError::Io { path: path.to_owned(), what: "read the state", source };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        let mut text = Vec::new();
        file.take(MAX_STATE.bytes() + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_STATE.bytes() {
            return Err(MatrixError::TooLarge { path: path.to_owned(), what: "state of a matrix", limit: MAX_STATE });
        }
        let refused = |message: String| MatrixError::State { path: path.to_owned(), message };
        let state: Self = serde_json::from_slice(&text).map_err(|error| refused(error.to_string()))?;
        if state.schema != SCHEMA {
            return Err(refused(format!("its schema is `{}`, not `{SCHEMA}`", state.schema)));
        }
        Ok(state)
    }

    /// Replaces the state file atomically.
    ///
    /// # Errors
    /// [`MatrixError::Io`] if writing fails; an older file is then still complete.
    pub fn write(&self, path: &Path) -> Result<(), MatrixError> {
        let write = || -> io::Result<()> {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix(".plimsoll-matrix-").tempfile_in(folder)?;
            serde_json::to_writer_pretty(io::BufWriter::new(file.as_file_mut()), self)?;
            file.as_file_mut().write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(path).map(drop).map_err(|error| error.error)
        };
        write().map_err(|source| MatrixError::Io { path: path.to_owned(), what: "write the state", source })
    }

    /// The run that counts for `turn`: of the same configuration, and successful.
    pub fn done(&self, plan: &Plan, turn: &Turn<'_>) -> Option<&Run> {
        let digest = plan.digest(turn.configuration);
        self.runs.iter().find(|run| run.digest == digest && run.repeat == turn.repeat && run.succeeded())
    }

    /// Removes the runs of the plan's configurations for which `keep` returns false, and returns how many there were.
    pub fn retain(&mut self, plan: &Plan, keep: impl Fn(&Run) -> bool) -> usize {
        let before = self.runs.len();
        let planned = |run: &Run| plan.configurations.iter().any(|known| known.name == run.configuration);
        self.runs.retain(|run| !planned(run) || keep(run));
        before - self.runs.len()
    }
}
