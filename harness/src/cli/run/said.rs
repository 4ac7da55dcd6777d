//! The last text of a command on standard error, readable without intercepting it if standard error is a file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;

/// This much of the end is read.
const TAIL: u64 = 256 << 10;

/// The position of standard error when the command began.
pub struct Said {
    file: File,
    from: u64,
}

impl Said {
    /// `None` if standard error is not a readable file.
    pub fn begin() -> Option<Self> {
        let stat = rustix::fs::fstat(std::io::stderr().as_fd()).ok()?;
        let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
        // A description of its own, as the position of the other one is where the command writes.
        let file = is_file.then(|| File::open("/proc/self/fd/2").ok()).flatten()?;
        let from = file.metadata().ok()?.len();
        Some(Self { file, from })
    }

    /// The text since then, or only its end if there is much.
    pub fn tail(mut self) -> Vec<u8> {
        let mut tail = Vec::new();
        let Ok(length) = self.file.metadata().map(|file| file.len()) else { return tail };
        let from = self.from.max(length.saturating_sub(TAIL));
        if self.file.seek(SeekFrom::Start(from)).is_ok() {
            // Use as much as could be read.
            let _ = self.file.take(TAIL).read_to_end(&mut tail);
        }
        tail
    }
}
