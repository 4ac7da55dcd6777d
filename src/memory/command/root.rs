//! [`Root`]: the started process, whether this process or another program has forked it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions};

/// The root of a tree, a child of this process.
#[derive(Debug)]
pub(super) enum Root {
    /// The process of a command.
    Spawned(Child),
    /// A fork that waited to be adopted.
    Adopted(Pid),
}

impl Root {
    pub(super) fn id(&self) -> u32 {
        match self {
            Self::Spawned(child) => child.id(),
            Self::Adopted(pid) => pid.as_raw_nonzero().get().unsigned_abs(),
        }
    }

    pub(super) fn pid(&self) -> Pid {
        match self {
            Self::Spawned(child) => Pid::from_child(child),
            Self::Adopted(pid) => *pid,
        }
    }

    /// The process with its pipes, if it has any.
    pub(super) fn pipes(&mut self) -> Option<&mut Child> {
        match self {
            Self::Spawned(child) => Some(child),
            Self::Adopted(_) => None,
        }
    }

    /// Waits for its end and reaps it.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Spawned(child) => child.wait(),
            Self::Adopted(pid) => match rustix::process::waitpid(Some(*pid), WaitOptions::empty())? {
                Some((_, status)) => Ok(ExitStatus::from_raw(status.as_raw())),
                None => Err(io::ErrorKind::WouldBlock.into()),
            },
        }
    }

    /// Kills and reaps it, and nothing below it.
    pub(super) fn give_up(mut self) {
        let _ = rustix::process::kill_process(self.pid(), Signal::KILL);
        let _ = self.wait();
    }
}
