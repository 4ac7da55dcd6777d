//! The built-in worker: launches kernels of this build, and of shared libraries, by the worker protocol.

mod exports;
mod inherited;
mod launch;

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use plimsoll::kernel::{Kernel, KernelSpec};

use crate::protocol::{ErrorKind, Reply, Request, VERSION};

use launch::Outputs;

/// Why the worker could not serve at all.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It was not started by a supervisor.
    #[error("`plimsoll worker` is started by `plimsoll check`, not by hand: {0}")]
    NoSupervisor(&'static str),
    /// The channel broke.
    #[error("the channel to the supervisor: {0}")]
    Channel(#[from] io::Error),
    /// The supervisor sent what the protocol does not know.
    #[error("the supervisor's message: {0}")]
    Message(#[from] serde_json::Error),
}

/// Serves the supervisor until it says `bye` or is gone.
///
/// # Errors
/// [`WorkerError`].
pub fn serve() -> Result<(), WorkerError> {
    // A supervisor that is killed takes its worker with it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).map_err(io::Error::from)?;
    let (channel, outputs) = inherited::take().map_err(WorkerError::NoSupervisor)?;
    let mut outputs = Outputs::new(outputs);
    let mut writer = channel.try_clone()?;
    let mut kernel = None;
    for line in BufReader::new(channel).split(b'\n') {
        match serde_json::from_slice(&line?)? {
            Request::Hello { protocol, kernel: spec } => say(&mut writer, &hello(protocol, &spec, &mut kernel))?,
            Request::Launch { id, call } => {
                let (reply, inputs) = match &kernel {
                    Some(kernel) => launch::launch(kernel.as_ref(), id, &call, &mut outputs),
                    None => (no_kernel(Some(id)), None),
                };
                say(&mut writer, &reply)?;
                drop(inputs);
            }
            Request::Profile { id, calls, protocol } => match &kernel {
                Some(kernel) => {
                    launch::profile(kernel.as_ref(), id, &calls, protocol, &mut |reply| say(&mut writer, &reply))?;
                }
                None => say(&mut writer, &no_kernel(Some(id)))?,
            },
            Request::Release => say(&mut writer, &Reply::Released)?,
            // What a library does when the process ends is not waited for: it could hang.
            Request::Bye => end(),
        }
    }
    Ok(())
}

fn hello(protocol: u32, spec: &KernelSpec, kernel: &mut Option<Box<dyn Kernel>>) -> Reply {
    let refuse = |message| Reply::Error { id: None, index: None, kind: ErrorKind::Unsupported, message, detail: None };
    if protocol != VERSION {
        return refuse(format!("this worker speaks version {VERSION} of the protocol, not {protocol}"));
    }
    match spec.load() {
        Ok(loaded) => {
            *kernel = Some(loaded);
            Reply::Hello {
                protocol: VERSION,
                worker: "builtin".to_owned(),
                pid: std::process::id(),
                versions: Default::default(),
            }
        }
        Err(error) => refuse(error.to_string()),
    }
}

/// Ends the process without the exit handlers and destructors of what it has loaded.
fn end() -> ! {
    // SAFETY: nothing of this process is to be written or removed any more; the channel and the shared memory are the system's.
    unsafe { libc::_exit(0) }
}

fn no_kernel(id: Option<u64>) -> Reply {
    let message = "no kernel was loaded: `hello` comes first".to_owned();
    Reply::Error { id, index: None, kind: ErrorKind::Unsupported, message, detail: None }
}

fn say(channel: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    channel.write_all(&line)
}
