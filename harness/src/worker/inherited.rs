//! The descriptors that the supervisor passed in.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::protocol::{CHANNEL, OUTPUTS, TURNS, VALUES};

/// What the supervisor passed in.
pub struct Inherited {
    /// The channel.
    pub channel: UnixStream,
    /// The shared memory for outputs.
    pub outputs: File,
    /// The shared memory for values.
    pub values: Option<File>,
    /// The socket for turns.
    pub turns: Option<UnixStream>,
}

/// Takes the descriptors that the environment names. Must be called only once.
///
/// # Errors
/// The missing descriptor.
pub fn take() -> Result<Inherited, &'static str> {
    let channel = descriptor(CHANNEL).ok_or("PLIMSOLL_CHANNEL names no open descriptor")?;
    let outputs = descriptor(OUTPUTS).ok_or("PLIMSOLL_OUTPUTS names no open descriptor")?;
    let (values, turns) = (descriptor(VALUES).map(File::from), descriptor(TURNS).map(UnixStream::from));
    Ok(Inherited { channel: channel.into(), outputs: outputs.into(), values, turns })
}

fn descriptor(variable: &str) -> Option<OwnedFd> {
    let number: RawFd = std::env::var(variable).ok()?.parse().ok().filter(|&n| n > 2)?;
    // A descriptor that is not open has no entry here.
    std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).ok()?;
    // SAFETY: the descriptor is open (checked above), and the supervisor passed it to this process for this purpose alone:
    // nothing else in the program opens descriptors before this, so that no other owner of the number exists.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC).ok()?;
    Some(fd)
}
