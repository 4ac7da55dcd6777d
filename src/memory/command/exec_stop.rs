//! Stops a child at the first instruction of its program, so that even the shortest program is measured.
//!
//! This uses ptrace from the start latch to that instruction and no longer, because the program executed next may be
//! privileged. The kernel denies a setuid program its privileges while it is traced, so such a program is not stopped;
//! nor is any if the system forbids tracing. In those cases the first look comes as soon as it can.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::wait;
use crate::bytes::ByteSize;

/// `S_ISUID` and `S_ISGID`.
const SET_ID: u32 = 0o6000;
/// The number of status bits below the event.
const EVENT_SHIFT: u32 = 8;

/// A child that will stop; belongs to the thread that created it.
#[derive(Debug)]
pub(super) struct ExecStop {
    pid: libc::pid_t,
}

impl ExecStop {
    /// Traces a child that waits at its start latch; `None` if the system does not allow it.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let pid = libc::pid_t::try_from(pid).ok()?;
        // SAFETY: PTRACE_SEIZE takes address 0 and flags as data; no memory is touched.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, libc::PTRACE_O_TRACEEXEC) };
        (seized == 0).then_some(Self { pid })
    }

    /// Waits until the program is executed and calls `look` before its first instruction, unless the child ends or a
    /// signal stops it first.
    ///
    /// Returns the program's apparent peak so far (`ru_maxrss`), all of which is really the child's before the exec.
    pub(super) fn look(self, look: impl FnOnce()) -> Option<ByteSize> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // The end remains for the caller to collect.
        let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        // SAFETY: the call writes to the structure, whose size it knows.
        while unsafe { libc::waitid(libc::P_PID, self.pid.cast_unsigned(), info.as_mut_ptr(), flags) } != 0 {
            if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                return None;
            }
        }
        // SAFETY: the call succeeded and wrote the fields for a child's state; before, all were zeros.
        let (code, status) = unsafe { (info.assume_init_ref().si_code, info.assume_init_ref().si_status()) };
        if code != libc::CLD_TRAPPED {
            return None;
        }
        let event = status >> EVENT_SHIFT;
        let inherited = (event == libc::PTRACE_EVENT_EXEC).then(|| {
            look();
            wait::kept_of_stopped(self.pid.cast_unsigned()).ok().map(|line| line.largest)
        });
        // Any other stop is caused by a signal, which is passed on.
        let signal = if event == 0 { libc::c_long::from(status) } else { 0 };
        // SAFETY: PTRACE_DETACH ignores the address and takes a signal number as data; no memory is touched.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.pid, 0, signal) };
        inherited.flatten()
    }
}

/// Whether the program of `command` is known to get no privileges when it is executed.
pub(super) fn is_plain(command: &Command) -> bool {
    let Some(path) = resolve(command) else { return false };
    let set_id = std::fs::metadata(&path).map_or(true, |file| file.mode() & SET_ID != 0);
    let capabilities = rustix::fs::getxattr(&path, "security.capability", &mut [0u8; 64]).is_ok();
    !set_id && !capabilities
}

/// The file that will be executed, as far as that can be known.
fn resolve(command: &Command) -> Option<PathBuf> {
    let program = Path::new(command.get_program());
    if program.as_os_str().as_bytes().contains(&b'/') {
        return match command.get_current_dir() {
            Some(folder) if program.is_relative() => Some(folder.join(program)),
            _ => Some(program.to_owned()),
        };
    }
    let of_child = command.get_envs().find(|(name, _)| *name == OsStr::new("PATH"));
    let search = match of_child {
        Some((_, path)) => path?.to_owned(),
        None => std::env::var_os("PATH")?,
    };
    std::env::split_paths(&search).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_with_privileges_of_its_own_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, "").unwrap();
        for (mode, plain) in [(0o755, true), (0o4755, false), (0o2755, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_plain(&Command::new(&path)), plain, "{mode:o}");
            assert_eq!(is_plain(Command::new("program").env("PATH", folder.path())), plain, "{mode:o}");
            assert_eq!(is_plain(Command::new("./program").current_dir(folder.path())), plain, "{mode:o}");
        }
        assert!(is_plain(&Command::new("sh")) && !is_plain(&Command::new("plimsoll-no-such-program")));
        assert!(!is_plain(Command::new("program").env_remove("PATH")));
    }
}
