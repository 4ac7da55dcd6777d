//! The layout of a record file: objects with one field per line, arrays of numbers and texts on one line.
//!
//! Records are read by people and kept in version control: one sample per line would hide the rest.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use plimsoll_memory::bytes::ByteSize;

/// Writes `value` and a line feed.
pub(crate) fn write(writer: &mut dyn io::Write, value: &impl Serialize) -> io::Result<()> {
    serialize(writer, value, Layout::default())?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// The text of `value`, indented for this many enclosing objects.
pub(crate) fn within(depth: usize, value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    serialize(&mut text, value, Layout { depth, empty: false }).expect("records have text keys alone");
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

/// Into one type of writer: what serializes the many types of a record is compiled for each type anew.
fn serialize(writer: &mut dyn io::Write, value: &impl Serialize, layout: Layout) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(writer, layout))
}

#[derive(Default)]
struct Layout {
    depth: usize,
    empty: bool,
}

impl Layout {
    fn new_line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
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
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
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
    }
}
