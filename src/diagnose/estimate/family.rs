//! [`Family`]: model families of which was measured what their layers keep for the backward pass.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// By family, precision and attention. `tests/python/activation_bytes.py` measures and writes it.
type Table = BTreeMap<String, BTreeMap<String, BTreeMap<String, Kept>>>;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("config/families/activations.json")).unwrap_or_default());

/// A family of decoders whose activations were measured; its `model_type` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family(&'static str);

impl Family {
    /// The family with this `model_type`; `None` if its activations were not measured.
    pub fn named(model_type: &str) -> Option<Self> {
        TABLE.get_key_value(model_type).map(|(name, _)| Self(name))
    }

    /// All families that were measured.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.keys().map(|name| Self(name))
    }

    /// What it keeps if its layers compute this way, by the attention.
    pub(super) fn ways(self, computed: &str) -> Option<&'static BTreeMap<String, Kept>> {
        TABLE.get(self.0)?.get(computed)
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// The family of a document; none if this version does not know it.
pub(super) fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Family>, D::Error> {
    Ok(Option::<Cow<'de, str>>::deserialize(deserializer)?.and_then(|name| Family::named(&name)))
}

impl JsonSchema for Family {
    fn schema_name() -> Cow<'static, str> {
        "Family".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// What is kept for a token.
#[derive(Debug, Deserialize)]
pub(super) struct Kept {
    /// By a layer.
    pub(super) layer: Widths,
    /// By a layer that is computed again in the backward pass.
    pub(super) checkpoint: Widths,
    /// Outside of the layers: embedding, last norm, output layer, loss.
    pub(super) outside: Widths,
}

/// Bytes for a token, by the width that they are multiplied with.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Widths {
    pub(super) h: f64,
    pub(super) ffn: f64,
    pub(super) q: f64,
    pub(super) kv: f64,
    /// The width of a layer once for each expert of a token.
    pub(super) kh: f64,
    pub(super) v: f64,
    /// The mask of a sequence.
    pub(super) s: f64,
    #[serde(rename = "as")]
    pub(super) scores: f64,
}
