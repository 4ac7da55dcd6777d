//! Starts a program behind a latch: the child waits before it executes the program, until everything that should
//! observe it from the first instruction is ready.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::error::CommandError;
use super::exec_stop::{self, ExecStop};
use super::signal::Signal;
use crate::bytes::ByteSize;

/// How long a dying child may take to end.
const DYING: Duration = Duration::from_secs(2);

/// What the child should do before it executes its program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Birth {
    /// Whether the command is killed when the thread that started it ends.
    pub(super) dies_with_thread: bool,
}

/// Starts `command`. `prepare` is called with the id of the child, which then waits before it executes its program.
/// `look` is called before the program's first instruction or, if the system does not allow that, as soon as possible.
/// The last element of the result is the program's apparent peak at its first instruction, if it stopped there.
///
/// # Errors
/// [`CommandError::Start`] if the program cannot be executed; errors of `prepare`, before the program has run.
pub(super) fn start<T: Send>(
    mut command: Command,
    birth: Birth,
    prepare: impl FnOnce(u32) -> Result<T, CommandError> + Send,
    look: impl Fn(&T) + Send,
) -> Result<(Child, T, Option<ByteSize>), CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let system = |what| {
        let program = program.clone();
        move |source| CommandError::System { program, what, source }
    };
    let (ours, theirs) = UnixStream::pair().map_err(system("socket"))?;
    let (ours, theirs) = (out_of_the_way(ours), out_of_the_way(theirs));
    let (their_fd, our_fd) = (theirs.as_raw_fd(), ours.as_raw_fd());
    // SAFETY: between fork and exec the closure only makes system calls, on descriptors that stay open here until spawn
    // has returned; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(move || wait_at(their_fd, our_fd, birth)) };
    let refused = system("descriptor of the start latch");
    let may_stop = exec_stop::is_plain(&command);
    std::thread::scope(|scope| {
        // The standard library returns from spawn only after exec, so another thread must open the latch.
        let keeper = std::thread::Builder::new()
            .spawn_scoped(scope, move || keep(&ours, may_stop, prepare, &look, refused))
            .map_err(system("thread"))?;
        let child = command.spawn();
        // If no child was created, the keeper waits for this.
        drop(theirs);
        let prepared = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (child, prepared) {
            (Ok(child), Ok(Some((prepared, inherited)))) => Ok((child, prepared, inherited)),
            (Err(_), Err(error)) => Err(error),
            (Err(source), Ok(_)) => Err(CommandError::Start { program: program.clone(), source }),
            // The child was not let through and did not report giving up: it was killed, or runs anyway.
            (Ok(mut child), refused) => match ended_by(&mut child) {
                Some(signal) => Err(CommandError::Killed { program: program.clone(), signal: Signal::new(signal) }),
                None => Err(refused.err().unwrap_or_else(|| system("start latch")(ErrorKind::UnexpectedEof.into()))),
            },
        }
    })
}

/// The foreign signal that killed a child before it was let through. The child is reaped.
fn ended_by(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    // A child closes its descriptors a moment before it can be reaped.
    while began.elapsed() < DYING {
        match child.try_wait() {
            Ok(Some(status)) => return status.signal(),
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => return None,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Moves the socket to a number that the command hardly uses; unchanged if none is free.
///
/// A process begins with a table of 64 descriptors. A larger one costs a program with threads some 10 ms: the kernel waits
/// until no processor uses the old table.
fn out_of_the_way(socket: UnixStream) -> UnixStream {
    rustix::io::fcntl_dupfd_cloexec(&socket, 48).map_or(socket, UnixStream::from)
}

/// The parent's side: prepares for the child and lets it through. `None` if no child came.
fn keep<T>(
    mut latch: &UnixStream,
    may_stop: bool,
    prepare: impl FnOnce(u32) -> Result<T, CommandError>,
    look: impl Fn(&T),
    refused: impl FnOnce(io::Error) -> CommandError,
) -> Result<Option<(T, Option<ByteSize>)>, CommandError> {
    let mut pid = [0; 4];
    if latch.read_exact(&mut pid).is_err() {
        return Ok(None);
    }
    let pid = u32::from_ne_bytes(pid);
    let prepared = prepare(pid).and_then(|prepared| {
        let stop = may_stop.then(|| ExecStop::of(pid)).flatten();
        latch.write_all(&[1]).map_err(refused)?;
        let inherited = match stop {
            Some(stop) => stop.look(|| look(&prepared)),
            None => {
                look(&prepared);
                None
            }
        };
        Ok((prepared, inherited))
    });
    if prepared.is_err() {
        // The child sees this and gives up.
        let _ = latch.shutdown(Shutdown::Both);
    }
    prepared.map(Some)
}

/// The child's side, between fork and exec.
fn wait_at(latch: RawFd, other_side: RawFd, birth: Birth) -> io::Result<()> {
    let last_error = || Err(io::Error::last_os_error());
    // SAFETY: every call takes descriptors that are open in the child, or memory of this frame with its length; all of
    // them are allowed between fork and exec (signal-safety(7)).
    unsafe {
        // Orphans of the tree stay in it for as long as this process lives; the setting survives exec. A kernel older
        // than 3.4 lacks it and loses some orphans.
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        if birth.dies_with_thread && libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return last_error();
        }
        // With the child's copy of the parent's side open, the child could not notice that the parent is gone.
        libc::close(other_side);
        let pid = libc::getpid().to_ne_bytes();
        if libc::write(latch, pid.as_ptr().cast(), pid.len()) != pid.len() as isize {
            return last_error();
        }
        let mut word = [0u8; 1];
        loop {
            match libc::read(latch, word.as_mut_ptr().cast(), 1) {
                1 => return Ok(()),
                0 => return Err(ErrorKind::ConnectionAborted.into()),
                _ if *libc::__errno_location() == libc::EINTR => {}
                _ => return last_error(),
            }
        }
    }
}
