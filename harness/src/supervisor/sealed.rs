//! Memory that is written once and never changed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};

/// A memfd with `bytes`, sealed against every change, and against further seals.
///
/// # Errors
/// The system has no memory or no descriptor left.
pub fn memory(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn sealed_memory_can_be_read_and_not_written_by_any_descriptor_of_it() {
        let memory = File::from(memory("test", b"as it was").unwrap());
        let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
        let again = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        for file in [&memory, &again] {
            assert!(file.write_at(b"altered", 0).is_err());
            assert!(file.set_len(0).is_err() && file.set_len(100).is_err());
        }
        assert_eq!(std::fs::read(path).unwrap(), b"as it was");
    }
}
