//! [`Untrusted`]: the workers of an untrusted kernel, and what they get instead of paths.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::ByteSize;
use plimsoll::kernel::KernelSpec;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::param::page_size;
use tempfile::TempDir;

use super::answers::asked_once;
use super::temporary::Held;
use crate::confine::{RIGHTS, Rights, has_own_memory, has_own_processes, without};

/// Names a folder that one worker at a time uses, in a worker's environment.
const FOLDER_OF_ONE: &str = "PLIMSOLL_FOLDER_OF_ONE";

/// Variables that name the folder in which a compiler of kernels keeps what it builds.
const CACHES: [&str; 6] = [
    "TORCH_EXTENSIONS_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "CUPY_CACHE_DIR",
    "CUDA_CACHE_PATH",
];

/// Prefixes of variables that hold credentials of object stores.
const SECRET: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

/// Folders of programs, libraries and facts of the machine.
const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/sys",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys",
    "/proc/driver",
];
/// The folder where programs share memory by name.
const SHARED: &str = "/dev/shm";
/// Devices that any program may use. The last one holds semaphores of processes.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", SHARED];
/// The variables with a Python's own files and module paths.
const FOLDERS_OF_PYTHON: &str = "import site, sys; print('\\n'.join([sys.prefix, sys.base_prefix, sys.exec_prefix, \
    site.getuserbase(), *sys.path]))";
/// The most data that a kernel may have in its folder after a launch: builds there need less.
const FOLDER: ByteSize = ByteSize::gib(4);
/// The most files and folders there.
const FILES: usize = 100_000;
/// Variables that name folders with programs and libraries.
const SEARCHED: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "PYTHONPATH"];

/// The shared state of the workers of one launcher: their folder, and further readable files.
pub struct Untrusted {
    program: PathBuf,
    rights: Rights,
    folder: Held<TempDir>,
    user_base: Option<PathBuf>,
}

impl Untrusted {
    /// For workers of `kernel`, which run in `python` if that is given; `hidden` is out of their reach wherever it is.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(kernel: &KernelSpec, program: &Path, python: Option<&Path>, hidden: &[PathBuf]) -> io::Result<Self> {
        let folder = Held::folder()?;
        let hidden: Vec<PathBuf> = hidden.iter().map(|path| resolved(path)).collect();
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.push(program.to_owned());
        let mut user_base = None;
        read.extend(kernel.file().and_then(|file| file.parent().map(Path::to_owned)));
        if let Some(python) = python {
            let folders = folders_of(python);
            user_base = folders.get(3).cloned();
            read.extend(folders);
        }
        for variable in SEARCHED {
            let folders = std::env::var_os(variable).unwrap_or_default();
            read.extend(std::env::split_paths(&folders).filter(|folder| folder.is_absolute()));
        }
        let mut allowed: Vec<PathBuf> = read.iter().flat_map(|path| without(&resolved(path), &hidden)).collect();
        allowed.sort();
        allowed.dedup();
        let mut write: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        write.push(folder.path().to_owned());
        // Without its own shared memory, the worker could not reach what it needs of the system's.
        let needs = |path: &PathBuf| path.starts_with(SHARED) && path != Path::new(SHARED);
        let own_memory = !allowed.iter().chain(&write).any(needs) && has_own_memory(program);
        let own_processes = has_own_processes(program);
        let rights = Rights { read: allowed, write, supervisor: std::process::id(), own_memory, own_processes };
        Ok(Self { program: program.to_owned(), rights, folder, user_base })
    }

    /// Whether its shared memory is its own.
    pub fn has_own_memory(&self) -> bool {
        self.rights.own_memory
    }

    /// Whether its processes are in a name space of their own.
    pub fn has_own_processes(&self) -> bool {
        self.rights.own_processes
    }

    /// The problem with what the kernel has written to its folder, if any.
    pub fn excess(&self) -> Option<String> {
        excess(self.folder.path(), FOLDER, FILES)
    }

    /// The command that gives up rights, and becomes `worker`.
    pub fn command(&self, worker: &Command) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("confined").arg(worker.get_program()).args(worker.get_args());
        for (name, value) in worker.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.env(RIGHTS, self.rights.text()).current_dir(self.folder.path());
        for name in ["TMPDIR", "HOME", "XDG_CACHE_HOME"] {
            command.env(name, self.folder.path());
        }
        // What compilers keep elsewhere cannot be written to: by default, they keep it in one of these.
        for name in CACHES {
            command.env_remove(name);
        }
        if self.rights.own_processes {
            // Locks that earlier workers left there are stale, though nobody can see their processes.
            command.env(FOLDER_OF_ONE, self.folder.path());
        }
        // A process that reads captures from an object store has the keys in its environment.
        for (name, _) in std::env::vars_os() {
            if SECRET.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes())) {
                command.env_remove(name);
            }
        }
        if let Some(base) = &self.user_base {
            command.env("PYTHONUSERBASE", base);
        }
        command
    }
}

/// The problem with the files of a folder; `None` if they are few and small enough.
fn excess(folder: &Path, most: ByteSize, most_files: usize) -> Option<String> {
    let (mut folders, mut bytes, mut files) = (vec![folder.to_owned()], ByteSize::ZERO, 0);
    while let Some(folder) = folders.pop() {
        // A file that is gone meanwhile holds nothing.
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(facts) = file.metadata() else { continue };
            bytes += ByteSize::new(facts.blocks().saturating_mul(512));
            files += 1;
            if bytes > most {
                return Some(format!("more than {most}"));
            }
            if files > most_files {
                return Some(format!("more than {most_files} files"));
            }
            if facts.is_dir() {
                folders.push(file.path());
            }
        }
    }
    None
}

/// The path with links resolved, as rules need it.
fn resolved(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The folders that a Python needs; empty if it does not start, which its worker will report.
fn folders_of(python: &Path) -> Vec<PathBuf> {
    let printed = asked_once(python, &["-I", "-c", FOLDERS_OF_PYTHON]);
    printed.lines().filter(|line| line.starts_with('/')).map(PathBuf::from).collect()
}

/// Copies of arguments, for workers without access to the capture's paths.
pub struct Copies {
    file: File,
    used: u64,
}

impl Copies {
    /// # Errors
    /// The system has no memory or no descriptor left.
    pub fn new() -> io::Result<Self> {
        let memory = rustix::fs::memfd_create("plimsoll-arguments", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::fcntl_add_seals(&memory, SealFlags::SHRINK)?;
        Ok(Self { file: OwnedFd::into(memory), used: 0 })
    }

    /// The descriptor for a worker.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Starts over: the earlier calls are done.
    pub fn begin(&mut self) {
        if std::mem::take(&mut self.used) > 0 {
            let length = self.file.metadata().map_or(0, |memory| memory.len());
            // Memory that cannot be released now is released when the run ends.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.file, hole, 0, length);
        }
    }

    /// Adds a copy of `bytes`, and returns its offset.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.used;
        self.file.write_all_at(bytes, at)?;
        self.used = (at + bytes.len() as u64).next_multiple_of(page_size() as u64);
        if self.file.metadata()?.len() < self.used {
            self.file.set_len(self.used)?;
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), vec![1; 300 << 10]).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("a/root")).unwrap();
        let found = |bytes, files| excess(folder.path(), ByteSize::new(bytes), files);
        assert_eq!(found(1 << 20, 4), None, "links are not followed");
        assert_eq!(found(200 << 10, 4).unwrap(), "more than 200.00 KiB");
        assert_eq!(found(1 << 20, 3).unwrap(), "more than 3 files");
    }
}
