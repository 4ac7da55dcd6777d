//! The layout of a record file: objects with one field per line, arrays of numbers and texts on one line.
//!
//! Records are read by people and kept in version control: one sample per line would hide the rest.

use std::io::{self, BufReader, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{Formatter, Serializer};

use plimsoll_memory::bytes::ByteSize;

/// Writes `value` and a line feed.
pub(crate) fn write(writer: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serialize(writer, value, Layout::within(0))?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// The text of `value`, indented for this many enclosing objects.
pub(crate) fn within(depth: usize, value: &impl Serialize) -> Vec<u8> {
    text(value, Layout::within(depth))
}

/// The text of `value` on one line, for programs: shorter and sooner read than [`within`].
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    text(value, Layout::LINE)
}

/// Writes what [`line`] returns.
#[cfg(feature = "history")]
pub(crate) fn write_line(writer: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serialize(writer, value, Layout::LINE)?;
    writer.flush()
}

fn text(value: &impl Serialize, layout: Layout) -> Vec<u8> {
    let mut text = Vec::new();
    serialize(&mut text, value, layout).expect("records have text keys alone");
    text
}

/// The bytes that [`write()`] writes.
pub(super) fn length(value: &impl Serialize) -> ByteSize {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    write(&mut count, value).expect("counting does not fail, and records have text keys alone");
    ByteSize::new(count.0)
}

/// Reads JSON, from one type of reader: what reads the many types of a record is compiled for each type anew.
pub(crate) fn read<T: DeserializeOwned>(reader: Box<dyn Read + '_>) -> serde_json::Result<T> {
    serde_json::from_reader(BufReader::with_capacity(1 << 16, reader))
}

/// Into one type of writer: what serializes the many types of a record is compiled for each type anew.
fn serialize(writer: &mut dyn io::Write, value: &impl Serialize, layout: Layout) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(writer, layout))
}

struct Layout {
    /// The number of enclosing objects; `None` if all is on one line.
    depth: Option<usize>,
    empty: bool,
}

impl Layout {
    const LINE: Self = Self { depth: None, empty: false };

    fn within(depth: usize) -> Self {
        Self { depth: Some(depth), empty: false }
    }

    fn new_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        const INDENTED: &[u8] = b"\n                                                                ";
        let Some(depth) = self.depth else { return Ok(()) };
        let spaces = 2 * depth;
        let at_once = spaces.min(INDENTED.len() - 1);
        writer.write_all(&INDENTED[..=at_once])?;
        (at_once..spaces).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for Layout {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (first, self.depth) {
            (true, _) => Ok(()),
            (false, Some(_)) => writer.write_all(b", "),
            (false, None) => writer.write_all(b","),
        }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth + 1);
        self.empty = true;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.new_line(writer)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.depth.is_some() { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth - 1);
        if !self.empty {
            self.new_line(writer)?;
        }
        writer.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn objects_take_a_line_a_field_and_arrays_one_line() {
        let value = json!({ "a": [1, 2.5, "x"], "b": {}, "c": [{ "d": null }, { "e": [] }] });
        let mut text = Vec::new();
        super::write(&mut text, &value).unwrap();
        assert_eq!(super::length(&value).bytes(), text.len() as u64);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text,
            "{\n  \"a\": [1, 2.5, \"x\"],\n  \"b\": {},\n  \"c\": [{\n    \"d\": null\n  }, {\n    \"e\": []\n  }]\n}\n"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(super::line(&value), serde_json::to_vec(&value).unwrap());
        let deep = (0..40).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert!(
            String::from_utf8(super::within(1, &deep)).unwrap().contains(&format!("\n{}\"a\": 1\n", " ".repeat(82)))
        );
    }
}
