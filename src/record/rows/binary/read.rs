//! Reads values.

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

use super::{BinaryError, tag};

/// The value that was written as `bytes`.
///
/// # Errors
/// If the bytes are those of another value, or of none.
pub(in super::super) fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, BinaryError> {
    let mut reader = Reader { rest: bytes, names: Vec::new() };
    T::deserialize(&mut reader)
}

struct Reader<'de> {
    rest: &'de [u8],
    names: Vec<&'de str>,
}

fn ended() -> BinaryError {
    BinaryError("the rows end within a value".to_owned())
}

impl<'de> Reader<'de> {
    fn byte(&mut self) -> Result<u8, BinaryError> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(ended)?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, bytes: usize) -> Result<&'de [u8], BinaryError> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(ended)?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<u64, BinaryError> {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
            if shift >= u64::BITS {
                return Err(BinaryError("a number beyond 64 bits".to_owned()));
            }
        }
    }

    fn text(&mut self) -> Result<&'de str, BinaryError> {
        let bytes = self.length()? as usize;
        std::str::from_utf8(self.take(bytes)?).map_err(|error| BinaryError(error.to_string()))
    }

    fn name(&mut self, number: usize) -> Result<&'de str, BinaryError> {
        self.names.get(number).copied().ok_or_else(|| BinaryError(format!("a name that was not written: {number}")))
    }

    /// Whether the list or map ends here; if so, goes on after it.
    fn ends(&mut self) -> Result<bool, BinaryError> {
        let ends = *self.rest.first().ok_or_else(ended)? == tag::END;
        if ends {
            self.rest = &self.rest[1..];
        }
        Ok(ends)
    }

    /// Goes on after the rest of a list or map whose visitor has stopped early.
    fn close(&mut self) -> Result<(), BinaryError> {
        while !self.ends()? {
            de::IgnoredAny::deserialize(&mut *self)?;
        }
        Ok(())
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = BinaryError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BinaryError> {
        match self.byte()? {
            tag::NONE => visitor.visit_unit(),
            tag::FALSE => visitor.visit_bool(false),
            tag::TRUE => visitor.visit_bool(true),
            tag::UNSIGNED => visitor.visit_u64(self.length()?),
            tag::NEGATIVE => visitor.visit_i64(!(self.length()? as i64)),
            tag::FLOAT => {
                let bytes = self.take(8)?.try_into().expect("eight bytes");
                visitor.visit_f64(f64::from_le_bytes(bytes))
            }
            tag::TEXT => visitor.visit_borrowed_str(self.text()?),
            tag::LIST => {
                let value = visitor.visit_seq(Items(&mut *self))?;
                self.close()?;
                Ok(value)
            }
            tag::MAP => {
                let value = visitor.visit_map(Items(&mut *self))?;
                self.close()?;
                Ok(value)
            }
            tag::END => Err(BinaryError("a value is missing".to_owned())),
            tag::NEW_NAME => {
                let name = self.text()?;
                self.names.push(name);
                visitor.visit_borrowed_str(name)
            }
            u8::MAX => {
                let number = self.length()? as usize;
                visitor.visit_borrowed_str(self.name(number)?)
            }
            short => visitor.visit_borrowed_str(self.name(usize::from(short - tag::NAMES))?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BinaryError> {
        if self.rest.first() == Some(&tag::NONE) {
            self.rest = &self.rest[1..];
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, BinaryError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, BinaryError> {
        if self.rest.first() != Some(&tag::MAP) {
            // A variant without content is its name.
            let name = <&str>::deserialize(self)?;
            return visitor.visit_enum(name.into_deserializer());
        }
        self.rest = &self.rest[1..];
        let value = visitor.visit_enum(Items(&mut *self))?;
        self.close()?;
        Ok(value)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The items of a list, of a map, or the content of a variant.
struct Items<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::SeqAccess<'de> for Items<'_, 'de> {
    type Error = BinaryError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, BinaryError> {
        // The end is left for whoever began the list.
        if self.0.rest.first() == Some(&tag::END) {
            return Ok(None);
        }
        seed.deserialize(&mut *self.0).map(Some)
    }
}

impl<'de> de::MapAccess<'de> for Items<'_, 'de> {
    type Error = BinaryError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, BinaryError> {
        de::SeqAccess::next_element_seed(self, seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, BinaryError> {
        seed.deserialize(&mut *self.0)
    }
}

impl<'de> de::EnumAccess<'de> for Items<'_, 'de> {
    type Error = BinaryError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), BinaryError> {
        Ok((seed.deserialize(&mut *self.0)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Items<'_, 'de> {
    type Error = BinaryError;

    fn unit_variant(self) -> Result<(), BinaryError> {
        de::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, BinaryError> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, BinaryError> {
        de::Deserializer::deserialize_any(self.0, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, BinaryError> {
        de::Deserializer::deserialize_any(self.0, visitor)
    }
}
