//! The signals that the guardian takes and forwards to the meter.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal};

/// Signals that a command under this process gets as if it had been sent them itself.
pub const HANDED_ON: [libc::c_int; 11] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGWINCH,
    libc::SIGPWR,
];

/// A signal on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The signal's number.
    pub number: libc::c_int,
    /// Whether the kernel sent the signal for the terminal: then every foreground process got it, except a hang-up,
    /// which only the leader of the session gets.
    pub by_terminal: bool,
}

impl Sent {
    pub fn to_bytes(self) -> [u8; 2] {
        [self.number as u8, self.by_terminal.into()]
    }

    /// Whether to send the signal to the command, which already has it if the terminal sent it to the whole foreground.
    fn is_due(self) -> bool {
        !self.by_terminal || self.number == libc::SIGHUP
    }

    /// Whether the signal asks a program to end.
    pub fn ends(self) -> bool {
        matches!(self.number, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)
    }
}

/// The meter's side: the signals that the guardian has sent so far.
#[derive(Debug)]
pub struct Signals {
    pipe: UnixStream,
    listens: AtomicBool,
    ends: AtomicBool,
    orphaned: AtomicBool,
}

impl Signals {
    pub fn new(pipe: UnixStream) -> std::io::Result<Self> {
        pipe.set_nonblocking(true)?;
        Ok(Self {
            pipe,
            listens: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            orphaned: AtomicBool::new(false),
        })
    }

    /// Announces to the guardian that signals are taken from now on. Before that, one that ends a program ends this process.
    pub fn listen(&self) {
        if !self.listens.swap(true, Ordering::Relaxed) {
            let _ = (&self.pipe).write(&[1]);
        }
    }

    /// Becomes readable when a signal came or the guardian is gone.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Whether a terminating signal came so far.
    pub fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Whether the guardian is gone.
    pub fn orphaned(&self) -> bool {
        self.orphaned.load(Ordering::Relaxed)
    }

    /// Takes new signals and forwards them to `pid`, a child of this process that was not reaped.
    pub fn hand_on(&self, pid: u32) {
        let Some(pid) = Pid::from_raw(pid.cast_signed()) else { return };
        self.take(|sent| {
            // A command that was continued with its whole group needs no second signal.
            let due = sent.is_due() && (sent.number != libc::SIGCONT || is_stopped(pid));
            if let Some(signal) = Signal::from_named_raw(sent.number).filter(|_| due) {
                // The command may have ended by now.
                let _ = rustix::process::kill_process(pid, signal);
            }
        });
    }

    /// Takes new signals without forwarding them, as the command has ended.
    pub fn note(&self) {
        self.take(|_| {});
    }

    fn take(&self, mut each: impl FnMut(Sent)) {
        let mut bytes = [0; 2];
        loop {
            match (&self.pipe).read(&mut bytes) {
                // Both bytes of a signal were written at once.
                Ok(2) => {
                    let sent = Sent { number: bytes[0].into(), by_terminal: bytes[1] != 0 };
                    self.ends.fetch_or(sent.ends(), Ordering::Relaxed);
                    each(sent);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return self.orphaned.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// Sends the signal to the meter; a meter that has stopped reading gets no more.
pub fn send(mut pipe: &UnixStream, sent: Sent) {
    let _ = pipe.write(&sent.to_bytes());
}

fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let state = stat.iter().rposition(|&byte| byte == b')').and_then(|close| stat.get(close + 2));
    state == Some(&b'T')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(sent: &[Sent]) -> (Signals, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        sent.iter().for_each(|&sent| send(&theirs, sent));
        (Signals::new(ours).unwrap(), theirs)
    }

    #[test]
    fn what_the_terminal_sends_to_all_is_not_sent_twice() {
        let due = |number, by_terminal| Sent { number, by_terminal }.is_due();
        assert!(due(libc::SIGINT, false) && due(libc::SIGTERM, false) && due(libc::SIGHUP, true));
        assert!(!due(libc::SIGINT, true) && !due(libc::SIGTSTP, true) && !due(libc::SIGWINCH, true));
    }

    #[test]
    fn the_end_of_the_guardian_is_seen_and_what_it_told_before_is_not_lost() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (signals, guardian) = received(&[
            Sent { number: libc::SIGINT, by_terminal: true },
            Sent { number: libc::SIGCONT, by_terminal: false },
        ]);
        signals.hand_on(child.id());
        assert!(signals.ends() && !signals.orphaned() && child.try_wait().unwrap().is_none());
        send(&guardian, Sent { number: libc::SIGTERM, by_terminal: false });
        drop(guardian);
        signals.hand_on(child.id());
        assert!(signals.orphaned());
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }
}
