//! The processes of a confined program: a name space of its own, which ends with it.
//!
//! The program that separates itself (`plimsoll confined`) starts two siblings, so that the supervisor is the parent of
//! both: the first process of the name space, and the worker. The first process has nothing to do but to be there: it
//! inherits what the worker leaves behind, and if it ends, the system ends every process of the name space. It ends if
//! the supervisor's end of a pipe, the lifeline, is closed.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};

/// The descriptor of the lifeline in a program that is being confined.
pub const LIFELINE: i32 = 8;
/// The bytes that say who has been started: two process ids.
pub const BORN: usize = 8;

/// Starts the name space's first process and the worker. Returns in the worker alone; the calling process ends.
///
/// # Errors
/// The system starts no process.
pub fn begin() -> io::Result<()> {
    // SAFETY: the supervisor has put the lifeline there; nothing else of this process uses the number.
    let lifeline = unsafe { BorrowedFd::borrow_raw(LIFELINE) };
    let Some(first) = start_sibling()? else { stay(lifeline) };
    let Some(worker) = start_sibling()? else {
        // The worker must not keep the name space alive, nor be in the group of a process that ends.
        // SAFETY: the number is this process's copy of the lifeline, which nobody uses from here on.
        drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(lifeline.as_raw_fd()) });
        return rustix::process::setpgid(None, None).map_err(io::Error::from);
    };
    let born = [first.to_ne_bytes(), worker.to_ne_bytes()].concat();
    rustix::io::write(lifeline, &born)?;
    // SAFETY: no handler runs, and the call does not return.
    unsafe { libc::_exit(0) }
}

/// Starts a copy of this process whose parent is this process's own; its number, or `None` in the copy.
fn start_sibling() -> io::Result<Option<i32>> {
    let flags = libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without a stack the call is a fork. This process has one thread, so that nothing of the copy is locked.
    let number = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match number {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        number => Ok(Some(number as i32)),
    }
}

/// The life of the first process.
fn stay(lifeline: BorrowedFd<'_>) -> ! {
    let number = lifeline.as_raw_fd() as libc::c_uint;
    // SAFETY: nothing of this process but the lifeline is used from here on. Closed are the channel, whose end the
    // supervisor waits for, and the worker's output. Children that are ignored need not be waited for.
    unsafe {
        libc::syscall(libc::SYS_close_range, 0, number - 1, 0);
        libc::syscall(libc::SYS_close_range, number + 1, libc::c_uint::MAX, 0);
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_NAME, c"plimsoll-first".as_ptr());
    }
    let _ = rustix::process::setpgid(None, None);
    loop {
        let mut closed = [PollFd::from_borrowed_fd(lifeline, PollFlags::empty())];
        if matches!(poll(&mut closed, None), Ok(1..)) {
            // SAFETY: no handler runs, and the call does not return.
            unsafe { libc::_exit(0) }
        }
    }
}
