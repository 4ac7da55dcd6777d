//! [`Outputs`]: the shared memory that a launch fills.

use std::fs::File;
use std::io;

use memmap2::MmapMut;

/// The shared memory for outputs, mapped as far as it is needed.
pub struct Outputs {
    file: File,
    map: Option<MmapMut>,
}

impl Outputs {
    /// Over the descriptor that the supervisor passed in.
    pub fn new(file: File) -> Self {
        Self { file, map: None }
    }

    /// Its first `bytes` bytes.
    ///
    /// # Errors
    /// So much memory cannot be had.
    pub fn memory(&mut self, bytes: usize) -> io::Result<&mut [u8]> {
        if self.map.as_ref().is_none_or(|map| map.len() < bytes) && bytes > 0 {
            self.map = None;
            self.file.set_len(bytes as u64)?;
            // SAFETY: the memfd is sealed against shrinking, so that the map stays backed; it is shared with the supervisor
            // alone, which reads it only between a launch's answer and the next request.
            self.map = Some(unsafe { MmapMut::map_mut(&self.file) }?);
        }
        Ok(self.map.as_deref_mut().map_or(&mut [], |map| &mut map[..bytes]))
    }
}
