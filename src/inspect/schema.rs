//! The JSON Schema of the document, as `plimsoll schema inspect` prints it and `docs/schema/` keeps it.

use super::document::Inspection;

/// The JSON Schema (draft 2020-12) of what `plimsoll inspect --json` prints.
pub fn inspection() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Inspection);
    schema.insert("title".to_owned(), "What is inside files of torch.save".into());
    schema.to_value()
}
