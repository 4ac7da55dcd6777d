//! Writes values.

use std::collections::HashMap;

use serde::ser::{self, Serialize};

use super::{BinaryError, SHORT, tag};

/// The bytes of `value`.
///
/// # Errors
/// If `value` cannot be written: it has a number beyond 64 bits, or refuses itself.
pub(in super::super) fn to_vec(value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, BinaryError> {
    let mut writer = Writer::default();
    value.serialize(&mut writer)?;
    Ok(writer.bytes)
}

/// A list of `names`, twice.
#[cfg(test)]
pub(super) fn names(names: &[&'static str]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes.push(tag::LIST);
    names.iter().chain(names).for_each(|name| writer.name(name));
    writer.bytes.push(tag::END);
    writer.bytes
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    /// The number of each name. The same name at another address is another name: only speed depends on it.
    names: HashMap<(*const u8, usize), usize>,
}

impl Writer {
    fn length(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn text(&mut self, tag: u8, text: &str) {
        self.bytes.push(tag);
        self.length(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn name(&mut self, name: &'static str) {
        let next = self.names.len();
        match *self.names.entry((name.as_ptr(), name.len())).or_insert(next) {
            number if number == next => self.text(tag::NEW_NAME, name),
            number if number < SHORT => self.bytes.push(tag::NAMES + number as u8),
            number => {
                self.bytes.push(u8::MAX);
                self.length(number as u64);
            }
        }
    }

    fn unsigned(&mut self, number: u64) {
        self.bytes.push(tag::UNSIGNED);
        self.length(number);
    }

    fn signed(&mut self, number: i64) {
        match u64::try_from(number) {
            Ok(number) => self.unsigned(number),
            Err(_) => {
                self.bytes.push(tag::NEGATIVE);
                self.length(!number as u64);
            }
        }
    }
}

impl<'w> ser::Serializer for &'w mut Writer {
    type Ok = ();
    type Error = BinaryError;
    type SerializeSeq = Inside<'w>;
    type SerializeTuple = Inside<'w>;
    type SerializeTupleStruct = Inside<'w>;
    type SerializeTupleVariant = Inside<'w>;
    type SerializeMap = Inside<'w>;
    type SerializeStruct = Inside<'w>;
    type SerializeStructVariant = Inside<'w>;

    fn serialize_bool(self, value: bool) -> Result<(), BinaryError> {
        self.bytes.push(if value { tag::TRUE } else { tag::FALSE });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), BinaryError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), BinaryError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), BinaryError> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), BinaryError> {
        self.signed(value);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), BinaryError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), BinaryError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), BinaryError> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), BinaryError> {
        self.unsigned(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), BinaryError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), BinaryError> {
        self.bytes.push(tag::FLOAT);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), BinaryError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), BinaryError> {
        self.text(tag::TEXT, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), BinaryError> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), BinaryError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), BinaryError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), BinaryError> {
        self.bytes.push(tag::NONE);
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), BinaryError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), BinaryError> {
        self.name(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), BinaryError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), BinaryError> {
        self.bytes.push(tag::MAP);
        self.name(variant);
        value.serialize(&mut *self)?;
        self.bytes.push(tag::END);
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Inside<'w>, BinaryError> {
        self.bytes.push(tag::LIST);
        Ok(Inside { writer: self, ends: 1 })
    }

    fn serialize_tuple(self, len: usize) -> Result<Inside<'w>, BinaryError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Inside<'w>, BinaryError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Inside<'w>, BinaryError> {
        self.bytes.push(tag::MAP);
        self.name(variant);
        self.bytes.push(tag::LIST);
        Ok(Inside { writer: self, ends: 2 })
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Inside<'w>, BinaryError> {
        self.bytes.push(tag::MAP);
        Ok(Inside { writer: self, ends: 1 })
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Inside<'w>, BinaryError> {
        self.serialize_map(Some(len))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Inside<'w>, BinaryError> {
        self.bytes.push(tag::MAP);
        self.name(variant);
        self.bytes.push(tag::MAP);
        Ok(Inside { writer: self, ends: 2 })
    }
}

/// The inside of a list or a map, or of one in the map of a variant.
struct Inside<'w> {
    writer: &'w mut Writer,
    /// How many of them end together.
    ends: usize,
}

impl Inside<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), BinaryError> {
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), BinaryError> {
        self.writer.name(name);
        self.value(value)
    }

    fn close(self) {
        self.writer.bytes.extend(std::iter::repeat_n(tag::END, self.ends));
    }
}

/// Implements a trait for lists: `$add` adds an item.
macro_rules! list {
    ($($trait:ident $add:ident),*) => {$(
        impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = BinaryError;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), BinaryError> {
                self.value(value)
            }

            fn end(self) -> Result<(), BinaryError> {
                self.close();
                Ok(())
            }
        }
    )*};
}

list!(SerializeSeq serialize_element, SerializeTuple serialize_element);
list!(SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field);

/// Implements a trait for structures.
macro_rules! structure {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Inside<'_> {
            type Ok = ();
            type Error = BinaryError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), BinaryError> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), BinaryError> {
                self.close();
                Ok(())
            }
        }
    )*};
}

structure!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = BinaryError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), BinaryError> {
        self.value(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), BinaryError> {
        self.value(value)
    }

    fn end(self) -> Result<(), BinaryError> {
        self.close();
        Ok(())
    }
}
