//! [`Dims`]: the dimensions of a configuration, with the defaults of its family's class in transformers.

use std::cell::Cell;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::estimate::config::fields::Fields;
use crate::estimate::error::EstimateError;

/// The largest dimension: larger ones are not a model, and products of three stay within 128 bits.
const LARGEST: u64 = 1 << 32;

/// The most layers whose kinds may be listed individually.
const MOST_LAYERS: u128 = 1 << 16;

/// Defaults of the configuration classes of transformers; `tests/python/parameter_counts.py` writes them.
static DEFAULTS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("defaults.json")).unwrap_or_default());

/// Whether the defaults of `family` are known.
pub(super) fn is_known(family: &str) -> bool {
    DEFAULTS.contains_key(family)
}

/// The dimensions of a model or of one of its parts.
pub(super) struct Dims<'a> {
    pub(super) fields: Fields<'a>,
    pub(super) family: &'a str,
    defaults: Option<&'static Value>,
    wrong: Cell<Option<EstimateError>>,
}

impl<'a> Dims<'a> {
    /// The dimensions in `fields`, of a model of `family`.
    pub(super) fn new(fields: Fields<'a>, family: &'a str) -> Self {
        Self { fields, family, defaults: DEFAULTS.get(family), wrong: Cell::new(None) }
    }

    /// The first error so far.
    pub(super) fn check(&self) -> Result<(), EstimateError> {
        self.wrong.take().map_or(Ok(()), Err)
    }

    /// The value of the first of `names` in the file, otherwise in the class's defaults. An explicit null counts as
    /// absent.
    fn value(&self, names: &[&'static str]) -> Option<(&'static str, &Value)> {
        let of = |from: &'a Value| names.iter().find_map(|&name| Some((name, from.get(name)?)));
        of(self.fields.value).or_else(|| of(self.defaults?)).filter(|(_, value)| !value.is_null())
    }

    /// Takes over the error of a part.
    pub(super) fn absorb(&self, part: &Dims<'_>) {
        if let Err(error) = part.check() {
            self.refuse(error);
        }
    }

    fn refuse(&self, error: EstimateError) {
        let first = self.wrong.take();
        self.wrong.set(first.or(Some(error)));
    }

    /// A dimension that may be absent.
    pub(super) fn opt(&self, names: &[&'static str]) -> Option<u128> {
        let (name, value) = self.value(names)?;
        if value.as_str() == Some("auto") {
            return None;
        }
        let whole = value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..=LARGEST as f64).contains(v)).map(|v| v as u64);
        let found = value.as_u64().filter(|&v| v <= LARGEST).or(whole);
        if found.is_none() {
            self.refuse(self.fields.wrong(name, value, "must be a whole number up to 2^32"));
        }
        found.map(u128::from)
    }

    /// A dimension that is required.
    pub(super) fn n(&self, names: &[&'static str]) -> u128 {
        self.opt(names).unwrap_or_else(|| {
            self.lacks(names[0]);
            1
        })
    }

    fn lacks(&self, field: &'static str) {
        let (path, family) = (self.fields.path.to_owned(), self.family.to_owned());
        self.refuse(EstimateError::MissingField { path, family, field });
    }

    /// Refuses a file without one of these fields.
    pub(super) fn require(&self, names: &[&'static str]) {
        names.iter().filter(|name| self.fields.value.get(**name).is_none()).for_each(|name| self.lacks(name));
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, name: &'static str) -> bool {
        self.value(&[name]).is_some_and(|(_, value)| value.as_bool() == Some(true))
    }

    /// Whether there is a value.
    pub(super) fn has(&self, name: &'static str) -> bool {
        self.value(&[name]).is_some()
    }

    /// A text.
    pub(super) fn text(&self, name: &'static str) -> Option<&str> {
        self.value(&[name])?.1.as_str()
    }

    /// A list of texts, one per layer.
    pub(super) fn texts(&self, names: &[&'static str]) -> Option<Vec<&str>> {
        self.value(names)?.1.as_array()?.iter().map(Value::as_str).collect()
    }

    /// A list of numbers, such as the layers of one kind.
    pub(super) fn numbers(&self, name: &'static str) -> Option<Vec<u128>> {
        self.value(&[name])?.1.as_array()?.iter().map(|value| value.as_u64().map(u128::from)).collect()
    }

    /// Dimensions of each layer of a kind; impossible values are errors.
    pub(super) fn sizes(&self, name: &'static str) -> Vec<u128> {
        let found = self.numbers(name).filter(|sizes| sizes.iter().all(|&size| size <= u128::from(LARGEST)));
        found.unwrap_or_else(|| {
            let value = self.value(&[name]).map_or(&Value::Null, |(_, value)| value);
            self.refuse(self.fields.wrong(name, value, "must be whole numbers up to 2^32"));
            Vec::new()
        })
    }

    /// Heights and widths: a pair for each layer of a kind.
    pub(super) fn pairs(&self, name: &'static str) -> Vec<(u128, u128)> {
        let side = |value: &Value| value.as_u64().filter(|&side| side <= LARGEST).map(u128::from);
        let pair = |value: &Value| Some((side(value.get(0)?)?, side(value.get(1)?)?));
        let found = self.value(&[name]);
        let pairs = found.and_then(|(_, value)| value.as_array()?.iter().map(pair).collect());
        pairs.unwrap_or_else(|| {
            let value = found.map_or(&Value::Null, |(_, value)| value);
            self.refuse(self.fields.wrong(name, value, "must be pairs of whole numbers up to 2^32"));
            Vec::new()
        })
    }

    /// A part of the model: its dimensions, with the family that it names, or the family's default.
    pub(super) fn part(&self, name: &'static str) -> Self {
        let fields = self.fields.object(name);
        let default = || self.defaults?.get(name)?.get("model_type")?.as_str();
        let family = fields.text("model_type").or_else(default).unwrap_or("");
        Self::new(fields, family)
    }

    /// A side of an image or a patch, in pixels; the first of several.
    pub(super) fn side(&self, name: &'static str) -> u128 {
        match self.numbers(name) {
            Some(sides) => sides.first().copied().unwrap_or(1).min(u128::from(LARGEST)),
            None => self.n(&[name]),
        }
    }

    /// These dimensions, read as those of another family with the same fields.
    pub(super) fn named<'b>(&self, family: &'b str) -> Dims<'b>
    where
        'a: 'b,
    {
        Dims { fields: self.fields, family, defaults: self.defaults, wrong: Cell::new(None) }
    }

    /// A number with a fraction.
    pub(super) fn number(&self, name: &'static str) -> Option<f64> {
        self.value(&[name])?.1.as_f64()
    }

    /// A whole number that may be negative; negative counts as absent.
    pub(super) fn opt_signed(&self, name: &'static str) -> Option<u128> {
        let value = self.value(&[name])?.1.as_i64()?;
        u128::try_from(value).ok().filter(|&value| value <= u128::from(LARGEST))
    }

    /// Whether a flag is set to false.
    pub(super) fn is_false(&self, name: &'static str) -> bool {
        self.value(&[name]).is_some_and(|(_, value)| value.as_bool() == Some(false))
    }

    /// The class that the file was written for.
    pub(super) fn architecture(&self) -> Option<&str> {
        self.fields.value.get("architectures")?.get(0)?.as_str()
    }

    /// Number of labels of a classifier.
    pub(super) fn labels(&self) -> u128 {
        let named = self.fields.value.get("id2label").and_then(Value::as_object).map(|labels| labels.len() as u128);
        self.opt(&["num_labels"]).or(named).unwrap_or(2)
    }

    pub(super) fn hidden(&self) -> u128 {
        self.n(&["hidden_size", "n_embd", "d_model", "n_embed", "dim"])
    }

    pub(super) fn layers(&self) -> u128 {
        self.n(&["num_hidden_layers", "n_layer", "num_layers", "n_layers"])
    }

    pub(super) fn heads(&self) -> u128 {
        self.n(&["num_attention_heads", "n_head", "num_heads", "n_heads"])
    }

    pub(super) fn kv_heads(&self) -> u128 {
        self.opt(&["num_key_value_heads"]).unwrap_or_else(|| self.heads())
    }

    /// The width of a head.
    pub(super) fn head(&self) -> u128 {
        self.opt(&["head_dim"]).unwrap_or_else(|| self.hidden() / self.heads().max(1))
    }

    pub(super) fn vocabulary(&self) -> u128 {
        self.n(&["vocab_size"])
    }

    /// Whether the output layer uses the embedding's matrix.
    pub(super) fn tied(&self) -> bool {
        self.value(&["tie_word_embeddings"]).is_none_or(|(_, value)| value.as_bool() != Some(false))
    }

    /// How many layers satisfy `is`, by their index.
    pub(super) fn layers_that(&self, is: impl Fn(u128) -> bool) -> u128 {
        let layers = self.layers();
        if layers > MOST_LAYERS {
            self.refuse(self.fields.wrong("num_hidden_layers", &Value::from(layers as u64), "must be at most 65536"));
            return 0;
        }
        (0..layers).filter(|&at| is(at)).count() as u128
    }
}
