//! Reading a configuration: which kind it is, and its fields.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::fields::Fields;
use super::settings::Settings;
use super::{deepspeed, huggingface, loose, training};
use crate::estimate::error::EstimateError;

/// The most bytes of a configuration.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Reads a Hugging Face `config.json`, a DeepSpeed JSON or a training's configuration.
///
/// # Errors
/// Where the file cannot be read, has no fields, is none of these, or a field makes no sense.
pub fn read(path: &Path) -> Result<Settings, EstimateError> {
    parse(path, &bytes(path)?)
}

/// Reads a DeepSpeed JSON, and nothing else: a file that another one names.
pub(super) fn read_deepspeed(path: &Path) -> Result<Settings, EstimateError> {
    let value = value(path, &bytes(path)?)?;
    if !is_deepspeed(&value) {
        return Err(EstimateError::UnknownConfig { path: path.to_owned() });
    }
    deepspeed::settings(&Fields { path, value: &value })
}

fn bytes(path: &Path) -> Result<Vec<u8>, EstimateError> {
    let unreadable = |source| EstimateError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_CONFIG + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST_CONFIG {
        return Err(EstimateError::ConfigTooLarge { path: path.to_owned(), most: LARGEST_CONFIG });
    }
    Ok(text)
}

/// Reads the text of a configuration; `path` is what errors name.
pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Settings, EstimateError> {
    let value = value(path, text)?;
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let fields = Fields { path, value: &value };
    // TrainingArguments have `fp16` as well, as a truth value.
    if is_deepspeed(&value) {
        return deepspeed::settings(&fields);
    }
    if has(&training::SIGNS) {
        return training::settings(fields);
    }
    if has(&["model_type", "hidden_size", "n_embd", "d_model", "text_config", "llm_config", "language_config"]) {
        return huggingface::settings(fields);
    }
    Err(EstimateError::UnknownConfig { path: path.to_owned() })
}

fn is_deepspeed(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    let object = |name: &str| value.get(name).is_some_and(Value::is_object);
    has("zero_optimization")
        || has("train_micro_batch_size_per_gpu")
        || object("bf16")
        || object("fp16")
        || (has("train_batch_size") && !training::SIGNS.into_iter().any(has))
}

/// The fields of the text: JSON, else YAML or a printed object.
fn value(path: &Path, text: &[u8]) -> Result<Value, EstimateError> {
    let not_json = |line, column, message| EstimateError::NotJson { path: path.to_owned(), line, column, message };
    match serde_json::from_slice(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(not_json(1, 0, "it holds another value".to_owned())),
        Err(error) => {
            let loose = std::str::from_utf8(text).ok().filter(|text| !text.trim_start().starts_with('{'));
            loose.and_then(loose::fields).ok_or_else(|| not_json(error.line(), error.column(), error.to_string()))
        }
    }
}
