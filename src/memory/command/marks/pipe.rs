//! [`MarkPipe`]: phases from lines in a descriptor.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, BorrowedFd};

use super::{MAX_NAME, name};

/// The reading end of a pipe whose lines name phases.
#[derive(Debug)]
pub struct MarkPipe {
    reader: PipeReader,
    line: Vec<u8>,
    ended: bool,
}

impl MarkPipe {
    /// Creates a pipe; also returns its other end for the command.
    ///
    /// # Errors
    /// The system's error, if no pipe can be created.
    pub fn open() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        Ok((Self { reader, line: Vec::new(), ended: false }, writer))
    }

    /// A descriptor that is readable when a line has arrived; `None` once nobody can write any more.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.reader.as_fd())
    }

    /// Reads what has arrived and calls `begin` with each name.
    pub fn take(&mut self, mut begin: impl FnMut(&str)) {
        let mut bytes = [0; 4096];
        loop {
            match self.reader.read(&mut bytes) {
                Ok(0) => return self.ended = true,
                Ok(count) => self.feed(&bytes[..count], &mut begin),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.ended = true,
            }
        }
    }

    fn feed(&mut self, bytes: &[u8], begin: &mut impl FnMut(&str)) {
        for &byte in bytes {
            if byte == b'\n' {
                if let Some(name) = name(&self.line) {
                    begin(&name);
                }
                self.line.clear();
            } else if self.line.len() < 4 * MAX_NAME {
                self.line.push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_line_is_a_name_and_the_end_is_seen() {
        let (mut pipe, mut writer) = MarkPipe::open().unwrap();
        let mut names = Vec::new();
        pipe.take(|name| names.push(name.to_owned()));
        writer.write_all(b"load\n\ntra").unwrap();
        pipe.take(|name| names.push(name.to_owned()));
        writer.write_all(&[b"in\n", &[b'x'; 9000][..], b"\n"].concat()).unwrap();
        drop(writer);
        pipe.take(|name| names.push(name.to_owned()));
        assert_eq!(names[..2], ["load", "train"]);
        assert_eq!((names[2].len(), names.len()), (MAX_NAME, 3));
        assert!(pipe.fd().is_none());
    }
}
