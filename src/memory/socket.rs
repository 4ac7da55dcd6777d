//! Sockets of kinds that the standard library lacks.
//!
//! A few system calls by `libc`: `rustix` has them behind a feature that takes a second to build, which every test that
//! depends on this package would wait for.

use std::mem;

use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, read};

/// A netlink socket that does not block: it receives what the kernel sends to `group` of `protocol` (0 for none), and
/// has `room` bytes for unread messages, or less if the process may not have that; `None` if there is no such protocol.
pub(crate) fn netlink(protocol: libc::c_int, group: u32, room: libc::c_int) -> Option<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes numbers alone.
    let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, protocol) };
    if socket < 0 {
        return None;
    }
    // SAFETY: the socket was opened above, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the address has numbers alone, for which zero is valid.
    let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    address.nl_groups = group;
    let (descriptor, size) = (socket.as_raw_fd(), size_of_val(&room) as libc::socklen_t);
    // SAFETY: the kernel reads `size` bytes of `room`.
    unsafe { libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, (&raw const room).cast(), size) };
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `address`.
    (unsafe { libc::bind(descriptor, (&raw const address).cast(), size) } == 0).then_some(socket)
}

/// What has come in at a netlink socket.
#[derive(Debug)]
pub(crate) enum Received<'a> {
    Message(&'a [u8]),
    /// The kernel had no room for some messages.
    Lost,
}

/// Reads the next message into `bytes`; `None` if none waits.
pub(crate) fn receive<'a>(socket: &OwnedFd, bytes: &'a mut [u8]) -> Option<Received<'a>> {
    loop {
        match read(socket, &mut *bytes) {
            Ok(0) => return None,
            Ok(length) => return Some(Received::Message(&bytes[..length])),
            Err(Errno::INTR) => {}
            Err(Errno::NOBUFS) => return Some(Received::Lost),
            Err(_) => return None,
        }
    }
}

/// The number of four bytes at `at` of a message.
pub(crate) fn word(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(message.get(at..at + 4)?.try_into().ok()?))
}

/// The process that made the other end of a socket of the Unix domain; `None` if `socket` is no such.
pub(crate) fn peer(socket: impl AsFd) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of_val(&peer) as libc::socklen_t;
    let (descriptor, whole) = (socket.as_fd().as_raw_fd(), size);
    // SAFETY: the kernel writes at most `size` bytes, which `peer` has, and then into `size` how many.
    let read = unsafe {
        let option = (&raw mut peer).cast();
        libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_PEERCRED, option, &raw mut size)
    };
    (read == 0 && size == whole && peer.pid > 0).then_some(peer.pid.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_is_the_process_that_made_the_socket() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(peer(one), Some(std::process::id()));
        assert_eq!(peer(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
