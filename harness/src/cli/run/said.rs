//! The last that a command said on standard error, if that can be read without standing between: a file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;

/// So much of the end is read.
const TAIL: u64 = 256 << 10;

/// Where standard error stood when the command began.
pub struct Said {
    file: File,
    from: u64,
}

impl Said {
    /// `None` if it is not a file that may be read.
    pub fn begin() -> Option<Self> {
        let stat = rustix::fs::fstat(std::io::stderr().as_fd()).ok()?;
        let is_file = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile;
        // A description of its own, for the other's place is where the command writes.
        let file = is_file.then(|| File::open("/proc/self/fd/2").ok()).flatten()?;
        let from = file.metadata().ok()?.len();
        Some(Self { file, from })
    }

    /// What came since, its end alone if it is much.
    pub fn tail(mut self) -> Vec<u8> {
        let mut tail = Vec::new();
        let Ok(length) = self.file.metadata().map(|file| file.len()) else { return tail };
        let from = self.from.max(length.saturating_sub(TAIL));
        if self.file.seek(SeekFrom::Start(from)).is_ok() {
            // What could be read of it is what there is to go by.
            let _ = self.file.take(TAIL).read_to_end(&mut tail);
        }
        tail
    }
}
