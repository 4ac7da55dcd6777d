//! Ctrl-C and termination as a flag to look at and a descriptor to wait on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};

/// Whether the user asked to stop.
pub struct Cancel {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    /// Readable, and never read, once a signal came.
    pipe: UnixStream,
}

impl Cancel {
    /// Takes over SIGINT, SIGTERM and SIGHUP. A second SIGINT ends the process at once.
    pub fn install() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        let (pipe, writer) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: only a signal that finds the flag set already ends the process.
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&flag))?;
            signal_hook::flag::register(number, Arc::clone(&flag))?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            signal_hook::low_level::pipe::register(number, writer.try_clone()?)?;
        }
        Ok(Self { flag, signal, pipe })
    }

    /// The same; whatever else would end this process and may be caught is caught and ignored, for a kernel may send it to the
    /// process that started its own. A program that is started has the system's own answer to it again.
    pub fn install_against_kernels() -> io::Result<Self> {
        let heard = Arc::new(AtomicBool::new(false));
        let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
        let others =
            [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU, SIGXFSZ, libc::SIGPWR, libc::SIGSTKFLT];
        for number in others.into_iter().chain(real_time) {
            signal_hook::flag::register(number, Arc::clone(&heard))?;
        }
        Self::install()
    }

    /// Whether a signal came.
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// The flag itself, for work that looks at it from other threads.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }

    /// The signal that came, if any.
    pub fn signal(&self) -> Option<u8> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            n => u8::try_from(n).ok(),
        }
    }

    /// Becomes readable when a signal comes.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
