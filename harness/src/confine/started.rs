//! [`Started`]: a process that was started directly, or by `plimsoll confined` in a name space of its own.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use command_fds::{CommandFdExt, FdMapping};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::processes::{BORN, LIFELINE};

/// A process that was started directly, or in a name space of its own; a child of this process either way.
#[derive(Debug)]
pub struct Started {
    pid: Pid,
    status: Option<ExitStatus>,
    /// The standard output, if it is a pipe.
    pub stdout: Option<ChildStdout>,
    /// The standard error, if it is a pipe.
    pub stderr: Option<ChildStderr>,
    space: Option<Space>,
}

/// A name space of processes, which ends when this is dropped.
#[derive(Debug)]
struct Space {
    first: Pid,
    lifeline: Option<OwnedFd>,
}

impl Started {
    /// Starts `command` with these descriptors. A command that is `separated` names the process that it becomes over
    /// its lifeline.
    ///
    /// # Errors
    /// The system starts no process.
    pub fn by(mut command: Command, mut mappings: Vec<FdMapping>, separated: bool) -> io::Result<Self> {
        let mut ours = None;
        if separated {
            let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
            mappings.push(FdMapping { parent_fd: write, child_fd: LIFELINE });
            ours = Some(read);
        }
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let child = command.spawn()?;
        // The command holds the other ends: while they are open, the end of the process is not seen.
        drop(command);
        match ours {
            Some(lifeline) => Self::separated(child, lifeline),
            None => Ok(Self::direct(child)),
        }
    }

    fn direct(mut child: Child) -> Self {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Self { pid: Pid::from_child(&child), status: None, stdout, stderr, space: None }
    }

    /// The process that `child` starts in a name space; `child` itself if it fails before.
    fn separated(mut child: Child, lifeline: OwnedFd) -> io::Result<Self> {
        let (mut lifeline, mut born) = (std::fs::File::from(lifeline), [0; BORN]);
        if lifeline.read_exact(&mut born).is_err() {
            return Ok(Self::direct(child));
        }
        child.wait()?;
        let (first, worker) = born.split_at(BORN / 2);
        let pid = |bytes: &[u8]| Pid::from_raw(i32::from_ne_bytes(bytes.try_into().ok()?));
        let (Some(first), Some(pid)) = (pid(first), pid(worker)) else {
            return Err(io::Error::other("the confined program names no process"));
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Self { pid, status: None, stdout, stderr, space: Some(Space { first, lifeline: Some(lifeline.into()) }) })
    }

    /// The process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its children of this process: the process, and the first one of its name space.
    pub fn family(&self) -> Vec<u32> {
        let first = self.space.as_ref().map(|space| space.first);
        [Some(self.pid), first].into_iter().flatten().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// How the process ended, if it has.
    ///
    /// # Errors
    /// The process is not a child of this one any more.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_for(WaitOptions::NOHANG)
    }

    /// Waits until the process ends.
    ///
    /// # Errors
    /// The process is not a child of this one any more.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.wait_for(WaitOptions::empty())? {
                return Ok(status);
            }
        }
    }

    fn wait_for(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        while self.status.is_none() {
            match waitpid(Some(self.pid), options) {
                Ok(Some((_, status))) => self.status = Some(ExitStatus::from_raw(status.as_raw())),
                Ok(None) => return Ok(None),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.status)
    }

    /// Kills it, unless it has ended, and waits for it. Then ends every other process of its name space.
    pub fn end(&mut self) -> ExitStatus {
        if matches!(self.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        let status = self.wait().unwrap_or_default();
        self.space = None;
        status
    }
}

impl Drop for Space {
    /// The system ends the name space with its first process, and that process only after all others.
    fn drop(&mut self) {
        self.lifeline = None;
        let _ = kill_process(self.first, Signal::KILL);
        while let Err(rustix::io::Errno::INTR) = waitpid(Some(self.first), WaitOptions::empty()) {}
    }
}
