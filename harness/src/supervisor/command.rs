//! The command of a worker: this program for built-in kernels, a Python for `py:` kernels.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use plimsoll::kernel::KernelSpec;
use tempfile::TempDir;

/// The worker for `py:` kernels, carried inside of the program.
const PYTHON_WORKER: [(&str, &str); 2] = [
    ("plimsoll_worker.py", include_str!("../../python/plimsoll_worker.py")),
    ("plimsoll_torch.py", include_str!("../../python/plimsoll_torch.py")),
];

/// How workers for one kernel are started.
pub struct WorkerCommand {
    kernel: KernelSpec,
    program: PathBuf,
    /// The folder of the Python worker's files.
    scripts: Option<TempDir>,
}

impl WorkerCommand {
    /// The command for `kernel`; `python` is the interpreter of `py:` kernels, `python3` from the path where none is named.
    ///
    /// # Errors
    /// The kernel's file is not there, or the worker's file cannot be written.
    pub fn new(kernel: KernelSpec, python: Option<PathBuf>) -> io::Result<Self> {
        match kernel {
            KernelSpec::Builtin(_) => Ok(Self { kernel, program: std::env::current_exe()?, scripts: None }),
            KernelSpec::Python { file, function } => {
                let scripts = tempfile::Builder::new().prefix("plimsoll-worker-").tempdir()?;
                for (name, source) in PYTHON_WORKER {
                    std::fs::write(scripts.path().join(name), source)?;
                }
                Ok(Self {
                    kernel: KernelSpec::Python { file: std::path::absolute(file)?, function },
                    program: python.unwrap_or_else(|| PathBuf::from("python3")),
                    scripts: Some(scripts),
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
        match &self.scripts {
            Some(scripts) => command.arg("-u").arg(scripts.path().join(PYTHON_WORKER[0].0)),
            None => command.arg("worker"),
        };
        command
    }
}
