//! [`Snapshot`]: the bytes of a small file, read at once.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;

/// The size up to which a file is read at once rather than piece by piece: a system call costs as much as copying this
/// many bytes costs with a few calls, and the headers of an entry are in a dozen places.
pub(super) const SMALL: u64 = 64 << 10;

/// The alignment of the bytes: that of the payloads in a file of torch, which a map of the file would keep.
const ALIGNMENT: usize = 64;

/// The bytes of a file at the moment it was read.
#[derive(Debug)]
pub(super) struct Snapshot {
    buffer: Vec<u8>,
    /// The first aligned byte of the buffer.
    head: usize,
    bytes: usize,
}

impl Snapshot {
    /// Reads the first `bytes` bytes of `file`.
    ///
    /// # Errors
    /// The error of the read; [`io::ErrorKind::UnexpectedEof`] if the file has fewer bytes.
    pub fn read(file: &File, bytes: usize) -> io::Result<Self> {
        let mut buffer = vec![0; bytes + ALIGNMENT - 1];
        let head = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1);
        file.read_exact_at(&mut buffer[head..head + bytes], 0)?;
        Ok(Self { buffer, head, bytes })
    }
}

impl Deref for Snapshot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.head..self.head + self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_the_aligned_content_and_a_shorter_file_is_an_error() {
        let bytes: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
        let (_dir, path) = crate::testing::file(&bytes);
        let file = File::open(&path).unwrap();
        let snapshot = Snapshot::read(&file, bytes.len()).unwrap();
        assert_eq!(snapshot[..], bytes);
        assert!((snapshot.as_ptr() as usize).is_multiple_of(ALIGNMENT));
        std::fs::write(&path, b"other").unwrap();
        assert_eq!(snapshot[..], bytes, "what was read stays");
        assert_eq!(Snapshot::read(&file, 6).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
