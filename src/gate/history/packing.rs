//! A record as a history keeps it: JSON, compressed by zstd. Its text is never in memory.

use std::io::{self, BufWriter, Read as _, Write};

use super::defence::{MAX_PACKED, MAX_TEXT, WINDOW_LOG};
use crate::record::{Record, Texts, json};

/// Packs a record, if it is not too large for a history.
pub(super) fn packed(record: &Record) -> Option<Vec<u8>> {
    let mut packed = zstd::Encoder::new(Vec::new(), 3).expect("the level is valid");
    let mut text = BufWriter::with_capacity(1 << 16, Bounded { inner: &mut packed, left: MAX_TEXT.bytes() });
    json::write_line(&mut text, record).ok()?;
    drop(text);
    let packed = packed.finish().expect("memory takes what is written to it");
    (packed.len() as u64 <= MAX_PACKED.bytes()).then_some(packed)
}

/// Reads a packed record.
pub(super) fn unpacked(packed: &[u8]) -> Result<Record, String> {
    let mut decoder = zstd::Decoder::with_buffer(packed).map_err(|error| error.to_string())?;
    decoder.window_log_max(WINDOW_LOG).map_err(|error| error.to_string())?;
    let mut text = Texts::new(decoder.take(MAX_TEXT.bytes() + 1));
    let read = json::read::<Record>(Box::new(&mut text));
    if text.into_inner().limit() == 0 {
        return Err(format!("it has more than {MAX_TEXT}"));
    }
    let record = read.map_err(|error| error.to_string())?;
    record.check().map_err(|error| error.to_string())?;
    Ok(record)
}

/// A writer that fails after a number of bytes.
struct Bounded<W> {
    inner: W,
    left: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn a_record_is_packed_whole_or_not_at_all() {
        let mut record = sample::command();
        assert_eq!(unpacked(&packed(&record).unwrap()).unwrap(), record);
        record.command = vec!["\u{1}".repeat(1 << 20); MAX_TEXT.bytes() as usize / (6 << 20) + 1];
        assert!(packed(&record).is_none());
        let mut exact = Bounded { inner: Vec::new(), left: 5 };
        exact.write_all(b"12345").unwrap();
        assert!(exact.write_all(b"6").is_err() && exact.inner == b"12345");
    }

    #[test]
    fn a_record_is_packed_without_the_spaces_of_its_file() {
        let record = sample::command();
        let text = zstd::decode_all(&*packed(&record).unwrap()).unwrap();
        assert_eq!(text, serde_json::to_vec(&record).unwrap());
    }

    #[test]
    fn a_text_of_any_length_is_refused_in_little_memory() {
        let text = serde_json::to_string(&sample::command()).unwrap();
        let packed = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
        assert!(unpacked(&packed(&format!("{text}{}", " ".repeat(1 << 20)))).is_ok());
        let spaces = " ".repeat(MAX_TEXT.bytes() as usize);
        assert!(unpacked(&packed(&format!("{text}{spaces}"))).unwrap_err().contains("more than 64.00 MiB"));
        let long = text.replacen('{', &format!("{{\"x\": \"{}\", ", "x".repeat(2 << 20)), 1);
        assert!(unpacked(&packed(&long)).unwrap_err().contains("a text in it is longer"));
    }
}
