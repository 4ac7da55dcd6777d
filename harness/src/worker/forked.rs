//! Children that a kernel forks. A child that returns from the kernel has no channel of its own: it would answer in its
//! parent's name, and a loop of launches would fork in each of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Makes each forked child of this process note that it is one.
///
/// # Errors
/// There is no memory for it.
pub fn watch() -> io::Result<()> {
    extern "C" fn note() {
        IS_CHILD.store(true, Ordering::Relaxed);
    }
    // SAFETY: only a store to an atomic runs in the child, where little else is allowed.
    match unsafe { libc::pthread_atfork(None, None, Some(note)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Runs `launch` and returns its result in the calling process; a child that comes back from it ends here.
pub fn in_parent<T>(launch: impl FnOnce() -> T) -> T {
    let given = launch();
    end_if_child();
    given
}

/// Ends a forked child that came back from the kernel.
pub fn end_if_child() {
    if IS_CHILD.load(Ordering::Relaxed) {
        // SAFETY: no handler runs, and the call does not return.
        unsafe { libc::_exit(0) }
    }
}
