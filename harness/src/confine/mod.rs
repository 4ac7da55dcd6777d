//! Confined programs: a worker of a kernel that is not trusted has fewer rights than its user.
//!
//! The supervisor starts `plimsoll confined`, which gives up rights and becomes the worker. Every process that the
//! worker starts has the same limits. Each layer is used if this machine supports it; [`layers`] lists them.

mod calls;
mod files;
mod processes;
mod spaces;
mod started;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use plimsoll::record::Layer;
use serde::{Deserialize, Serialize};

pub use files::without;
pub use started::Started;

/// Names the [`Rights`] in the environment of `plimsoll confined`.
pub const RIGHTS: &str = "PLIMSOLL_RIGHTS";

/// The rights of a confined program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Files and folders that the program may read and run.
    pub read: Vec<PathBuf>,
    /// Folders that the program may change.
    pub write: Vec<PathBuf>,
    /// The process that the program may neither signal nor limit.
    pub supervisor: u32,
    /// Whether the program has its own shared memory.
    pub own_memory: bool,
    /// Whether the program has a name space for processes, and sees no others.
    pub own_processes: bool,
}

/// Why a program could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The process was not started by a supervisor.
    #[error("`plimsoll confined` is started by `plimsoll check --untrusted`, not by hand: {0}")]
    NoSupervisor(&'static str),
    /// The system refused a layer that it has.
    #[error("the worker cannot give up its rights ({layer}): {reason}")]
    Refused {
        /// The layer.
        layer: &'static str,
        /// The system's error.
        reason: String,
    },
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
}

/// The layers available on this machine to a confined program started by the file `plimsoll`.
pub fn layers(plimsoll: &Path) -> Vec<Layer> {
    let landlock = landlock_version();
    let has = |layer: &Layer| match layer {
        Layer::Landlock => landlock >= 1,
        Layer::LandlockSignals => landlock >= 6,
        Layer::Seccomp => has_seccomp(),
        Layer::OwnMemory => has_own_memory(plimsoll),
        Layer::OwnProcesses => has_own_processes(plimsoll),
        Layer::NoNewPrivs | Layer::NotDumpable | Layer::CopiedInputs | Layer::PrivateFolder => true,
    };
    Layer::ALL.into_iter().filter(has).collect()
}

/// Whether a confined program can have its own shared memory, tried once.
pub fn has_own_memory(plimsoll: &Path) -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| can_start(plimsoll, Rights { own_memory: true, ..Rights::default() }))
}

/// Whether a confined program can have its own name space for processes, tried once.
pub fn has_own_processes(plimsoll: &Path) -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| can_start(plimsoll, Rights { own_processes: true, ..Rights::default() }))
}

/// Whether a program with these rights can be started.
fn can_start(plimsoll: &Path, rights: Rights) -> bool {
    let rights = Rights { read: vec![PathBuf::from("/")], ..rights };
    let mut probe = Command::new(plimsoll);
    probe.arg("confined").arg(plimsoll).arg("--version").env(RIGHTS, rights.text());
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Started::by(probe, Vec::new(), rights.own_processes);
    started.and_then(|mut started| started.wait()).is_ok_and(|status| status.success())
}

impl Rights {
    /// The value of the variable in the environment of `plimsoll confined`.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("rights are plain data")
    }
}

/// The version of Landlock in the kernel; negative if it has none.
fn landlock_version() -> i64 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call reads no attributes, makes nothing, and gives a number.
    unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) }
}

fn has_seccomp() -> bool {
    Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
}

/// Gives up rights, and becomes `program`.
///
/// # Errors
/// [`ConfineError`]; if it succeeds, this does not return.
pub fn become_confined(program: &[OsString]) -> Result<std::convert::Infallible, ConfineError> {
    let text = env::var(RIGHTS).map_err(|_| ConfineError::NoSupervisor("PLIMSOLL_RIGHTS is not set"))?;
    let rights: Rights =
        serde_json::from_str(&text).map_err(|_| ConfineError::NoSupervisor("PLIMSOLL_RIGHTS is damaged"))?;
    let (first, rest) = program.split_first().ok_or(ConfineError::NoSupervisor("no program is named"))?;
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| ConfineError::Refused { layer: "no_new_privs", reason: error.to_string() })?;
    let refused = |layer, reason: String| ConfineError::Refused { layer, reason };
    // Before the rules that would forbid it.
    if rights.own_memory || rights.own_processes {
        spaces::separate(rights.own_memory, rights.own_processes)
            .map_err(|error| refused("name spaces", error.to_string()))?;
    }
    if rights.own_processes {
        processes::begin()
            .and_then(|()| spaces::show_own_processes())
            .map_err(|error| refused("own processes", error.to_string()))?;
    }
    if landlock_version() >= 1 {
        files::restrict(&rights).map_err(|error| refused("landlock", error.to_string()))?;
    }
    if has_seccomp() {
        // In a name space of its own, the number may be another process's.
        let supervisor = (!rights.own_processes).then_some(rights.supervisor);
        calls::restrict(supervisor).map_err(|error| refused("seccomp", error.to_string()))?;
    }
    let source = Command::new(first).args(rest).env_remove(RIGHTS).exec();
    Err(ConfineError::Start { program: first.to_string_lossy().into_owned(), source })
}
