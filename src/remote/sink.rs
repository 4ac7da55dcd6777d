//! [`Sink`]: the local file that fetched bytes go to.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};

use crate::error::RemoteError;

/// A local file of the size of a remote one.
#[derive(Debug)]
pub(crate) struct Sink {
    pub file: File,
    pub path: PathBuf,
}

/// A range of at least this many bytes gets its blocks before its bytes.
const RESERVED: u64 = 1 << 20;

impl Sink {
    /// Reserves the blocks of large ones of `ranges`: a file system takes longer to reserve them write by write than to
    /// write them. One that cannot reserve any, or has none left, says so when the bytes are written.
    pub fn reserve(&self, ranges: &[Range<u64>]) {
        for range in ranges {
            let bytes = range.end - range.start;
            if bytes >= RESERVED {
                let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, range.start, bytes);
            }
        }
    }

    /// Writes bytes at their place.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<(), RemoteError> {
        self.file.write_all_at(bytes, at).map_err(RemoteError::local(&self.path, "write to it"))
    }
}
