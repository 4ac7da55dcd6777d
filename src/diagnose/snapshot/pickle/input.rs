//! The bytes of a pickle, read forward in pieces, with their positions.

use std::io::Read;

use super::Fault;
use crate::snapshot::error::InvalidSnapshot;

/// The size of the buffer in bytes.
const BUFFER: usize = 1 << 18;

/// How many bytes of a text are kept; longer texts are cut.
pub(super) const TEXT_LIMIT: usize = 1 << 10;

pub(super) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    /// The position of the buffer's first byte in the file.
    base: u64,
    /// The beginning of the last text that was cut.
    long: Vec<u8>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; BUFFER].into_boxed_slice(), at: 0, end: 0, base: 0, long: Vec::new() }
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Fills the buffer with `count` contiguous bytes, at most its size.
    #[cold]
    fn fill(&mut self, count: usize) -> Result<(), Fault> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while self.end < count {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(InvalidSnapshot::Truncated.into()),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Read(error)),
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        if self.end - self.at < N {
            self.fill(N)?;
        }
        let bytes = self.buffer[self.at..self.at + N].try_into().expect("a slice of N bytes");
        self.at += N;
        Ok(bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    /// A text of `length` bytes: its first [`TEXT_LIMIT`].
    pub(super) fn text(&mut self, length: u64) -> Result<&[u8], Fault> {
        let kept = length.min(TEXT_LIMIT as u64) as usize;
        if self.end - self.at < kept {
            self.fill(kept)?;
        }
        if length > kept as u64 {
            // The part that is cut off may be longer than the buffer, so the beginning is copied first.
            self.long.clear();
            self.long.extend_from_slice(&self.buffer[self.at..self.at + kept]);
            self.skip(length)?;
            return Ok(&self.long);
        }
        self.at += kept;
        Ok(&self.buffer[self.at - kept..self.at])
    }

    /// Skips `count` bytes.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<(), Fault> {
        loop {
            let here = count.min((self.end - self.at) as u64);
            self.at += here as usize;
            count -= here;
            if count == 0 {
                return Ok(());
            }
            self.fill(1)?;
        }
    }

    /// The bytes up to the next line break, which is consumed too: the names of GLOBAL.
    pub(super) fn line(&mut self) -> Result<String, Fault> {
        let mut line = Vec::new();
        loop {
            match self.u8()? {
                b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
                byte if line.len() < 128 => line.push(byte),
                _ => {}
            }
        }
    }
}
