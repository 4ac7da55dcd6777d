//! [`Document`]: a JSON document that Plimsoll writes, and its JSON Schema.

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

/// A JSON document that Plimsoll writes.
///
/// ```
/// use plimsoll_memory::schema::Document;
///
/// #[derive(schemars::JsonSchema)]
/// struct Levels {
///     litres: u64,
/// }
///
/// impl Document for Levels {
///     const NAME: &'static str = "example.levels/1";
///     const TITLE: &'static str = "What is in the tanks";
/// }
///
/// assert_eq!(Levels::document_schema()["title"], "What is in the tanks");
/// ```
pub trait Document: JsonSchema {
    /// Name and version, such as `plimsoll.record/1`.
    const NAME: &'static str;

    /// What the document is, in a few words.
    const TITLE: &'static str;

    /// The JSON Schema (draft 2020-12) of the document.
    fn document_schema() -> Value
    where
        Self: Sized,
    {
        let mut schema = schema_for!(Self);
        schema.insert("title".to_owned(), Self::TITLE.into());
        schema.to_value()
    }
}
