//! Kernel files as bytes: read whole into a reused buffer, and parsed without allocation.

use std::io;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

use crate::bytes::{ByteSize, KIB};

/// The maximum size that is read; real files are far smaller.
const MAX_TEXT: usize = 4 << 20;

/// A file of /proc or /sys that stays open and is read repeatedly.
///
/// A file of `/proc/PID` belongs to that very process: once the process is gone its reads fail, even if the id is
/// reused.
#[derive(Debug)]
pub(crate) struct TextFile(OwnedFd);

impl TextFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path.as_ref(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// Reads the whole present text.
    pub(crate) fn read<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        if buffer.len() < 4096 {
            buffer.resize(4096, 0);
        }
        let mut length = 0;
        loop {
            if length == buffer.len() {
                if length >= MAX_TEXT {
                    break;
                }
                buffer.resize(length * 2, 0);
            }
            match rustix::io::pread(&self.0, &mut buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(&buffer[..length])
    }

    /// Reads a file that the kernel writes in one piece (`single_open`): a short read returns all of it, which saves
    /// the second call.
    pub(crate) fn read_single<'b>(&self, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
        if buffer.len() < 4096 {
            buffer.resize(4096, 0);
        }
        match rustix::io::pread(&self.0, &mut buffer[..], 0) {
            Ok(length) if length < buffer.len() => Ok(&buffer[..length]),
            _ => self.read(buffer),
        }
    }
}

/// The whole text of the file at `path`.
pub(crate) fn read_path<'b>(path: &str, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    TextFile::open(path)?.read(buffer)
}

/// The text of the file at `path`, which the kernel writes in one piece ([`TextFile::read_single`]).
pub(crate) fn read_single<'b>(path: &str, buffer: &'b mut Vec<u8>) -> io::Result<&'b [u8]> {
    TextFile::open(path)?.read_single(buffer)
}

/// The whole text of the file at `path`. The standard library would begin with 32 bytes, and read six times for a mount
/// table.
pub(crate) fn read_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let length = TextFile::open(path)?.read(&mut text)?.len();
    text.truncate(length);
    Ok(text)
}

/// The lines `key: value` (or `key value`) of a text, as trimmed bytes.
pub(crate) fn key_values(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|&b| b == b'\n').filter_map(|line| {
        let end = line.iter().position(|&b| b == b':' || b == b' ' || b == b'\t')?;
        Some((&line[..end], line[end + 1..].trim_ascii()))
    })
}

/// A decimal number at the start of `text`, followed by a blank or the end.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    let word = text.split(u8::is_ascii_whitespace).next()?;
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, &b| match b {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u64::from(b - b'0')),
        _ => None,
    })
}

/// An amount such as `1708 kB`: the kernel's kB are 1024 bytes.
pub(crate) fn kilobytes(text: &[u8]) -> Option<ByteSize> {
    text.ends_with(b"kB").then_some(())?;
    Some(ByteSize::new(number(text)?.checked_mul(KIB)?))
}

/// The decimal numbers in a text, in order; other words are skipped.
pub(crate) fn numbers(text: &[u8]) -> impl Iterator<Item = u64> {
    text.split(u8::is_ascii_whitespace).filter_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_decimal_and_bounded() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for text in [&b""[..], b" 1", b"18446744073709551616", b"-1", b"1x", b"max"] {
            assert_eq!(number(text), None, "{text:?}");
        }
        assert_eq!(numbers(b"12 x 34 \n").collect::<Vec<_>>(), [12, 34]);
    }

    #[test]
    fn kilobytes_need_their_unit() {
        assert_eq!(kilobytes(b"1708 kB"), Some(ByteSize::new(1708 * 1024)));
        assert_eq!(kilobytes(b"1708"), None);
        assert_eq!(kilobytes(b"18446744073709551615 kB"), None);
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..5000).map(|n| format!("{n} ")).collect();
        std::fs::write(file.path(), &text).unwrap();
        let open = TextFile::open(file.path().to_str().unwrap()).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(open.read(&mut buffer).unwrap(), text.as_bytes());
        assert_eq!(open.read_single(&mut Vec::new()).unwrap(), text.as_bytes());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..200)) {
            for (_, value) in key_values(&text) {
                let _ = kilobytes(value);
            }
            let _ = numbers(&text).count();
        }
    }
}
