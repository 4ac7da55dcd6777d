//! [`Turns`]: the socket over which a worker asks for the values of its next launch.
//!
//! The system notes when the worker asks. This thread sleeps while the worker launches, and may wake up much later than that:
//! a processor that has slept takes a while, and that of a virtual machine sometimes takes milliseconds.

use std::io;
use std::mem::{size_of, size_of_val};
use std::time::Duration;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::time::{ClockId, clock_gettime};

/// What a worker has asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing yet.
    Nothing,
    /// What comes next, so long ago; zero if the system does not say.
    Next(Duration),
    /// More than may be asked at once.
    Ahead,
    /// Nothing any more: it has closed its end.
    Closed,
}

/// The supervisor's end. Each question is a message of its own, because the system notes the times of messages alone.
#[derive(Debug)]
pub struct Turns(OwnedFd);

impl Turns {
    /// A pair of ends: the supervisor's and the worker's.
    ///
    /// # Errors
    /// The system's.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let (on, size) = (1, size_of::<libc::c_int>() as libc::socklen_t);
        let on: *const libc::c_int = &raw const on;
        // SAFETY: the kernel reads `size` bytes of `on`. Without the option, messages have no times.
        unsafe { libc::setsockopt(ours.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, on.cast(), size) };
        Ok((Self(ours), theirs))
    }

    /// What the worker has asked since the last time.
    pub fn asked(&self) -> Asked {
        let mut asked = [0; 16];
        let ago = match self.next(&mut asked) {
            Ok((1, ago)) => ago,
            Ok((0, _)) => return Asked::Closed,
            Ok(_) => return Asked::Ahead,
            Err(_) => return Asked::Nothing,
        };
        match recv(&self.0, &mut asked, RecvFlags::PEEK) {
            Ok((_, 1..)) => Asked::Ahead,
            _ => Asked::Next(ago),
        }
    }

    /// Answers. A worker that has closed its end is seen by the next question.
    pub fn answer(&self, answer: u8) {
        let _ = send(&self.0, &[answer], SendFlags::NOSIGNAL);
    }

    /// Reads a message into `bytes`: its length, and how long ago it was sent.
    fn next(&self, bytes: &mut [u8]) -> Result<(usize, Duration), Errno> {
        // For the time, with its header, which is aligned to a word.
        let mut room = [0u64; 8];
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        // SAFETY: the header has numbers and pointers alone, for which zero is valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        (message.msg_control, message.msg_controllen) = (room.as_mut_ptr().cast(), size_of_val(&room) as _);
        // SAFETY: the kernel writes at most the lengths above into `bytes` and `room`, which live until then.
        let read = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0) };
        if read < 0 {
            return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        // SAFETY: the kernel has written the headers that it counts in `message`; the data of a header of this kind is a
        // time, which need not be aligned.
        let sent = unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message).as_ref();
            let timed = |header: &&libc::cmsghdr| {
                header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS
            };
            header.filter(timed).map(|header| libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned())
        };
        Ok((read as usize, sent.map_or(Duration::ZERO, ago)))
    }
}

/// How long a time of the system's is ago; zero if it is not.
fn ago(then: libc::timespec) -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    let since = |seconds: i64, nanoseconds: i64| Duration::new(seconds.max(0) as u64, nanoseconds.max(0) as u32);
    since(now.tv_sec, now.tv_nsec).saturating_sub(since(then.tv_sec, then.tv_nsec))
}

impl AsFd for Turns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_system_says_how_long_ago_a_worker_asked() {
        let (turns, theirs) = Turns::pair().unwrap();
        let mut worker = UnixStream::from(theirs);
        assert_eq!(turns.asked(), Asked::Nothing);
        worker.write_all(&[0]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let asked = turns.asked();
        assert!(matches!(asked, Asked::Next(ago) if ago >= Duration::from_millis(20)), "{asked:?}");
        assert_eq!(turns.asked(), Asked::Nothing);
    }

    #[test]
    fn a_worker_asks_one_question_at_a_time_until_it_closes_its_end() {
        let (turns, theirs) = Turns::pair().unwrap();
        let mut worker = UnixStream::from(theirs);
        worker.write_all(&[0]).unwrap();
        worker.write_all(&[0]).unwrap();
        assert_eq!(turns.asked(), Asked::Ahead);
        turns.asked();
        worker.write_all(&[0; 2]).unwrap();
        assert_eq!(turns.asked(), Asked::Ahead);
        drop(worker);
        assert_eq!(turns.asked(), Asked::Closed);
        turns.answer(1);
    }
}
