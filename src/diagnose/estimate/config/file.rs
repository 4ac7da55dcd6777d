//! Reading a configuration: which kind it is, and its fields.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::fields::Fields;
use super::settings::Settings;
use super::{deepspeed, huggingface};
use crate::estimate::error::EstimateError;

/// The most bytes of a configuration.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Reads a Hugging Face `config.json` or a DeepSpeed JSON.
///
/// # Errors
/// Where the file cannot be read, is no JSON object, is neither of the two, or a field makes no sense.
pub fn read(path: &Path) -> Result<Settings, EstimateError> {
    let unreadable = |source| EstimateError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_CONFIG + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST_CONFIG {
        return Err(EstimateError::ConfigTooLarge { path: path.to_owned(), most: LARGEST_CONFIG });
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
    if has(&["model_type", "hidden_size", "n_embd", "d_model", "text_config", "llm_config", "language_config"]) {
        return huggingface::settings(fields);
    }
    Err(EstimateError::UnknownConfig { path: path.to_owned() })
}
