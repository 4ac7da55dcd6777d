//! [`Sink`]: the local file that fetched bytes go to.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::error::RemoteError;

/// A local file of the size of a remote one.
#[derive(Debug)]
pub(crate) struct Sink {
    pub file: File,
    pub path: PathBuf,
}

impl Sink {
    /// Writes bytes at their place.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<(), RemoteError> {
        self.file.write_all_at(bytes, at).map_err(RemoteError::local(&self.path, "write to it"))
    }
}
