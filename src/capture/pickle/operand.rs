//! The operands of opcodes, read from a pickle with every length checked.

use crate::error::PickleErrorKind;

/// A position in a pickle.
pub(super) struct Operands<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Operands<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The offset of the byte that is read next.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Bytes that have been read before.
    pub(super) fn slice(&self, start: usize, length: usize) -> &'a [u8] {
        &self.bytes[start..start + length]
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], PickleErrorKind> {
        let taken = self.bytes[self.at..].get(..length).ok_or(PickleErrorKind::Truncated)?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleErrorKind> {
        Ok(self.take(N)?.try_into().expect("as many bytes as asked for"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, PickleErrorKind> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, PickleErrorKind> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, PickleErrorKind> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, PickleErrorKind> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, PickleErrorKind> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, PickleErrorKind> {
        self.array().map(f64::from_be_bytes)
    }

    /// A length of eight bytes; a length beyond the pickle is refused here, whatever it counts.
    pub(super) fn length64(&mut self) -> Result<usize, PickleErrorKind> {
        let length = self.u64()?;
        if length > self.left() as u64 { Err(PickleErrorKind::Truncated) } else { Ok(length as usize) }
    }

    /// A line, without its newline.
    pub(super) fn line(&mut self) -> Result<&'a [u8], PickleErrorKind> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| b == b'\n').ok_or(PickleErrorKind::Truncated)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    /// A line that is ASCII text.
    pub(super) fn ascii_line(&mut self) -> Result<&'a str, PickleErrorKind> {
        let line = self.line()?;
        // Python strips whitespace around a number.
        let text = std::str::from_utf8(line).map_err(|_| PickleErrorKind::Operand("number"))?;
        Ok(text.trim())
    }
}
