//! The command of a worker: the program `plimsoll` for built-in kernels and shared libraries, `plimsoll-torch-worker` for operators of
//! PyTorch, a Python for `py:` kernels.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::kernel::KernelSpec;
use plimsoll::kernel::library::{LibraryFile, RUNTIME_VARIABLE};

use super::answers::asked_once;
use super::error::{NoLauncher, NoTorchWorker, TORCH_WORKER, TORCH_WORKER_VARIABLE};
use super::process::SOURCES_FD;
use super::sealed;
use super::untrusted::Untrusted;

/// The worker for `py:` kernels, embedded in the program.
const PYTHON_WORKER: [(&str, &str); 14] = [
    ("plimsoll_sealed.py", include_str!("../../python/plimsoll_sealed.py")),
    ("plimsoll_worker.py", include_str!("../../python/plimsoll_worker.py")),
    ("plimsoll_torch.py", include_str!("../../python/plimsoll_torch.py")),
    ("plimsoll_audit.py", include_str!("../../python/plimsoll_audit.py")),
    ("plimsoll_cuda.py", include_str!("../../python/plimsoll_cuda.py")),
    ("plimsoll_cuda_audit.py", include_str!("../../python/plimsoll_cuda_audit.py")),
    ("plimsoll_float64.py", include_str!("../../python/plimsoll_float64.py")),
    ("plimsoll_locks.py", include_str!("../../python/plimsoll_locks.py")),
    ("plimsoll_outputs.py", include_str!("../../python/plimsoll_outputs.py")),
    ("plimsoll_memory.py", include_str!("../../python/plimsoll_memory.py")),
    ("plimsoll_rules.py", include_str!("../../python/plimsoll_rules.py")),
    ("plimsoll_sources.py", include_str!("../../python/plimsoll_sources.py")),
    ("plimsoll_stale.py", include_str!("../../python/plimsoll_stale.py")),
    ("plimsoll_timing.py", include_str!("../../python/plimsoll_timing.py")),
];

/// Runs the worker from the given descriptor, from byte 0 on: all workers share the position in it.
const START: &str = "import json, os; SOURCES = json.loads(os.pread({fd}, os.fstat({fd}).st_size, 0)); os.close({fd}); \
    exec(compile(SOURCES['plimsoll_sealed.py'], '<plimsoll>/plimsoll_sealed.py', 'exec'))";

/// How threads of OpenMP wait for work. By default they spin for some milliseconds after each parallel region.
const WAIT_POLICY: &str = "OMP_WAIT_POLICY";

/// How workers for one kernel are started.
pub struct WorkerCommand {
    kernel: KernelSpec,
    program: PathBuf,
    /// Whether `program` is `plimsoll`, which has other uses as well.
    own: bool,
    /// The Python worker's files, in memory that no kernel can write to: a kernel could otherwise alter the worker that
    /// times it.
    sources: Option<OwnedFd>,
    /// The implementation of the ABI, for a library that needs one.
    runtime: Option<PathBuf>,
    /// Whether no launch of its workers is ever timed.
    untimed: bool,
    /// Removes the rights of its user from the worker.
    untrusted: Option<Untrusted>,
}

impl WorkerCommand {
    /// The command for `kernel`; `own` is the program `plimsoll`. `python` is the interpreter of `py:` kernels; its package of
    /// tvm-ffi serves a library that needs it, and its torch an operator if that should run `in_python`.
    ///
    /// # Errors
    /// The kernel's file is not there, the worker's file cannot be written, or there is no worker for the kernel.
    pub fn new(kernel: KernelSpec, own: &Path, python: PathBuf, in_python: bool) -> Result<Self, NoLauncher> {
        let started = |kernel, program, own| Self {
            kernel,
            program,
            own,
            sources: None,
            runtime: None,
            untimed: false,
            untrusted: None,
        };
        let by_python = |kernel| -> Result<Self, NoLauncher> {
            let sources = BTreeMap::from(PYTHON_WORKER);
            let text = serde_json::to_vec(&sources).expect("texts by name");
            let sources = Some(sealed::memory("plimsoll-worker", &text)?);
            Ok(Self { sources, ..started(kernel, python.clone(), false) })
        };
        match kernel {
            KernelSpec::Builtin(_) => Ok(started(kernel, own.to_owned(), true)),
            KernelSpec::Library { file, symbol } => {
                let runtime = runtime(&file, &python);
                let kernel = KernelSpec::Library { file: std::path::absolute(file)?, symbol };
                Ok(Self { runtime, ..started(kernel, own.to_owned(), true) })
            }
            KernelSpec::Torch(_) if in_python => by_python(kernel),
            KernelSpec::Float64(_) => by_python(kernel),
            KernelSpec::Torch(_) => {
                let program = torch_worker(&kernel, own)?;
                Ok(started(kernel, program, false))
            }
            KernelSpec::Python { .. } | KernelSpec::KernelForge(_) => by_python(match kernel {
                KernelSpec::Python { file, function } => {
                    KernelSpec::Python { file: std::path::absolute(file)?, function }
                }
                KernelSpec::KernelForge(folder) => KernelSpec::KernelForge(std::path::absolute(folder)?),
                other => other,
            }),
        }
    }

    /// Starts workers that are never timed: while they wait, they leave the processors to the one that is.
    pub fn untimed(mut self) -> Self {
        self.untimed = true;
        self
    }

    /// Starts workers without the rights of their user.
    ///
    /// # Errors
    /// The folder of the workers cannot be made.
    pub fn untrusted(mut self, own: &Path, python: &Path, hidden: &[PathBuf]) -> io::Result<Self> {
        self.untrusted = Some(Untrusted::new(&self.kernel, own, self.sources.as_ref().map(|_| python), hidden)?);
        Ok(self)
    }

    /// Whether its workers have their own shared memory.
    pub fn has_own_memory(&self) -> bool {
        self.untrusted.as_ref().is_some_and(Untrusted::has_own_memory)
    }

    /// Whether its workers have a name space for processes.
    pub fn has_own_processes(&self) -> bool {
        self.untrusted.as_ref().is_some_and(Untrusted::has_own_processes)
    }

    /// The problem with what an untrusted kernel has written to its folder, if any.
    pub fn excess(&self) -> Option<String> {
        self.untrusted.as_ref().and_then(Untrusted::excess)
    }

    /// The kernel that the worker should load.
    pub fn kernel(&self) -> KernelSpec {
        self.kernel.clone()
    }

    /// The program, for messages.
    pub fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// The message about a worker that the system could not start.
    pub fn not_started(&self, error: &io::Error) -> String {
        let program = self.program();
        let advice = match self.kernel.needs_python() {
            true => "; name a Python that has torch with --python or PLIMSOLL_PYTHON",
            false => "",
        };
        format!("{program} could not be started: {error}{advice}")
    }

    /// The message about a worker of `torch:` that the system's loader has refused, for `reason`.
    pub fn unlinked(&self, reason: &str) -> String {
        let program = self.program();
        let reason = reason.trim();
        let reason = reason.strip_prefix(&program).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason);
        format!(
            "{kernel} needs libtorch, and {program} cannot be started without it: {reason}. It is looked for where it was when \
            the worker was built: install torch 2.11.0 there, or build the worker again with a Python first in the path that \
            has it (`LIBTORCH_USE_PYTORCH=1 cargo install --path harness/torch --features tch`)",
            kernel = self.kernel,
        )
    }

    /// The command line of one worker, and the file for its descriptor [`SOURCES_FD`].
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn build(&self) -> io::Result<(Command, Option<OwnedFd>)> {
        let mut command = Command::new(&self.program);
        if self.sources.is_some() {
            command.args(["-I", "-u", "-c", &START.replace("{fd}", &SOURCES_FD.to_string())]);
        } else if self.own {
            command.arg("worker");
        }
        if let Some(runtime) = &self.runtime {
            command.env(RUNTIME_VARIABLE, runtime);
        }
        if self.untimed && std::env::var_os(WAIT_POLICY).is_none() {
            command.env(WAIT_POLICY, "passive");
        }
        if let Some(untrusted) = &self.untrusted {
            command = untrusted.command(&command);
        }
        let sources = self.sources.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok((command, sources))
    }
}

/// The worker of `torch:` kernels: the file that the environment names, else one beside `own`, else one in the path.
fn torch_worker(kernel: &KernelSpec, own: &Path) -> Result<PathBuf, NoTorchWorker> {
    if let Some(named) = std::env::var_os(TORCH_WORKER_VARIABLE).map(PathBuf::from) {
        let looked = || format!("at {}, which {TORCH_WORKER_VARIABLE} names", named.display());
        let there = named.is_file();
        return if there { Ok(named) } else { Err(NoTorchWorker { kernel: kernel.clone(), looked: looked() }) };
    }
    let beside = own.parent().map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = beside.iter().cloned().chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join(TORCH_WORKER)).filter(|file| file.is_file())).ok_or_else(|| {
        NoTorchWorker {
            kernel: kernel.clone(),
            looked: match beside {
                Some(folder) => format!("in {} or in the path", folder.display()),
                None => "in the path".to_owned(),
            },
        }
    })
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
    let path = PathBuf::from(asked_once(python, &["-c", FIND]).trim());
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_worker_that_is_never_timed_sleep_while_they_wait() {
        let waits = |untimed: bool| {
            let kernel = "builtin:embedding".parse().expect("a kernel");
            let command = WorkerCommand::new(kernel, Path::new("plimsoll"), PathBuf::from("python3"), false);
            let command = command.expect("a command");
            let command = if untimed { command.untimed() } else { command };
            let (command, _) = command.build().expect("no descriptor is needed");
            command.get_envs().any(|(name, value)| name == WAIT_POLICY && value == Some("passive".as_ref()))
        };
        assert_eq!(waits(true), std::env::var_os(WAIT_POLICY).is_none(), "what the user has set stays");
        assert!(!waits(false), "a kernel is timed as its user runs it");
    }
}
