//! [`MarkSocket`]: phases by datagrams, each answered.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use super::{MAX_NAME, name};

/// The environment variable that names the socket: `@` and its name in the abstract name space (unix(7)).
pub const MARKS: &str = "PLIMSOLL_MARKS";

/// How long to wait for an answer: the meter responds at once, and a sample takes milliseconds.
const WAIT_FOR_ANSWER: Duration = Duration::from_secs(10);

/// The answer when a phase has begun.
const BEGUN: &[u8] = b"begun";

/// Why a mark failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// There is no run to mark.
    #[error("there is no run to mark: {MARKS} is not set; start the program with `plimsoll run`")]
    NoRun,
    /// The name is empty, too long, or not plain text.
    #[error("`{name}` cannot name a phase: write 1 to {MAX_NAME} bytes of text")]
    Name {
        /// The name that was given.
        name: String,
    },
    /// The run did not answer.
    #[error("the run at {address} does not answer: {source}; it may have ended, or be out of reach of this container")]
    Unreachable {
        /// The address that was tried.
        address: String,
        /// The system's error.
        source: io::Error,
    },
}

/// The socket that receives marks from the processes of a tree.
///
/// The socket is in the abstract name space under an unguessable name, so nothing is left of it when this process ends.
#[derive(Debug)]
pub struct MarkSocket {
    socket: UnixDatagram,
    address: String,
}

impl MarkSocket {
    /// Creates a socket.
    ///
    /// # Errors
    /// The system's error, if no socket can be created.
    pub fn open() -> io::Result<Self> {
        let address = format!("plimsoll-{}-{}", std::process::id(), random()?);
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&address)?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address: format!("@{address}") })
    }

    /// The value of [`MARKS`] for the command.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A descriptor that is readable when a mark has arrived.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes the marks that have arrived: calls `begin` with each name, and then answers the sender.
    pub fn take(&self, mut begin: impl FnMut(&str)) {
        let mut bytes = [0; 4 * MAX_NAME];
        while let Ok((count, sender)) = self.socket.recv_from(&mut bytes) {
            if let Some(name) = name(&bytes[..count]) {
                begin(&name);
                // A sender that does not wait for an answer has no address, or is gone.
                let _ = self.socket.send_to_addr(BEGUN, &sender);
            }
        }
    }
}

/// Begins the phase `phase` of the run that this process belongs to, and returns once it has begun.
///
/// # Errors
/// [`MarkError`] if there is no run, the name is invalid, or nobody answers.
pub fn mark(phase: &str) -> Result<(), MarkError> {
    let address = std::env::var(MARKS).map_err(|_| MarkError::NoRun)?;
    mark_at(&address, phase)
}

fn mark_at(address: &str, phase: &str) -> Result<(), MarkError> {
    if name(phase.as_bytes()).as_deref() != Some(phase) {
        return Err(MarkError::Name { name: phase.to_owned() });
    }
    let sent = || {
        let run = SocketAddr::from_abstract_name(address.strip_prefix('@').unwrap_or(address))?;
        let own = format!("plimsoll-mark-{}-{}", std::process::id(), random()?);
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(own)?)?;
        socket.set_read_timeout(Some(WAIT_FOR_ANSWER))?;
        socket.send_to_addr(phase.as_bytes(), &run)?;
        socket.recv(&mut [0; 16])
    };
    sent().map(drop).map_err(|source| MarkError::Unreachable { address: address.to_owned(), source })
}

/// 16 unguessable hexadecimal digits.
fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    let mut file = std::fs::File::open("/dev/urandom")?;
    io::Read::read_exact(&mut file, &mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_answered_once_it_was_taken() {
        let socket = MarkSocket::open().unwrap();
        let address = socket.address().to_owned();
        let sender = std::thread::spawn(move || mark_at(&address, "load the data"));
        let mut names = Vec::new();
        while names.is_empty() {
            assert!(!sender.is_finished(), "it waits for its answer");
            socket.take(|name| names.push(name.to_owned()));
        }
        sender.join().unwrap().unwrap();
        assert_eq!(names, ["load the data"]);
    }

    #[test]
    fn an_invalid_name_and_an_unreachable_run_are_errors() {
        let error = mark_at("@plimsoll-nobody", "load").unwrap_err().to_string();
        assert!(error.starts_with("the run at @plimsoll-nobody does not answer: "), "{error}");
        for bad in ["", "a\nb", " x", &"x".repeat(MAX_NAME + 1)] {
            assert!(matches!(mark_at("@plimsoll-nobody", bad), Err(MarkError::Name { .. })), "{bad:?}");
        }
    }

    #[test]
    fn a_sender_without_an_address_is_taken_too() {
        let socket = MarkSocket::open().unwrap();
        let address = SocketAddr::from_abstract_name(&socket.address()[1..]).unwrap();
        UnixDatagram::unbound().unwrap().send_to_addr(b"load\n", &address).unwrap();
        let mut names = Vec::new();
        socket.take(|name| names.push(name.to_owned()));
        assert_eq!(names, ["load"]);
    }
}
