//! What the kernel tells of a child that has ended and waits to be reaped.

use std::io;
use std::mem::MaybeUninit;

use crate::bytes::{ByteSize, KIB};

/// The largest resident set that any process of a child's line has had (`ru_maxrss`): the child and those of its
/// descendants that were reaped below it, and what the child inherited by exec from what it was forked from.
///
/// Read without reaping the child, which must have ended.
///
/// # Errors
/// The system's, where `pid` is no child of this process that has ended.
pub(super) fn largest_resident_set(pid: u32) -> io::Result<ByteSize> {
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: the system call writes to the two structures, which are of the size that it expects, and takes integers
    // beside them. It is called by number as only then it has its fifth argument.
    let result =
        unsafe { libc::syscall(libc::SYS_waitid, libc::P_PID, pid, info.as_mut_ptr(), flags, usage.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so that the first fields of `info` were written; the field is an integer at an offset
    // that all kinds of this structure share.
    if unsafe { info.assume_init_ref().si_pid() } == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    // SAFETY: the child has ended, so that the call has written the whole structure.
    let usage = unsafe { usage.assume_init() };
    Ok(ByteSize::new(u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(KIB)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_told_of_once_it_has_ended_and_until_it_is_reaped() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(largest_resident_set(child.id()).is_err());
        drop(child.stdin.take());
        let mark = loop {
            if let Ok(mark) = largest_resident_set(child.id()) {
                break mark;
            }
            std::thread::yield_now();
        };
        assert!(mark > ByteSize::new(KIB), "{mark}");
        assert!(largest_resident_set(child.id()).is_ok(), "it was not reaped");
        child.wait().unwrap();
        assert!(largest_resident_set(child.id()).is_err());
    }
}
