//! The command of a worker: this program for built-in kernels, a Python for `py:` kernels.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::kernel::KernelSpec;
use tempfile::TempPath;

/// The worker for `py:` kernels, carried inside of the program.
const PYTHON_WORKER: &str = include_str!("../../python/plimsoll_worker.py");

/// How workers for one kernel are started.
pub struct WorkerCommand {
    kernel: KernelSpec,
    program: PathBuf,
    /// The Python worker's file.
    script: Option<TempPath>,
}

impl WorkerCommand {
    /// The command for `kernel`; `python` is the interpreter of `py:` kernels, `python3` from the path where none is named.
    ///
    /// # Errors
    /// The kernel's file is not there, or the worker's file cannot be written.
    pub fn new(kernel: KernelSpec, python: Option<PathBuf>) -> io::Result<Self> {
        match kernel {
            KernelSpec::Builtin(_) => Ok(Self { kernel, program: std::env::current_exe()?, script: None }),
            KernelSpec::Python { file, function } => {
                let mut script = tempfile::Builder::new().prefix("plimsoll_worker_").suffix(".py").tempfile()?;
                script.write_all(PYTHON_WORKER.as_bytes())?;
                Ok(Self {
                    kernel: KernelSpec::Python { file: std::path::absolute(file)?, function },
                    program: python.unwrap_or_else(|| PathBuf::from("python3")),
                    script: Some(script.into_temp_path()),
                })
            }
        }
    }

    /// What the worker is to load.
    pub fn kernel(&self) -> KernelSpec {
        self.kernel.clone()
    }

    /// The program, for messages.
    pub fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// The command line of one worker.
    pub fn build(&self) -> Command {
        let mut command = Command::new(&self.program);
        match self.script.as_deref() {
            Some(script) => command.arg("-u").arg::<&Path>(script),
            None => command.arg("worker"),
        };
        command
    }
}
