//! Ctrl-C and termination as a flag to read and a descriptor to wait on.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{
    SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};

/// Whether this process was stopped, and continued, since the last call. The first call begins to look.
pub fn was_stopped() -> bool {
    static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let continued = CONTINUED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        // If the system refuses, stops are not seen, and their time does not fit the clock.
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(&flag));
        flag
    });
    continued.swap(false, Ordering::Relaxed)
}

/// Whether the user asked to stop. All clones share the request.
#[derive(Clone, Debug)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    /// Readable, and never read, once a signal came.
    pipe: Arc<UnixStream>,
    /// The other end, which keeps the pipe open.
    writer: Arc<UnixStream>,
}

impl Cancel {
    /// A request that only [`Cancel::request`] makes.
    ///
    /// # Errors
    /// No descriptors can be had.
    pub fn new() -> io::Result<Self> {
        let (pipe, writer) = UnixStream::pair()?;
        writer.set_nonblocking(true)?;
        Ok(Self {
            flag: Arc::new(AtomicBool::new(false)),
            signal: Arc::new(AtomicUsize::new(0)),
            pipe: Arc::new(pipe),
            writer: Arc::new(writer),
        })
    }

    /// Takes over SIGINT, SIGTERM and SIGHUP. A second SIGINT ends the process at once.
    ///
    /// # Errors
    /// No descriptors can be had, or a signal cannot be taken over.
    pub fn install() -> io::Result<Self> {
        let cancel = Self::new()?;
        cancel.take_over()?;
        Ok(cancel)
    }

    fn take_over(&self) -> io::Result<()> {
        let Self { flag, signal, writer, .. } = self;
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // The order matters: only a signal that finds the flag set already ends the process.
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(flag))?;
            signal_hook::flag::register(number, Arc::clone(flag))?;
            signal_hook::flag::register_usize(number, Arc::clone(signal), number as usize)?;
            signal_hook::low_level::pipe::register(number, writer.try_clone()?)?;
        }
        Ok(())
    }

    /// Takes over the signals of [`install`](Self::install), for a process that runs kernels: every other catchable
    /// signal that would end the process is caught and ignored, as a kernel may send it to the process that started its
    /// own. Started programs get the system's default actions back.
    ///
    /// # Errors
    /// As for [`install`](Self::install).
    pub fn take_over_against_kernels(&self) -> io::Result<()> {
        let heard = Arc::new(AtomicBool::new(false));
        let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
        let others =
            [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU, SIGXFSZ, libc::SIGPWR, libc::SIGSTKFLT];
        for number in others.into_iter().chain(real_time) {
            signal_hook::flag::register(number, Arc::clone(&heard))?;
        }
        self.take_over()
    }

    /// Asks to stop.
    pub fn request(&self) {
        self.flag.store(true, Ordering::SeqCst);
        // A full pipe is readable already.
        let _ = (&*self.writer).write(&[0]);
    }

    /// Whether a signal came, or somebody requested a stop.
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// The flag itself, for work on other threads.
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

    /// Becomes readable when a signal comes or somebody requests a stop.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
