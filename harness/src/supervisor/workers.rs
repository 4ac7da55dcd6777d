//! [`Workers`]: the worker processes that kernels of a check run in.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plimsoll::defaults;
use plimsoll::gpu::{DeviceFacts, Devices, GpuError, Place, PlaceKind};
use plimsoll::kernel::KernelSpec;
use plimsoll::run::{Launch, LaunchError, Launcher, Role, RunContext};

use super::error::{NoLauncher, NoProgram, PROGRAM, PROGRAM_VARIABLE};
use super::launcher::WorkerLauncher;
use super::settings::{OnGpu, Settings};
use super::temporary;
use crate::signals::Cancel;

/// How isolated kernels are run: the program, its limits, the device.
///
/// ```no_run
/// use plimsoll::capture::Capture;
/// use plimsoll::run::Check;
/// use plimsoll_harness::supervisor::Workers;
///
/// let capture = Capture::open("captures/embedding".as_ref())?;
/// let workers = Workers::find()?.timeout(std::time::Duration::from_secs(10));
/// let report = Check::of(&capture)
///     .kernel(workers.isolated("py:kernels/embedding.py".parse()?))
///     .versus(workers.isolated("builtin:embedding".parse()?))
///     .ceilings("peak_rss = 2 GiB".parse()?)
///     .run()?;
/// assert!(report.passed(), "{}", report.summary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A worker is killed with its process group. A daemon that a kernel leaves behind outlives its worker, unless the
/// worker is untrusted and has a name space for processes, or this process starts nothing else and has declared so
/// ([`Workers::subreaper`]).
#[derive(Clone)]
pub struct Workers(Settings);

impl Workers {
    /// Workers of the program that `PLIMSOLL_WORKER` names, else of the `plimsoll` beside this program or in the folder
    /// above (where cargo puts it for a test), else of the one in the path.
    ///
    /// # Errors
    /// [`NoLauncher::NoProgram`] if there is none.
    pub fn find() -> Result<Self, NoLauncher> {
        let named = env::var_os(PROGRAM_VARIABLE);
        let path = env::var_os("PATH").unwrap_or_default();
        Self::of(program(named, env::current_exe().ok().as_deref(), &path)?)
    }

    /// Workers of this program: `plimsoll`, wherever it is.
    ///
    /// # Errors
    /// [`NoLauncher::Files`] if no descriptors can be had.
    pub fn of(program: impl Into<PathBuf>) -> Result<Self, NoLauncher> {
        temporary::clean();
        Ok(Self(Settings {
            program: program.into(),
            python: None,
            torch_in_python: false,
            timeout: defaults::LAUNCH_TIMEOUT,
            gpu: None,
            audit: false,
            hidden: None,
            cancel: Cancel::new()?,
            crew: None,
            sources: Vec::new(),
        }))
    }

    /// The Python with torch for `py:` kernels, and with tvm-ffi for libraries that need it; `python3` from the path if none
    /// is named.
    pub fn python(mut self, python: impl Into<PathBuf>) -> Self {
        self.0.python = Some(python.into());
        self
    }

    /// The longest that one launch may take; measuring an entry may take ten times that.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout = timeout;
        self
    }

    /// Files that kernels are made of, beside those found while they load and build. If any are named, built files do
    /// not count: a library's identity is then that of its sources.
    pub fn sources(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        self.0.sources = files.into_iter().collect();
        self
    }

    /// Launches kernels on `place`, except built-in ones, which run on the CPU. On a GPU, `graph` times replays of a
    /// CUDA graph of one launch.
    ///
    /// # Errors
    /// [`NoLauncher::Absent`] if there is no such GPU.
    pub fn device(mut self, place: Place, graph: bool) -> Result<Self, NoLauncher> {
        self.0.gpu = match place {
            Place::Cpu => None,
            Place::Cuda(index) => Some(OnGpu { facts: find_device(&self.0.program, index)?, graph }),
        };
        Ok(self)
    }

    /// Launches kernels on the GPU of these `facts`, except built-in ones. `graph` times replays of a CUDA graph of one
    /// launch.
    pub fn on_gpu(mut self, facts: DeviceFacts, graph: bool) -> Self {
        self.0.gpu = Some(OnGpu { facts, graph });
        self
    }

    /// Prepares workers for audits ([`Check::audit`](plimsoll::run::Check::audit)): each measures its overhead beside
    /// launches before it loads its kernel.
    pub fn audited(mut self) -> Self {
        self.0.audit = true;
        self
    }

    /// Runs workers without the rights of their user, with `hidden` out of their reach: the capture, the record.
    ///
    /// # Errors
    /// [`NoLauncher::Files`] if the system refuses.
    pub fn untrusted(mut self, hidden: impl IntoIterator<Item = PathBuf>) -> Result<Self, NoLauncher> {
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
            .map_err(io::Error::from)?;
        self.0.hidden = Some(hidden.into_iter().collect());
        Ok(self)
    }

    /// Ends workers once `cancel` is requested; the current entry fails as cancelled.
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.0.cancel = cancel.clone();
        self
    }

    /// Makes this process a subreaper (prctl(2)) permanently, so that daemons and orphans of workers stay below it, are
    /// metered and are ended. Only for a process that starts nothing else: anything else below it is killed with a
    /// worker.
    ///
    /// # Errors
    /// [`NoLauncher::Files`] if the system refuses.
    pub fn subreaper(mut self) -> Result<Self, NoLauncher> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)?;
        self.0.crew = Some(Arc::default());
        Ok(self)
    }

    /// `kernel` in workers, for a [`Check`](plimsoll::run::Check).
    pub fn isolated(&self, kernel: KernelSpec) -> Isolated {
        Isolated { kernel, workers: self.clone() }
    }

    /// A launcher of `kernel`, whose workers are named by their role in readings of memory; the first worker starts
    /// with the first launch.
    ///
    /// # Errors
    /// The kernel's file cannot be read or does not have the kernel, the worker's files cannot be made, or it is not installed.
    pub fn launcher<'r>(
        &self,
        kernel: KernelSpec,
        role: Role,
        context: &'r RunContext,
    ) -> Result<WorkerLauncher<'r>, NoLauncher> {
        // These compute on the CPU the expected outputs of a kernel on a GPU.
        let gpu = self.0.gpu.clone().filter(|_| !kernel.is_of_cpu());
        WorkerLauncher::new(kernel, &self.0, role, gpu, context)
    }
}

/// `kernel` in worker processes of the program that [`Workers::find`] finds.
///
/// ```no_run
/// use plimsoll::capture::Capture;
/// use plimsoll::run::Check;
/// use plimsoll_harness::supervisor::isolated;
///
/// let capture = Capture::open("captures/embedding".as_ref())?;
/// let report = Check::of(&capture).kernel(isolated("builtin:embedding".parse()?)?).run()?;
/// assert!(report.passed(), "{}", report.summary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NoLauncher::NoProgram`] if there is no such program.
pub fn isolated(kernel: KernelSpec) -> Result<Isolated, NoLauncher> {
    Ok(Workers::find()?.isolated(kernel))
}

/// A kernel that a [`Check`](plimsoll::run::Check) launches in worker processes.
#[derive(Clone)]
pub struct Isolated {
    kernel: KernelSpec,
    workers: Workers,
}

impl Isolated {
    /// Runs an operator of PyTorch in the Python of `py:` kernels, which has what Python composes of operators, too.
    pub fn in_python(mut self) -> Self {
        self.workers.0.torch_in_python = true;
        self
    }
}

impl Launch for Isolated {
    fn place(&self) -> PlaceKind {
        let on_gpu = self.workers.0.gpu.is_some() && !self.kernel.is_of_cpu();
        if on_gpu { PlaceKind::Cuda } else { PlaceKind::Cpu }
    }

    fn launcher<'r>(self: Box<Self>, role: Role, context: &'r RunContext) -> Result<Box<dyn Launcher + 'r>, LaunchError>
    where
        Self: 'r,
    {
        context.meter().name_process(std::process::id(), "supervisor");
        Ok(Box::new(self.workers.launcher(self.kernel, role, context)?))
    }
}

/// The file of the program: the named one, else one beside `own` or in the folder above it, else one in `path`.
fn program(named: Option<OsString>, own: Option<&Path>, path: &OsString) -> Result<PathBuf, NoProgram> {
    if let Some(named) = named.map(PathBuf::from) {
        let looked = format!("at {}, which {PROGRAM_VARIABLE} names", named.display());
        return if named.is_file() { Ok(named) } else { Err(NoProgram { looked }) };
    }
    let folder = own.and_then(Path::parent);
    let near = folder.into_iter().chain(folder.and_then(Path::parent)).map(Path::to_owned);
    let mut folders = near.chain(env::split_paths(path));
    folders.find_map(|folder| Some(folder.join(PROGRAM)).filter(|file| file.is_file())).ok_or_else(|| NoProgram {
        looked: match folder {
            Some(folder) => format!("in {}, the folder above or the path", folder.display()),
            None => "in the path".to_owned(),
        },
    })
}

/// The GPUs that `program` sees, found by a separate process; none if that fails.
pub fn list_devices(program: &Path) -> Vec<DeviceFacts> {
    let mut command = Command::new(program);
    let output = command.args(["devices", "--json"]).env_remove("PLIMSOLL_DEVICE").stdin(Stdio::null()).output();
    let found = output.ok().and_then(|output| serde_json::from_slice::<Devices>(&output.stdout).ok());
    found.map_or(Vec::new(), |found| found.devices)
}

/// The GPU `index`, found by a separate process: the driver's library would stay in this one, and count in its memory.
fn find_device(program: &Path, index: u32) -> Result<DeviceFacts, NoLauncher> {
    let mut command = Command::new(program);
    command.args(["devices", "--json", "--device", &Place::Cuda(index).to_string()]).stdin(Stdio::null());
    let output =
        command.output().map_err(|error| NoLauncher::Absent(format!("the GPU cannot be looked for: {error}")))?;
    let found =
        serde_json::from_slice::<Devices>(&output.stdout).ok().and_then(|found| found.devices.into_iter().next());
    found.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        NoLauncher::Absent(match said.strip_prefix("error: ") {
            Some(error) => error.to_owned(),
            None => GpuError::Start { name: output.status.to_string(), reason: said.to_owned() }.to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_the_one_named_or_the_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let deps = dir.path().join("debug/deps");
        std::fs::create_dir_all(&deps).unwrap();
        let own = deps.join("a_test");
        let path = OsString::from("/nowhere");
        let error = program(None, Some(&own), &path).unwrap_err().to_string();
        assert!(error.contains(&format!("in {}, the folder above or the path", deps.display())), "{error}");
        assert!(error.ends_with("or name its file in PLIMSOLL_WORKER"), "{error}");

        let above = dir.path().join("debug/plimsoll");
        std::fs::write(&above, "").unwrap();
        assert_eq!(program(None, Some(&own), &path).unwrap(), above);
        let other = dir.path().join("other");
        let error = program(Some(other.clone().into()), Some(&own), &path).unwrap_err().to_string();
        assert!(error.contains("which PLIMSOLL_WORKER names"), "{error}");
        std::fs::write(&other, "").unwrap();
        assert_eq!(program(Some(other.clone().into()), Some(&own), &path).unwrap(), other);
    }
}
