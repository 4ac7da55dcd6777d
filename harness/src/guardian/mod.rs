//! Two processes in place of one, so that no death of either leaves the command running.
//!
//! `plimsoll run` splits as the first thing it does. The process that was started becomes the guardian: small, it holds the
//! place in the terminal's job, takes the signals and waits. Its child, the meter, does everything else. Each sees the end
//! of the other: if the meter is killed, the guardian inherits the command and ends it (it is a subreaper, so that
//! daemons come to it as well); if the guardian is killed, the meter ends the command and keeps what it has read.
//!
//! Guardian, meter and command share one process group, that of the terminal's job. In a group of its own the meter would
//! outlive a kill of the whole job, but, as a parent beside the group, would keep the kernel from passing over Ctrl-Z if
//! no shell is there to continue the job. It has the terminal's signals blocked instead.

mod pages;
mod signals;
mod split;

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

pub use pages::let_go;
pub use signals::Signals;

/// What the meter knows of its guardian.
#[derive(Debug)]
pub struct Guarded {
    /// What the guardian tells.
    pub signals: Signals,
    /// The signals that the command is to have blocked: those that this process was started with.
    mask: libc::sigset_t,
}

impl Guarded {
    /// Has `command` run with the mask of signals that was inherited.
    pub fn prepare(&self, command: &mut Command) {
        let mask = self.mask;
        // SAFETY: between fork and exec it makes one system call, with memory of its own.
        unsafe {
            command.pre_exec(move || {
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
                Ok(())
            })
        };
    }
}

static GUARDED: OnceLock<Guarded> = OnceLock::new();

/// Splits this process. Gives the exit code in the guardian, once the meter has ended, and nothing in the meter.
///
/// To be called before anything else, as there may be no second thread and few pages are touched yet.
pub fn split() -> Option<u8> {
    match split::split() {
        Ok(split::Side::Guardian(code)) => Some(code),
        Ok(split::Side::Meter(guarded)) => {
            let _ = GUARDED.set(guarded);
            None
        }
        Err(error) => {
            eprintln!("error: cannot start a process for the meter: {error}; is the limit of processes reached?");
            Some(2)
        }
    }
}

/// The guardian of this process, if it has one.
pub fn guarded() -> Option<&'static Guarded> {
    GUARDED.get()
}
