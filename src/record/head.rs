//! [`schema`]: distinguishes a record from other JSON.

use std::fmt;
use std::io::Read;

use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The text `schema` of a JSON document; `None` if there is none. Only the beginning is read: `schema` is the first
/// field of every document that this program writes.
///
/// # Errors
/// The text is not JSON, or cannot be read.
pub fn schema(reader: impl Read) -> Result<Option<String>, serde_json::Error> {
    let mut found = None;
    let mut json = serde_json::Deserializer::from_reader(reader);
    let read = json.deserialize_any(Head(&mut found)).and_then(|()| json.end());
    match found {
        // The reader stopped in the middle of the document.
        Some(schema) => Ok(Some(schema)),
        None => read.map(|()| None),
    }
}

struct Head<'a>(&'a mut Option<String>);

impl<'de> Visitor<'de> for Head<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key != "schema" {
                map.next_value::<IgnoredAny>()?;
            } else if let serde_json::Value::String(schema) = map.next_value()? {
                *self.0 = Some(schema);
                return Err(A::Error::custom("the rest is not needed"));
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_found_wherever_it_stands_and_no_more_is_read() {
        let of = |text: &str| schema(text.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(of("{\"schema\": \"a/1\", \"rest\": [").unwrap().as_deref(), Some("a/1"));
        assert_eq!(of("{\"x\": {\"schema\": 1}, \"schema\": \"b\"}").unwrap().as_deref(), Some("b"));
        for none in ["{}", "[{\"schema\": \"a\"}]", "{\"schema\": 3}", "null", "true", "-1", "1.5", "\"schema\""] {
            assert_eq!(of(none).unwrap(), None, "{none}");
        }
        for wrong in ["", "{", "{\"x\": 1", "[1,", "{}x", "{\"schema\": 1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
