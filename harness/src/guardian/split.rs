//! The split itself, and the guardian's side of it.

use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, WaitOptions};

use super::signals::{HANDED_ON, Sent, Signals, send};
use super::{Guarded, pages};

/// Which process this is after the split.
pub enum Side {
    /// The guardian, once the meter has ended: the exit code.
    Guardian(u8),
    /// The meter.
    Meter(Guarded),
}

/// After this time without a signal, the pages that only the start needed are released.
static SETTLED: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// The kernel's `si_code` of a signal that it sends itself, for example for a terminal.
const SI_KERNEL: libc::c_int = 0x80;

pub fn split() -> io::Result<Side> {
    let (ours, theirs) = UnixStream::pair()?;
    // On both sides: orphans go to the nearest subreaper that is left. Without kernel support, some are lost.
    let own = rustix::process::getpid();
    let _ = rustix::process::set_child_subreaper(Some(own));
    // The guardian takes signals one by one. The meter keeps them blocked, as they are not meant for it.
    let signals = set_of(&[&HANDED_ON[..], &[libc::SIGCHLD]].concat());
    let mask = change_mask(libc::SIG_BLOCK, &signals);
    // If the one who started this ignores the ends of children, they could not be waited for.
    // SAFETY: the default action is not a function of this process.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    // SAFETY: this is the only thread, so that the child may go on with all that the parent had.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(ours);
            pages::share_one_heap();
            Ok(Side::Meter(Guarded { signals: Signals::new(theirs)?, mask }))
        }
        pid => {
            drop(theirs);
            let meter = Pid::from_raw(pid).expect("a child has an id");
            let code = watch(meter, &ours, &signals);
            Ok(Side::Guardian(code))
        }
    }
}

/// Waits for the end of the meter, and forwards signals to it until then.
fn watch(meter: Pid, pipe: &UnixStream, signals: &libc::sigset_t) -> u8 {
    let _ = pipe.set_nonblocking(true);
    let_go(pipe.as_raw_fd());
    let mut settled = false;
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        let timeout = if settled { std::ptr::null() } else { &raw const SETTLED };
        // SAFETY: all point to memory of this frame or the caller's, or to a constant, which the call reads and writes; a
        // timeout may be null.
        let number = unsafe { libc::sigtimedwait(signals, info.as_mut_ptr(), timeout) };
        if number < 0 && !settled {
            // A short command is over before its pages matter.
            settled = true;
            pages::let_go();
        }
        if number > 0 && number != libc::SIGCHLD {
            // SAFETY: the call has succeeded, and so has written the structure.
            let code = unsafe { info.assume_init_ref().si_code };
            let sent = Sent { number, by_terminal: code == SI_KERNEL };
            if sent.ends() && !is_ignored(number) && !listens(pipe) {
                return end(meter, number);
            }
            send(pipe, sent);
            if number == libc::SIGTSTP {
                stop();
            }
        }
        if let Some(code) = ended(meter) {
            return code;
        }
    }
}

/// Whether the meter takes signals by now.
fn listens(mut pipe: &UnixStream) -> bool {
    static LISTENS: AtomicBool = AtomicBool::new(false);
    LISTENS.fetch_or(matches!(pipe.read(&mut [0]), Ok(1)), Ordering::Relaxed) || LISTENS.load(Ordering::Relaxed)
}

/// Whether this process was started with the signal ignored, as by nohup.
fn is_ignored(number: libc::c_int) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one, which zeros initialise as well.
    unsafe {
        libc::sigaction(number, std::ptr::null(), found.as_mut_ptr());
        found.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Ends a meter that takes no signals yet, for example because it waits for a configuration from a named pipe. No
/// command was started.
fn end(meter: Pid, signal: libc::c_int) -> u8 {
    let _ = rustix::process::kill_process(meter, rustix::process::Signal::KILL);
    let _ = rustix::process::waitpid(Some(meter), WaitOptions::empty());
    (128 + signal).clamp(129, 255) as u8
}

/// The exit code, once the meter has ended. Processes of the command that it leaves, for example when it was killed,
/// are ended first.
fn ended(meter: Pid) -> Option<u8> {
    let (_, status) = rustix::process::waitpid(Some(meter), WaitOptions::NOHANG).ok().flatten()?;
    let has_children = !matches!(rustix::process::wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD));
    let left = if has_children { plimsoll::command::end_children() } else { 0 };
    if let Some(code) = status.exit_status() {
        return Some((code & 0xff) as u8);
    }
    let signal = status.terminating_signal()?;
    // A failure cannot be reported anywhere.
    let _ = writeln!(
        io::stderr(),
        "error: the meter was killed by signal {signal}; the command was ended with it, {left} of its processes by the \
         guardian. With --record FILE, what was read so far is in FILE.partial"
    );
    Some((128 + signal).clamp(129, 255) as u8)
}

/// Stops this process as the terminal would have, until it is continued.
fn stop() {
    let stop = set_of(&[libc::SIGTSTP]);
    // SAFETY: the signal has its default action, or is ignored: no function of this process is called.
    unsafe { libc::raise(libc::SIGTSTP) };
    change_mask(libc::SIG_UNBLOCK, &stop);
    change_mask(libc::SIG_BLOCK, &stop);
}

/// Closes what belongs to the command: the reader of a pipe must see its end when the command closes it.
fn let_go(pipe: i32) {
    if let Ok(null) = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    let (first, pipe) = (3, pipe.cast_unsigned());
    let close = |from: u32, to: u32| {
        if from <= to {
            // SAFETY: no descriptor above standard error is used from here on but the pipe, which is spared. An older
            // kernel than 5.9 does not know the call, and they stay open.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    };
    close(first, pipe.saturating_sub(1));
    close(pipe + 1, u32::MAX);
}

fn set_of(numbers: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is initialised before it is added to; the numbers are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &number in numbers {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        set.assume_init()
    }
}

/// Restores the previous mask.
fn change_mask(how: libc::c_int, set: &libc::sigset_t) -> libc::sigset_t {
    let mut before = MaybeUninit::zeroed();
    // SAFETY: the set is initialised; the mask of before is a plain array of bits, of which zeros are the empty one.
    unsafe {
        libc::sigprocmask(how, set, before.as_mut_ptr());
        before.assume_init()
    }
}
