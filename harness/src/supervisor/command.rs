//! The command of a worker: this program for built-in kernels and shared libraries, a Python for `py:` kernels.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll::kernel::KernelSpec;
use plimsoll::kernel::library::{LibraryFile, RUNTIME_VARIABLE};
use tempfile::TempDir;

/// The worker for `py:` kernels, carried inside of the program.
const PYTHON_WORKER: [(&str, &str); 4] = [
    ("plimsoll_worker.py", include_str!("../../python/plimsoll_worker.py")),
    ("plimsoll_torch.py", include_str!("../../python/plimsoll_torch.py")),
    ("plimsoll_memory.py", include_str!("../../python/plimsoll_memory.py")),
    ("plimsoll_timing.py", include_str!("../../python/plimsoll_timing.py")),
];

/// How workers for one kernel are started.
pub struct WorkerCommand {
    kernel: KernelSpec,
    program: PathBuf,
    /// The folder of the Python worker's files.
    scripts: Option<TempDir>,
    /// The implementation of the ABI, for a library that needs it.
    runtime: Option<PathBuf>,
}

impl WorkerCommand {
    /// The command for `kernel`; `python` is the interpreter of `py:` kernels, `python3` from the path where none is named;
    /// its package of tvm-ffi serves a library that needs it.
    ///
    /// # Errors
    /// The kernel's file is not there, or the worker's file cannot be written.
    pub fn new(kernel: KernelSpec, python: Option<PathBuf>) -> io::Result<Self> {
        let python = python.unwrap_or_else(|| PathBuf::from("python3"));
        match kernel {
            KernelSpec::Builtin(_) => {
                Ok(Self { kernel, program: std::env::current_exe()?, scripts: None, runtime: None })
            }
            KernelSpec::Library { file, symbol } => Ok(Self {
                runtime: runtime(&file, &python),
                kernel: KernelSpec::Library { file: std::path::absolute(file)?, symbol },
                program: std::env::current_exe()?,
                scripts: None,
            }),
            KernelSpec::Python { file, function } => {
                let scripts = tempfile::Builder::new().prefix("plimsoll-worker-").tempdir()?;
                for (name, source) in PYTHON_WORKER {
                    std::fs::write(scripts.path().join(name), source)?;
                }
                Ok(Self {
                    kernel: KernelSpec::Python { file: std::path::absolute(file)?, function },
                    program: python,
                    scripts: Some(scripts),
                    runtime: None,
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
        if let Some(runtime) = &self.runtime {
            command.env(RUNTIME_VARIABLE, runtime);
        }
        command
    }
}

/// Where the package tvm-ffi of `python` has `libtvm_ffi.so`, if the library may need it and nobody has named another.
fn runtime(library: &Path, python: &Path) -> Option<PathBuf> {
    const FIND: &str = "import importlib.util as u, os; s = u.find_spec('tvm_ffi'); \
        print(os.path.join(s.submodule_search_locations[0], 'lib', 'libtvm_ffi.so') if s else '')";
    let file = LibraryFile::open(library).ok()?;
    let needed = file.links_runtime() || file.embeds_modules() || file.runtime_symbols().next().is_some();
    if !needed || std::env::var_os(RUNTIME_VARIABLE).is_some() {
        return None;
    }
    let output = Command::new(python).args(["-c", FIND]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_file().then_some(path)
}
