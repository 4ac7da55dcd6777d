//! Reading a configuration of any kind.

use std::path::Path;

use super::content::{TRAINING_SIGNS, bytes, is_deepspeed, value};
use super::fields::Fields;
use super::settings::Settings;
use super::{deepspeed, huggingface, megatron, recipe, training};
use crate::estimate::error::EstimateError;

/// Reads a Hugging Face `config.json`, a DeepSpeed JSON, a training configuration or the arguments of a command.
///
/// # Errors
/// If the file cannot be read, has no fields, is of another kind, or has an impossible value.
pub fn read(path: &Path) -> Result<Settings, EstimateError> {
    parse(path, &bytes(path)?)
}

/// Reads the text of a configuration; errors name `path`.
pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Settings, EstimateError> {
    let value = recipe::in_our_names(value(path, text)?);
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let fields = Fields { path, value: &value };
    if megatron::is_megatron(&value) {
        return megatron::settings(fields);
    }
    // TrainingArguments also have `fp16`, as a truth value.
    if is_deepspeed(&value) {
        return deepspeed::settings(&fields);
    }
    if has(&TRAINING_SIGNS) {
        return training::settings(fields);
    }
    if has(&["model_type", "hidden_size", "n_embd", "d_model", "text_config", "llm_config", "language_config"]) {
        return huggingface::settings(fields);
    }
    Err(EstimateError::UnknownConfig { path: path.to_owned() })
}
