//! What the kernel reports about ended children.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions};

use crate::bytes::{ByteSize, KIB};
use crate::meter::CpuTime;

/// The kernel's accounting of a child: the child itself, and those descendants that were reaped below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// The largest resident set of any of these processes (`ru_maxrss`), including what the child inherited through
    /// fork before exec.
    pub(super) largest: ByteSize,
    /// Their total processor time, to the microsecond.
    pub(super) cpu: CpuTime,
}

/// The accounting of an ended child, without reaping it.
///
/// # Errors
/// The system's error, if `pid` is not an ended child of this process.
pub(super) fn kept_of(pid: u32) -> io::Result<Line> {
    line_of(pid, libc::WEXITED)
}

/// The accounting of a stopped child, which stays stopped.
///
/// # Errors
/// The system's error, if `pid` is not a stopped child of this process.
pub(super) fn kept_of_stopped(pid: u32) -> io::Result<Line> {
    line_of(pid, libc::WSTOPPED)
}

fn line_of(pid: u32, state: libc::c_int) -> io::Result<Line> {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    let flags = state | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: the system call writes to the two structures, which have the expected size, and takes integers otherwise.
    // It is called by number because only then it has its fifth argument.
    let result =
        unsafe { libc::syscall(libc::SYS_waitid, libc::P_PID, pid, info.as_mut_ptr(), flags, usage.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the first fields of `info` were written; the field is an integer at an offset that
    // all variants of this structure share.
    if unsafe { info.assume_init_ref().si_pid() } == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    // SAFETY: the child is in that state, so the call has written the whole structure.
    let usage = unsafe { usage.assume_init() };
    Ok(Line::of(&usage))
}

/// Reaps any ended child; `None` if there is none.
pub(super) fn reap_any() -> Option<Line> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call takes no status and writes to the structure, whose size it knows.
    let pid = unsafe { libc::wait4(-1, std::ptr::null_mut(), libc::WNOHANG, usage.as_mut_ptr()) };
    // SAFETY: a child was reaped, so the call has written the whole structure.
    (pid > 0).then(|| Line::of(unsafe { usage.assume_init_ref() }))
}

/// Whether this process has a child, ended or not.
pub(super) fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(rustix::process::waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

impl Line {
    fn of(usage: &libc::rusage) -> Self {
        let time = |time: libc::timeval| {
            let part = |count: i64| u64::try_from(count).unwrap_or(0);
            Duration::from_secs(part(time.tv_sec)) + Duration::from_micros(part(time.tv_usec))
        };
        Self {
            largest: ByteSize::new(u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(KIB)),
            cpu: CpuTime { user: time(usage.ru_utime), system: time(usage.ru_stime) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_reported_from_its_end_until_it_is_reaped() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(kept_of(child.id()).is_err());
        drop(child.stdin.take());
        let kept = loop {
            if let Ok(kept) = kept_of(child.id()) {
                break kept;
            }
            std::thread::yield_now();
        };
        assert!(kept.largest > ByteSize::new(KIB), "{kept:?}");
        assert!(kept.cpu.user + kept.cpu.system > Duration::ZERO, "{kept:?}");
        assert!(kept_of(child.id()).is_ok(), "it was not reaped");
        child.wait().unwrap();
        assert!(kept_of(child.id()).is_err());
    }
}
