//! Two processes in place of one, so that the command ends whichever of them dies.
//!
//! `plimsoll run` splits as its first action. The original process becomes the guardian: small, it keeps the place in
//! the terminal's job, takes the signals and waits. Its child, the meter, does everything else. Each notices the end of
//! the other: if the meter is killed, the guardian inherits the command and ends it (it is a subreaper, so it inherits
//! daemons as well); if the guardian is killed, the meter ends the command and keeps its readings.
//!
//! Guardian, meter and command share one process group, that of the terminal's job. A meter in a group of its own would
//! survive a kill of the whole job and, as a parent beside the group, would keep the kernel from ignoring Ctrl-Z if no
//! shell is there to continue the job. The meter blocks the terminal's signals instead.

mod pages;
mod signals;
mod split;

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

pub use pages::let_go;
pub use signals::Signals;

/// The meter's view of its guardian.
#[derive(Debug)]
pub struct Guarded {
    /// The signals that the guardian forwards.
    pub signals: Signals,
    /// The signals to block in the command: those blocked when this process was started.
    mask: libc::sigset_t,
}

impl Guarded {
    /// Restores the inherited signal mask in `command`.
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

/// Splits this process. Returns the exit code in the guardian, once the meter has ended, and `None` in the meter.
///
/// Must be called first, while there is only one thread and few pages are touched.
pub fn split() -> Option<u8> {
    match split::split() {
        Ok(split::Side::Guardian(code)) => Some(code),
        Ok(split::Side::Meter(guarded)) => {
            let _ = GUARDED.set(guarded);
            None
        }
        Err(error) => {
            eprintln!("error: cannot start a process for the meter: {error}; check the limit of processes");
            Some(2)
        }
    }
}

/// The guardian of this process, if there is one. Who asks for it takes the signals from then on.
pub fn guarded() -> Option<&'static Guarded> {
    GUARDED.get().inspect(|guarded| guarded.signals.listen())
}
