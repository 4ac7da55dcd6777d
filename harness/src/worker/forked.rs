//! Children that a kernel forks. One that comes back from the kernel has no channel of its own: it would answer in its parent's
//! name, and a loop of launches would fork in each of them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Has this process note in each child that it forks that it is one.
///
/// # Errors
/// There is no memory for it.
pub fn watch() -> io::Result<()> {
    extern "C" fn note() {
        IS_CHILD.store(true, Ordering::Relaxed);
    }
    // SAFETY: a store to an atomic is all that runs in the child, where little else may.
    match unsafe { libc::pthread_atfork(None, None, Some(note)) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What `launch` gives, in the process that called it: a child that comes back from it ends here.
pub fn in_parent<T>(launch: impl FnOnce() -> T) -> T {
    let given = launch();
    end_if_child();
    given
}

/// Ends a forked child that came back from the kernel.
pub fn end_if_child() {
    if IS_CHILD.load(Ordering::Relaxed) {
        // SAFETY: it runs no handler and returns to nobody.
        unsafe { libc::_exit(0) }
    }
}
