//! [`OutputTap`]: the output of a command on its way through, byte for byte, for lines that begin phases.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use regex::bytes::Regex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

use super::marks::PhaseLines;

/// So much of the last of standard error is kept.
const SAID: usize = 64 << 10;

/// What a process that escaped the tree holds open is not waited for any longer.
const WAIT_FOR_OUTPUT: Duration = Duration::from_secs(2);

/// Standard output and standard error of a command, handed through to those of this process.
///
/// Where one of them is a terminal the command gets a terminal as well, a pseudo-terminal in raw mode of the same size, so
/// that it prints as it always does, colours and progress included; both together get one, so that their order stays. Else
/// it gets a pipe. Standard input is left alone.
#[derive(Debug)]
pub struct OutputTap {
    names: Receiver<String>,
    /// The last that came through of standard error, or of a terminal.
    said: Arc<Mutex<VecDeque<u8>>>,
    wake: UnixStream,
    /// Its other side: closed, it would be readable for ever.
    _told: UnixStream,
    pumps: Vec<JoinHandle<()>>,
    /// The terminal that was made, and the one that it stands for.
    terminal: Option<(OwnedFd, OwnedFd)>,
}

impl OutputTap {
    /// Takes the output of `command`, which is not started yet.
    ///
    /// # Errors
    /// The system's, where it gives no pipe, terminal or thread.
    pub fn attach(command: &mut Command, expressions: &[Regex]) -> io::Result<Self> {
        let (out, err) = (io::stdout(), io::stderr());
        let (wake, told) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        told.set_nonblocking(true)?;
        let (sender, names) = channel();
        let said = Arc::<Mutex<VecDeque<u8>>>::default();
        let mut tap =
            Self { names, said: Arc::clone(&said), wake, _told: told.try_clone()?, pumps: Vec::new(), terminal: None };
        let teller = Teller { sender, wake: told };
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        let pump = |from: OwnedFd, to: BorrowedFd<'_>, keeps: bool| -> io::Result<JoinHandle<()>> {
            let said = keeps.then(|| Arc::clone(&said));
            let (to, teller) = (to.try_clone_to_owned()?, teller.try_clone()?);
            let lines = PhaseLines::new(expressions.to_vec());
            std::thread::Builder::new()
                .name("output".to_owned())
                .spawn(move || hand_through(&from, &to, said.as_deref(), lines, &teller))
        };
        if out_is_terminal || err_is_terminal {
            let real = if out_is_terminal { out.as_fd() } else { err.as_fd() };
            let (ours, theirs) = terminal_like(real)?;
            if out_is_terminal {
                command.stdout(theirs.try_clone()?);
            }
            if err_is_terminal {
                command.stderr(theirs);
            }
            tap.pumps.push(pump(ours.try_clone()?, real, err_is_terminal)?);
            tap.terminal = Some((ours, real.try_clone_to_owned()?));
        }
        if !out_is_terminal {
            let (reader, writer) = io::pipe()?;
            command.stdout(writer);
            tap.pumps.push(pump(reader.into(), out.as_fd(), false)?);
        }
        if !err_is_terminal {
            let (reader, writer) = io::pipe()?;
            command.stderr(writer);
            tap.pumps.push(pump(reader.into(), err.as_fd(), true)?);
        }
        Ok(tap)
    }

    /// Becomes readable when a phase is to begin.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Takes the phases that are to begin.
    pub fn take(&self, mut begin: impl FnMut(&str)) {
        while matches!(rustix::io::read(&self.wake, &mut [0; 64]), Ok(1..)) {}
        self.names.try_iter().for_each(|name| begin(&name));
    }

    /// Gives the command's terminal the size of the real one, which may have changed.
    pub fn resize(&self) {
        if let Some((ours, real)) = &self.terminal
            && let Ok(size) = tcgetwinsize(real)
        {
            let _ = tcsetwinsize(ours, size);
        }
    }

    /// Waits until all output of the command, which has ended, is through; the last of its standard error.
    pub fn finish(self) -> Vec<u8> {
        let began = Instant::now();
        while began.elapsed() < WAIT_FOR_OUTPUT && self.pumps.iter().any(|pump| !pump.is_finished()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(std::mem::take(&mut *said))
    }
}

/// Tells the owner of a tap of a phase.
#[derive(Debug)]
struct Teller {
    sender: Sender<String>,
    wake: UnixStream,
}

impl Teller {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { sender: self.sender.clone(), wake: self.wake.try_clone()? })
    }

    fn tell(&self, name: String) {
        // A pipe that is full wakes the owner as well; one that is gone wants to hear of no phase.
        if self.sender.send(name).is_ok() {
            let _ = rustix::io::write(&self.wake, b"p");
        }
    }
}

/// Copies until one of the two sides is closed. Where nobody reads any more the command is to see that as well, which it
/// does once `from` is dropped.
fn hand_through(
    from: &OwnedFd,
    to: &OwnedFd,
    said: Option<&Mutex<VecDeque<u8>>>,
    mut lines: PhaseLines,
    teller: &Teller,
) {
    let mut bytes = vec![0; 32 << 10];
    loop {
        match rustix::io::read(from, &mut bytes[..]) {
            // A terminal whose other side is closed gives an error.
            Ok(0) | Err(Errno::IO) => return,
            Ok(count) => {
                lines.feed(&bytes[..count], |name| teller.tell(name));
                if let Some(said) = said {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    said.extend(&bytes[..count]);
                    let beyond = said.len().saturating_sub(SAID);
                    said.drain(..beyond);
                }
                if write_all(to, &bytes[..count]).is_err() {
                    return;
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // The other side may have been made non-blocking by someone who shares it.
            Err(Errno::AGAIN) => {
                let mut fds = [rustix::event::PollFd::new(to, rustix::event::PollFlags::OUT)];
                let _ = rustix::event::poll(&mut fds, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A terminal of the size of `real` that changes no byte: our side, and that of the command.
fn terminal_like(real: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    // The real one adds carriage returns, once.
    let mut modes = tcgetattr(&theirs)?;
    modes.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    if let Ok(size) = tcgetwinsize(real) {
        let _ = tcsetwinsize(&ours, size);
    }
    Ok((ours, theirs))
}
