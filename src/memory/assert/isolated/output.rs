//! Prints the output of a test's process again here, where the test harness captures it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Where a stream is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::assert) enum To {
    Stdout,
    Stderr,
}

/// One output stream of the process.
pub(in crate::assert) struct Output {
    /// Absent once it has ended.
    pipe: Option<OwnedFd>,
    to: To,
    /// The beginning of a character whose remaining bytes have not arrived.
    rest: Vec<u8>,
}

impl Output {
    /// # Errors
    /// The system's error, if the pipe cannot be made non-blocking.
    pub(in crate::assert) fn new(pipe: Option<impl Into<OwnedFd>>, to: To) -> io::Result<Self> {
        let pipe = pipe.map(Into::into);
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe, to, rest: Vec::new() })
    }

    /// The descriptor to wait for.
    pub(in crate::assert) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Takes the output that has arrived as text; invalid UTF-8 is replaced.
    pub(in crate::assert) fn take(&mut self) -> String {
        let mut text = String::new();
        let mut buffer = [0; 8 << 10];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => self.push(&buffer[..n], &mut text),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => self.pipe = None,
            }
        }
        if self.pipe.is_none() {
            text += &String::from_utf8_lossy(&std::mem::take(&mut self.rest));
        }
        text
    }

    fn push(&mut self, bytes: &[u8], text: &mut String) {
        self.rest.extend_from_slice(bytes);
        let mut whole = 0;
        for chunk in self.rest.utf8_chunks() {
            // Only the end of the output can be an incomplete character.
            let begun =
                chunk.invalid().len() < 4 && whole + chunk.valid().len() + chunk.invalid().len() == self.rest.len();
            text.push_str(chunk.valid());
            whole += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                if begun && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none()) {
                    break;
                }
                text.push(char::REPLACEMENT_CHARACTER);
                whole += chunk.invalid().len();
            }
        }
        self.rest.drain(..whole);
    }

    /// Prints the output that has arrived.
    pub(in crate::assert) fn forward(&mut self) {
        let text = self.take();
        match self.to {
            _ if text.is_empty() => {}
            To::Stdout => print!("{text}"),
            To::Stderr => eprint!("{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn letters_that_come_in_pieces_are_put_together() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut output = Output::new(Some(reader), To::Stdout).unwrap();
        let mut read = String::new();
        for byte in "a–ü🚢\n".bytes() {
            writer.write_all(&[byte]).unwrap();
            read += &output.take();
        }
        assert_eq!(read, "a–ü🚢\n");
        writer.write_all(b"x\xffy\xe2\x80").unwrap();
        assert_eq!(output.take(), "x\u{fffd}y");
        assert!(output.fd().is_some());
        drop(writer);
        assert_eq!(output.take(), "\u{fffd}");
        assert!(output.fd().is_none());
    }
}
