//! [`Input`]: recognises a file by its first bytes, and gives text of any encoding as UTF-8.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use super::findings::Form;

/// How many bytes are enough to recognise an input.
const HEAD: usize = 4096;

/// A recognised input, readable from its first byte.
pub enum Input<'a> {
    /// Text, converted to UTF-8.
    Text(Box<dyn Read + 'a>),
    /// A pickled memory snapshot of PyTorch.
    Snapshot(Box<dyn Read + 'a>),
    /// A Plimsoll record: JSON.
    Record(Box<dyn Read + 'a>),
}

impl<'a> Input<'a> {
    /// Recognises the kind of `reader`: text in UTF-8 or UTF-16, a snapshot or a record, plain or gzipped.
    ///
    /// # Errors
    /// If the first bytes cannot be read.
    pub fn recognise(reader: impl Read + 'a) -> io::Result<Self> {
        let (head, reader) = peek(reader)?;
        if head.starts_with(b"\x1f\x8b") {
            let (head, reader) = peek(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, reader)))?;
            return Ok(Self::plain(&head, reader));
        }
        Ok(Self::plain(&head, reader))
    }

    fn plain(head: &[u8], reader: impl Read + 'a) -> Self {
        match (form(head), head) {
            (Form::Snapshot, _) => Self::Snapshot(Box::new(reader)),
            (Form::Record, _) => Self::Record(Box::new(reader)),
            (Form::Text, [0xff, 0xfe, ..]) => Self::Text(Box::new(Utf16::new(reader, u16::from_le_bytes))),
            (Form::Text, [0xfe, 0xff, ..]) => Self::Text(Box::new(Utf16::new(reader, u16::from_be_bytes))),
            (Form::Text, _) => Self::Text(Box::new(reader)),
        }
    }

    /// The kind of the input.
    pub fn form(&self) -> Form {
        match self {
            Self::Text(_) => Form::Text,
            Self::Snapshot(_) => Form::Snapshot,
            Self::Record(_) => Form::Record,
        }
    }
}

/// Recognises the kind of an input by its first bytes.
fn form(head: &[u8]) -> Form {
    // A pickle of protocol 2 to 5 begins with its protocol number, followed by a frame, a list or a dictionary.
    if let [0x80, 2..=5, 0x95 | b']' | b'}' | b'(', ..] = head {
        return Form::Snapshot;
    }
    let json = head.trim_ascii_start().starts_with(b"{");
    let record = memchr::memmem::find(head, b"\"plimsoll.record/").is_some();
    if json && record { Form::Record } else { Form::Text }
}

/// A reader with its first bytes put back.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// The first bytes of `reader`, and a reader that begins with them.
fn peek<R: Read>(mut reader: R) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut head = Vec::with_capacity(HEAD);
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

/// UTF-16 as UTF-8; anything that is not a character becomes U+FFFD.
struct Utf16<R> {
    reader: BufReader<R>,
    unit: fn([u8; 2]) -> u16,
    /// UTF-8 that has not been requested yet.
    ready: Cursor<Vec<u8>>,
    /// The first half of a surrogate pair at the end of the last piece.
    high: Option<u16>,
}

impl<R: Read> Utf16<R> {
    fn new(reader: R, unit: fn([u8; 2]) -> u16) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, reader), unit, ready: Cursor::default(), high: None }
    }

    /// Converts the next piece to UTF-8; `ready` stays empty at the end.
    fn refill(&mut self) -> io::Result<()> {
        let mut units: Vec<u16> = self.high.take().into_iter().collect();
        let bytes = self.reader.fill_buf()?;
        let whole = bytes.len() / 2 * 2;
        units.extend(bytes[..whole].chunks_exact(2).map(|pair| (self.unit)([pair[0], pair[1]])));
        let ended = bytes.is_empty();
        self.reader.consume(whole);
        if whole == 0 && !ended {
            // A single byte: its other half is the first byte of the next piece, or missing.
            let mut pair = [0; 2];
            let got = self.reader.by_ref().take(2).read(&mut pair)?;
            if got == 1 && self.reader.read(&mut pair[1..])? == 1 {
                units.push((self.unit)(pair));
            }
        }
        if !ended && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            self.high = units.pop();
        }
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        self.ready = Cursor::new(text.into_bytes());
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.ready.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            if self.reader.fill_buf()?.is_empty() && self.high.is_none() {
                return Ok(0);
            }
            self.refill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        let Input::Text(mut reader) = Input::recognise(bytes).unwrap() else { panic!("not recognised as text") };
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn inputs_are_what_their_first_bytes_say() {
        for (bytes, expected) in [
            (&b""[..], Form::Text),
            (b"CUDA out of memory", Form::Text),
            (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", Form::Snapshot),
            (b"\x80\x02}q\0.", Form::Snapshot),
            (b"{ \"schema\": \"plimsoll.record/1\" }", Form::Record),
            (b"{ \"schema\": \"other/1\" }", Form::Text),
            (b"\x80 is no pickle", Form::Text),
        ] {
            assert_eq!(Input::recognise(bytes).unwrap().form(), expected, "{bytes:?}");
            let zipped = gzip(bytes);
            assert_eq!(Input::recognise(&zipped[..]).unwrap().form(), expected, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn text_is_the_same_in_every_encoding(content in "\\PC{0,200}") {
            prop_assume!(form(content.as_bytes()) == Form::Text);
            let units = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
                content.encode_utf16().flat_map(order).collect()
            };
            let little = [&[0xff, 0xfe][..], &units(u16::to_le_bytes)].concat();
            let big = [&[0xfe, 0xff][..], &units(u16::to_be_bytes)].concat();
            for bytes in [little, big] {
                let read = text(&bytes);
                prop_assert_eq!(read.trim_start_matches('\u{feff}'), content.trim_start_matches('\u{feff}'));
                prop_assert_eq!(text(&gzip(&bytes)), text(&bytes));
            }
        }

        #[test]
        fn any_bytes_are_read_to_their_end(bytes: Vec<u8>) {
            if let Ok(Input::Text(mut reader)) = Input::recognise(&bytes[..]) {
                let _ = reader.read_to_end(&mut Vec::new());
            }
        }
    }
}
