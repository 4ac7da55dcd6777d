//! The phases of a command: its marks, and matching lines of its output.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::Command;

use command_fds::{CommandFdExt as _, FdMapping};
use plimsoll::command::{MARKS, MAX_PHASES, MarkPipe, MarkSocket, OutputTap, OutputWatch, Running};

use super::flags::Run;
use super::said::Said;

/// The sources of phases of one run.
pub struct Phases {
    socket: Option<MarkSocket>,
    pipe: Option<MarkPipe>,
    tap: Option<OutputTap>,
    said: Option<Said>,
    begun: usize,
}

impl Phases {
    /// Lets `command` report its phases; `watch` reads its output, whose standard output is discarded if `silent`.
    pub fn attach(
        arguments: &Run,
        command: &mut Command,
        watch: Option<OutputWatch>,
        silent: bool,
    ) -> io::Result<Self> {
        // Without a socket the command still runs, and `plimsoll mark` says that there is no run.
        let socket = MarkSocket::open().ok();
        match &socket {
            Some(socket) => command.env(MARKS, socket.address()),
            None => command.env_remove(MARKS),
        };
        let mut pipe = None;
        if let Some(child_fd) = arguments.phase_fd {
            let (reader, writer) = MarkPipe::open()?;
            let mapping = FdMapping { parent_fd: writer.into(), child_fd: child_fd.into() };
            command.fd_mappings(vec![mapping]).map_err(io::Error::other)?;
            pipe = Some(reader);
        }
        let taps = watch.is_some() || !arguments.phases.is_empty();
        let tap = match (taps, silent) {
            (false, _) => None,
            (true, false) => Some(OutputTap::attach(command, &arguments.phases, watch, io::stdout().as_fd())?),
            (true, true) => {
                let nowhere = File::options().write(true).open("/dev/null")?;
                Some(OutputTap::attach(command, &arguments.phases, watch, nowhere.as_fd())?)
            }
        };
        // The phase that begins with the program is one of them.
        Ok(Self { socket, pipe, tap, said: Said::begin(), begun: 1 })
    }

    /// The descriptors that become readable when a phase is to begin.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let socket = self.socket.as_ref().map(MarkSocket::fd);
        socket.into_iter().chain(self.pipe.as_ref().and_then(MarkPipe::fd)).chain(self.tap.as_ref().map(OutputTap::fd))
    }

    /// Begins the phases that were reported.
    pub fn begin(&mut self, running: &Running) {
        let begun = &mut self.begun;
        let mut begin = |name: &str| {
            *begun += 1;
            if *begun <= MAX_PHASES {
                running.phase(name);
            }
        };
        if let Some(tap) = &self.tap {
            tap.take(&mut begin);
        }
        if let Some(pipe) = &mut self.pipe {
            pipe.take(&mut begin);
        }
        if let Some(socket) = &self.socket {
            socket.take(&mut begin);
        }
    }

    /// Follows a terminal whose size may have changed.
    pub fn resize(&self) {
        self.tap.iter().for_each(OutputTap::resize);
    }

    /// Passes the rest of the output on once the command has ended. Returns how many phases were too many, and the last
    /// text on standard error, if known.
    pub fn finish(self) -> (usize, Vec<u8>) {
        let said = self.tap.map(OutputTap::finish).or_else(|| self.said.map(Said::tail)).unwrap_or_default();
        (self.begun.saturating_sub(MAX_PHASES), said)
    }
}
