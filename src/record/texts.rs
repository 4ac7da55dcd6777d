//! [`Texts`]: reads a JSON document and refuses texts longer than those of a record.

use std::fmt;
use std::io::{self, Read};

use plimsoll_memory::bytes::ByteSize;

/// The longest text of a record. The longest that is written is the end of a command's output, 64 KiB.
pub const LONGEST_TEXT: ByteSize = ByteSize::mib(1);

/// A text is longer than [`LONGEST_TEXT`].
#[derive(Debug)]
pub struct LongText;

impl fmt::Display for LongText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text in it is longer than {LONGEST_TEXT}")
    }
}

impl std::error::Error for LongText {}

/// A reader that stops at a text that is too long.
#[derive(Debug)]
pub struct Texts<R> {
    inner: R,
    within: bool,
    escaped: bool,
    length: u64,
}

impl<R> Texts<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, within: false, escaped: false, length: 0 }
    }

    /// Whether `bytes`, which come next, are acceptable.
    fn pass(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            if !self.within {
                (self.within, self.length) = (byte == b'"', 0);
                continue;
            }
            self.length += 1;
            if self.length > LONGEST_TEXT.bytes() {
                return false;
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.within = false,
                _ => {}
            }
        }
        true
    }
}

impl<R: Read> Read for Texts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if self.pass(&buffer[..count]) { Ok(count) } else { Err(io::Error::other(LongText)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the bytes that are read.
    struct Endless<'a>(&'a mut u64);

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer.fill(b'x');
            *self.0 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }

    #[test]
    fn a_text_is_as_long_as_its_quotes_are_apart() {
        let longest = LONGEST_TEXT.bytes() as usize;
        let passes = |text: &str| io::copy(&mut Texts::new(text.as_bytes()), &mut io::sink()).is_ok();
        assert!(passes(&format!("[\"{}\", \"{}\"]", "x".repeat(longest - 1), "\\\"".repeat(longest / 2 - 1))));
        assert!(!passes(&format!("[\"{}\"]", "x".repeat(longest))));
        assert!(!passes(&format!("[\"{}\"]", "\\\"".repeat(longest / 2))));
        assert!(passes(&" ".repeat(2 * longest)) && passes(&"\"\\\\\",".repeat(longest)));
    }

    #[test]
    fn no_more_is_read_than_the_longest_text() {
        let mut taken = 0;
        let mut text = Texts::new(b"{\"a\": \"".chain(Endless(&mut taken)));
        let error = text.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.get_ref().is_some_and(|error| error.is::<LongText>()), "{error}");
        assert!(taken < 8 * LONGEST_TEXT.bytes(), "{taken}");
    }
}
