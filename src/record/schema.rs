//! JSON Schemas of the documents, as `plimsoll schema` prints them and `docs/schema/` keeps them.

use super::document::Record;

/// The JSON Schema (draft 2020-12) of a record.
pub fn record() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Record);
    schema.insert("title".to_owned(), "A record of plimsoll".into());
    schema.to_value()
}
