//! Reading a configuration: which kind it is, and its fields.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::settings::Settings;
use super::{deepspeed, huggingface};
use crate::estimate::error::EstimateError;

/// The most bytes of a configuration.
const MOST: u64 = 16 << 20;

/// Reads a Hugging Face `config.json` or a DeepSpeed JSON.
///
/// # Errors
/// Where the file cannot be read, is no JSON object, is neither of the two, or a field makes no sense.
pub fn read(path: &Path) -> Result<Settings, EstimateError> {
    let unreadable = |source| EstimateError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST {
        return Err(EstimateError::ConfigTooLarge { path: path.to_owned(), most: MOST });
    }
    parse(path, &text)
}

/// Reads the text of a configuration; `path` is what errors name.
pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Settings, EstimateError> {
    let value: Value = serde_json::from_slice(text).map_err(|error| EstimateError::NotJson {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })?;
    let Value::Object(_) = value else {
        let message = "it holds another value".to_owned();
        return Err(EstimateError::NotJson { path: path.to_owned(), line: 1, column: 0, message });
    };
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let fields = Fields { path, value: &value };
    if has(&["zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu", "bf16", "fp16"]) {
        return deepspeed::settings(&fields);
    }
    if has(&["hidden_size", "n_embd", "d_model"]) {
        return huggingface::settings(&fields);
    }
    // Models of several parts keep the decoder's fields apart.
    for part in ["text_config", "llm_config", "language_config"] {
        if let Some(inner) = value.get(part).filter(|inner| inner.get("hidden_size").is_some()) {
            return huggingface::settings(&Fields { path, value: inner });
        }
    }
    Err(EstimateError::UnknownConfig { path: path.to_owned() })
}

/// The fields of an object of the file.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    path: &'a Path,
    pub(super) value: &'a Value,
}

impl<'a> Fields<'a> {
    /// The object under `name`; an empty one where there is none.
    pub(super) fn object(self, name: &str) -> Self {
        Self { value: self.value.get(name).unwrap_or(&Value::Null), ..self }
    }

    /// A positive whole number under the first of `names` that is there; absent where it is null or `auto`.
    pub(super) fn count(self, names: &[&'static str]) -> Result<Option<u64>, EstimateError> {
        for &name in names {
            let value = match self.value.get(name) {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) if text == "auto" => return Ok(None),
                Some(value) => value,
            };
            // DeepSpeed's own examples write 5e8.
            let whole = value.as_f64().filter(|v| v.fract() == 0.0 && (1.0..9e15).contains(v)).map(|v| v as u64);
            let count = value.as_u64().filter(|&count| count > 0).or(whole);
            return match count {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(name, value, "it has to be a whole number of at least 1")),
            };
        }
        Ok(None)
    }

    /// A text; absent where it is something else or `auto`.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str().filter(|&text| text != "auto")
    }

    /// A truth value; absent where it is something else.
    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.value.get(name)?.as_bool()
    }

    /// The refusal of a field.
    pub(super) fn wrong(self, field: &'static str, value: &Value, expected: &'static str) -> EstimateError {
        let value = value.to_string().chars().take(60).collect();
        EstimateError::Field { path: self.path.to_owned(), field, value, expected }
    }
}
