//! [`OutputTap`]: passes the output of a command through unchanged, while looking for lines that begin phases and
//! showing it to a watcher.

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
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

use super::marks::PhaseLines;

/// How much of the end of standard error is kept.
const SAID: usize = 64 << 10;

/// The size of a watched pipe, large enough that the command does not wait for the watcher.
const PIPE: usize = 1 << 20;

/// The size of a read.
const PIECE: usize = 256 << 10;

/// A line without an end is passed to the watcher in pieces of this size.
const LONGEST_LINE: usize = 64 << 10;

/// How long to wait for output that an escaped process holds open.
const WAIT_FOR_OUTPUT: Duration = Duration::from_secs(2);

/// Standard output and standard error of a command, passed through to those of this process.
///
/// If one of them is a terminal, the command gets one as well: a pseudo-terminal in raw mode of the same size, so that
/// it prints as usual, including colours and progress. If both are, they share one, which keeps their order. Otherwise
/// the command gets a pipe, or a shared pipe if both are the same file, for the same reason. Standard input is left
/// alone.
#[derive(Debug)]
pub struct OutputTap {
    names: Receiver<String>,
    /// The end of standard error, or of a terminal.
    said: Arc<Mutex<VecDeque<u8>>>,
    wake: UnixStream,
    /// The other end: if it were closed, this one would stay readable.
    _notified: UnixStream,
    pumps: Vec<JoinHandle<()>>,
    /// The created terminal, and the one that it stands for.
    terminal: Option<(OwnedFd, OwnedFd)>,
}

/// Receives the output of a command in whole lines; lines of standard output and standard error come in the order of
/// their ends. A line of standard error comes after those that standard output had by then, unless nobody reads that.
pub type OutputWatch = Box<dyn FnMut(&[u8]) + Send>;

impl OutputTap {
    /// Takes over the output of `command`, which has not started yet; `watch` sees what passes.
    ///
    /// # Errors
    /// The system's error, if it gives no pipe, terminal or thread.
    pub fn attach(
        command: &mut Command,
        expressions: &[Regex],
        watch: Option<OutputWatch>,
        out: BorrowedFd<'_>,
    ) -> io::Result<Self> {
        let err = io::stderr();
        let (wake, notified) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        notified.set_nonblocking(true)?;
        let (sender, names) = channel();
        let said = Arc::<Mutex<VecDeque<u8>>>::default();
        let mut tap = Self {
            names,
            said: Arc::clone(&said),
            wake,
            _notified: notified.try_clone()?,
            pumps: Vec::new(),
            terminal: None,
        };
        let notifier = Notifier { sender, wake: notified };
        let watch = watch.map(|watch| Arc::new(Mutex::new(watch)));
        let mut first: Option<Arc<First>> = None;
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        let mut pump = |from: OwnedFd, to: BorrowedFd<'_>, keeps: bool| -> io::Result<JoinHandle<()>> {
            let (to, notifier) = (to.try_clone_to_owned()?, notifier.try_clone()?);
            let order = match (watch.is_some(), &first) {
                (false, _) => Order::Alone,
                (true, Some(first)) => Order::After(Arc::clone(first)),
                (true, None) => {
                    let open = Mutex::new(Some((from.try_clone()?, to.try_clone()?)));
                    Order::First(Arc::clone(first.insert(Arc::new(First { open }))))
                }
            };
            let mut eyes = Eyes {
                said: keeps.then(|| Arc::clone(&said)),
                phases: (!expressions.is_empty()).then(|| PhaseLines::new(expressions.to_vec())),
                notifier,
                watch: watch.clone(),
                open: Vec::new(),
            };
            std::thread::Builder::new()
                .name("output".to_owned())
                .spawn(move || hand_through(&from, &to, &mut eyes, &order))
        };
        let pipe = || -> io::Result<_> {
            let (reader, writer) = io::pipe()?;
            // The kernel refuses this beyond the user's share of its memory; the usual size works as well.
            let _ = watch.as_ref().map(|_| rustix::pipe::fcntl_setpipe_size(&reader, PIPE));
            Ok((OwnedFd::from(reader), writer))
        };
        if !out_is_terminal && !err_is_terminal && same_file(out, err.as_fd()) {
            let (reader, writer) = pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            tap.pumps.push(pump(reader, err.as_fd(), true)?);
            return Ok(tap);
        }
        if !out_is_terminal {
            let (reader, writer) = pipe()?;
            command.stdout(writer);
            tap.pumps.push(pump(reader, out, false)?);
        }
        if out_is_terminal || err_is_terminal {
            let real = if out_is_terminal { out } else { err.as_fd() };
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
        if !err_is_terminal {
            let (reader, writer) = pipe()?;
            command.stderr(writer);
            tap.pumps.push(pump(reader, err.as_fd(), true)?);
        }
        Ok(tap)
    }

    /// A descriptor that is readable when a phase should begin.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Takes the phases that should begin.
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

    /// Waits until all output of the ended command has passed, and returns the end of its standard error.
    pub fn finish(self) -> Vec<u8> {
        let began = Instant::now();
        while began.elapsed() < WAIT_FOR_OUTPUT && self.pumps.iter().any(|pump| !pump.is_finished()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from(std::mem::take(&mut *said))
    }
}

/// Notifies the owner of a tap about phases.
#[derive(Debug)]
struct Notifier {
    sender: Sender<String>,
    wake: UnixStream,
}

impl Notifier {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { sender: self.sender.clone(), wake: self.wake.try_clone()? })
    }

    fn notify(&self, name: String) {
        // A full pipe also wakes the owner; a closed one means that it needs no phases.
        if self.sender.send(name).is_ok() {
            let _ = rustix::io::write(&self.wake, b"p");
        }
    }
}

/// Inspects the bytes of one stream.
struct Eyes {
    said: Option<Arc<Mutex<VecDeque<u8>>>>,
    /// Absent if no line begins a phase: output that is only watched is not split here.
    phases: Option<PhaseLines>,
    notifier: Notifier,
    watch: Option<Arc<Mutex<OutputWatch>>>,
    /// A line that has not ended yet.
    open: Vec<u8>,
}

impl Eyes {
    fn see(&mut self, bytes: &[u8]) {
        if let Some(phases) = &mut self.phases {
            phases.feed(bytes, |name| self.notifier.notify(name));
        }
        if let Some(said) = &self.said {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.extend(&bytes[bytes.len().saturating_sub(SAID)..]);
            let beyond = said.len().saturating_sub(SAID);
            said.drain(..beyond);
        }
        let Some(watch) = &self.watch else { return };
        // Only whole lines are passed on, because the other stream may be in the middle of one.
        let ended = memchr::memrchr2(b'\n', b'\r', bytes).map_or(0, |at| at + 1);
        let (whole, open) = bytes.split_at(ended);
        if !whole.is_empty() || self.open.len() + open.len() > LONGEST_LINE {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            for piece in [&std::mem::take(&mut self.open)[..], whole] {
                if !piece.is_empty() {
                    watch(piece);
                }
            }
        }
        self.open.extend_from_slice(open);
    }

    /// Passes on the last line, which has no end.
    fn close(&mut self) {
        if let Some(watch) = self.watch.as_ref().filter(|_| !self.open.is_empty()) {
            watch.lock().unwrap_or_else(PoisonError::into_inner)(&self.open);
        }
    }
}

/// The stream that was taken over first, standard output, whose bytes are inspected before later ones of the other.
struct First {
    /// Where it is read from and written to, closed once nothing more is read, so that the command notices; locked while
    /// bytes are read and inspected.
    open: Mutex<Option<(OwnedFd, OwnedFd)>>,
}

impl First {
    /// Waits until everything that the command had written to this stream is inspected, unless its reader is slow.
    fn inspected(&self) {
        loop {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((from, to)) = &*open else { return };
            let writable = || poll(&mut [PollFd::new(to, PollFlags::OUT)], Some(&Timespec::default()));
            if rustix::io::ioctl_fionread(from).unwrap_or(0) == 0 || !matches!(writable(), Ok(1..)) {
                return;
            }
            drop(open);
            std::thread::yield_now();
        }
    }
}

/// The place of a stream among those of a command.
enum Order {
    Alone,
    First(Arc<First>),
    After(Arc<First>),
}

impl Order {
    /// Reads what the command has written, and lets `eyes` inspect it.
    fn read(&self, from: &OwnedFd, bytes: &mut [u8], eyes: &mut Eyes) -> Result<usize, Errno> {
        let _turn = match self {
            Self::First(first) => {
                poll(&mut [PollFd::new(from, PollFlags::IN)], None)?;
                Some(first.open.lock().unwrap_or_else(PoisonError::into_inner))
            }
            _ => None,
        };
        let count = rustix::io::read(from, &mut *bytes)?;
        if let Self::After(first) = self {
            first.inspected();
        }
        // Inspected before it is written, so that a phase does not wait for the reader of the line that begins it.
        eyes.see(&bytes[..count]);
        Ok(count)
    }
}

/// Copies until one side is closed. If nobody reads any more, the command notices once `from` is dropped.
fn hand_through(from: &OwnedFd, to: &OwnedFd, eyes: &mut Eyes, order: &Order) {
    let mut bytes = vec![0; PIECE];
    loop {
        match order.read(from, &mut bytes, eyes) {
            // Reading a terminal whose other side is closed is an error.
            Ok(0) | Err(Errno::IO) => break,
            Ok(count) => {
                if write_all(to, &bytes[..count]).is_err() {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    eyes.close();
    if let Order::First(first) = order {
        *first.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether both refer to the same file, pipe or socket.
fn same_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let of = |fd| rustix::fs::fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino));
    of(one).is_some_and(|one| of(other) == Some(one))
}

fn write_all(to: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            // Someone who shares the other side may have made it non-blocking.
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Creates a terminal of the size of `real` that changes no bytes: our side, and the command's.
fn terminal_like(real: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    // The real terminal adds carriage returns, so this one must not.
    let mut modes = tcgetattr(&theirs)?;
    modes.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    if let Ok(size) = tcgetwinsize(real) {
        let _ = tcsetwinsize(&ours, size);
    }
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_notices_that_nobody_reads_its_output() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new("sh");
        command.args(["-c", "exec yes"]);
        let tap = OutputTap::attach(&mut command, &[], Some(Box::new(|_| {})), writer.as_fd()).unwrap();
        let mut child = command.spawn().unwrap();
        drop(command);
        assert!(!child.wait().unwrap().success());
        tap.finish();
    }

    #[test]
    fn a_line_of_standard_error_comes_after_what_was_printed_before_it() {
        let seen = Arc::<Mutex<Vec<u8>>>::default();
        let sink = Arc::clone(&seen);
        let watch: OutputWatch = Box::new(move |bytes| sink.lock().unwrap().extend_from_slice(bytes));
        let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done"]);
        let tap = OutputTap::attach(&mut command, &[], Some(watch), null.as_fd()).unwrap();
        let mut child = command.spawn().unwrap();
        // The command has its own copies of the pipes' other ends; these would keep them open.
        drop(command);
        child.wait().unwrap();
        tap.finish();
        let seen = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
        let place = |line: String| seen.lines().position(|seen| seen == line).unwrap();
        for i in 0..500 {
            assert!(place(format!("out {i}")) < place(format!("err {i}")), "{i}");
        }
    }
}
