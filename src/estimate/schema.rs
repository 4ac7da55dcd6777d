//! The JSON Schema of the document, as `plimsoll schema estimate` prints it and `docs/schema/` keeps it.

use super::document::Report;

/// The JSON Schema (draft 2020-12) of what `plimsoll estimate --json` prints.
pub fn estimate() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Report);
    schema.insert("title".to_owned(), "What training a model should cost".into());
    schema.to_value()
}
