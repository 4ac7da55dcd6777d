//! Signals: Ctrl-C and termination as a flag to look at and a descriptor to wait on, and those that are handed on to a
//! command.

use std::cell::Cell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

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

/// What a command that runs under this process is to get as if it had been sent the signal itself.
const FORWARDED: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Signals that are handed on to a command.
pub struct Forward {
    came: [Arc<AtomicBool>; FORWARDED.len()],
    pipe: UnixStream,
    /// Whether one came that ends a process.
    ends: Cell<bool>,
}

impl Forward {
    /// Takes over the signals that end a process or mean something to many.
    pub fn install() -> io::Result<Self> {
        let came: [Arc<AtomicBool>; FORWARDED.len()] = Default::default();
        let (pipe, writer) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        for (number, came) in FORWARDED.into_iter().zip(&came) {
            signal_hook::flag::register(number, Arc::clone(came))?;
            signal_hook::low_level::pipe::register(number, writer.try_clone()?)?;
        }
        Ok(Self { came, pipe, ends: Cell::new(false) })
    }

    /// Becomes readable when a signal comes.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Whether a signal came that ends a process, handed on or not.
    pub fn ends(&self) -> bool {
        let waits =
            |number: &i32, came: &AtomicBool| !matches!(*number, SIGUSR1 | SIGUSR2) && came.load(Ordering::SeqCst);
        self.ends.get() || FORWARDED.iter().zip(&self.came).any(|(number, came)| waits(number, came))
    }

    /// Hands on to the process `pid` what has come.
    pub fn forward(&self, pid: u32) {
        while matches!((&self.pipe).read(&mut [0; 64]), Ok(1..)) {}
        for (number, came) in FORWARDED.into_iter().zip(&self.came) {
            if !came.swap(false, Ordering::SeqCst) {
                continue;
            }
            self.ends.set(self.ends.get() || !matches!(number, SIGUSR1 | SIGUSR2));
            // Ctrl-C reaches the command as well.
            if !(matches!(number, SIGINT | SIGQUIT) && is_in_the_foreground())
                && let (Some(pid), Some(signal)) = (Pid::from_raw(pid.cast_signed()), Signal::from_named_raw(number))
            {
                // It may have ended by now.
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
    }
}

/// Whether this process's group is that of the terminal: then Ctrl-C reached the command as well.
fn is_in_the_foreground() -> bool {
    rustix::fs::open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY, Mode::empty())
        .and_then(rustix::termios::tcgetpgrp)
        .is_ok_and(|group| group == rustix::process::getpgrp())
}
