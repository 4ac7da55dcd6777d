//! [`Texts`]: reads a JSON document and refuses texts longer than those of a record.

use std::fmt;
use std::io::{self, Read};

use plimsoll_memory::bytes::ByteSize;

/// The longest text of a record. The longest that is written is the end of a command's output, 64 KiB.
pub const LONGEST_TEXT: ByteSize = ByteSize::mib(1);

/// The most that all texts of a record take together, without those in its rows: they stay in memory. Texts of up to
/// [`SHORT`] bytes do not count, the number of which is bounded by the lists that they are in.
pub const ALL_TEXTS: ByteSize = ByteSize::mib(16);

/// The length up to which a text does not count.
const SHORT: u64 = 256;

/// The fields with a row for every entry of a capture. They are packed as they are read.
const ROWS: [&[u8]; 2] = [b"entries", b"pairs"];

/// The length of the longest of their names.
const NAME: usize = 7;

/// The texts of a document are longer than a record's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongText {
    /// A text is longer than 1 MiB.
    One,
    /// All texts together are longer than 16 MiB, without those in rows of entries and those of up to 256 bytes.
    All,
}

impl fmt::Display for LongText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => write!(f, "a text in it is longer than {LONGEST_TEXT}"),
            Self::All => write!(f, "its texts are longer than {ALL_TEXTS} in all"),
        }
    }
}

impl std::error::Error for LongText {}

/// A reader that stops at texts that are too long.
#[derive(Debug)]
pub struct Texts<R> {
    inner: R,
    within: bool,
    escaped: bool,
    length: u64,
    /// The bytes of all long texts up to here, without those in rows.
    sum: u64,
    /// The first bytes of the last text, and whether it is the name of the field whose value comes next.
    last: [u8; NAME],
    named: bool,
    /// The number of objects and lists that are open.
    depth: u64,
    /// The depth of the rows that are open.
    rows: Option<u64>,
}

impl<R> Texts<R> {
    pub fn new(inner: R) -> Self {
        let (last, sum, depth) = ([0; NAME], 0, 0);
        Self { inner, within: false, escaped: false, length: 0, sum, last, named: false, depth, rows: None }
    }

    /// The inner reader.
    #[cfg(feature = "history")]
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Reads over `bytes`, which come next.
    fn pass(&mut self, bytes: &[u8]) -> Result<(), LongText> {
        for &byte in bytes {
            if !self.within {
                self.between(byte);
                continue;
            }
            self.length += 1;
            if self.length > LONGEST_TEXT.bytes() {
                return Err(LongText::One);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.within = false;
                    if self.length > SHORT && self.rows.is_none() {
                        self.sum += self.length;
                    }
                    if self.sum > ALL_TEXTS.bytes() {
                        return Err(LongText::All);
                    }
                    continue;
                }
                _ => {}
            }
            if let Some(kept) = self.last.get_mut(self.length as usize - 1) {
                *kept = byte;
            }
        }
        Ok(())
    }

    /// Follows the structure by a byte outside texts.
    fn between(&mut self, byte: u8) {
        match byte {
            b'"' => (self.within, self.length, self.named) = (true, 0, false),
            b':' => self.named = true,
            b'[' | b'{' => {
                self.depth += 1;
                // The length counts the closing quotation mark.
                let name = self.last.get(..(self.length as usize).saturating_sub(1)).unwrap_or_default();
                if byte == b'[' && self.named && self.rows.is_none() && ROWS.contains(&name) {
                    self.rows = Some(self.depth);
                }
                self.named = false;
            }
            b']' | b'}' => {
                self.rows = self.rows.filter(|rows| *rows < self.depth);
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.named = false,
            _ => {}
        }
    }
}

impl<R: Read> Read for Texts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.pass(&buffer[..count]).map(|()| count).map_err(io::Error::other)
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
    fn all_texts_but_those_of_rows_have_a_sum() {
        let found = |text: &str| {
            let error = io::copy(&mut Texts::new(text.as_bytes()), &mut io::sink()).err()?;
            error.downcast::<LongText>().ok()
        };
        let list = |count: usize| vec![format!("\"{}\"", "x".repeat(999)); count].join(", ");
        let whole = ALL_TEXTS.bytes() as usize / 1000;
        for (before, after) in [("[", "]"), ("{\"entries\": {\"a\": [", "]}}"), ("{\"entry\": [", "]}")] {
            assert_eq!(found(&format!("{before}{}{after}", list(whole))), None);
            assert_eq!(found(&format!("{before}{}{after}", list(whole + 1))), Some(LongText::All), "{before}");
        }
        let keys: Vec<String> = (0..=whole).map(|key| format!("\"{key:0999}\": 1")).collect();
        assert_eq!(found(&format!("{{{}}}", keys.join(","))), Some(LongText::All));
        for rows in ["entries", "pairs"] {
            let text = format!("{{\"{rows}\": [{{\"a\": [1]}}, {}], \"b\": [{}]}}", list(2 * whole), list(whole));
            assert_eq!(found(&text), None);
            let more = format!("{{\"a\": {text}, \"b\": \"{}\"}}", "x".repeat(999));
            assert_eq!(found(&more), Some(LongText::All));
        }
        assert_eq!(found(&format!("[{}]", vec!["\"entries\""; 1 << 20].join(", "))), None);
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
