//! The content of a configuration file, and the fields that identify its kind.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::{literal, loose, recipe};
use crate::estimate::error::EstimateError;

/// The largest configuration file that is read, in bytes.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Fields that identify a training configuration: the file has at least one.
pub(super) const TRAINING_SIGNS: [&str; 18] = [
    "per_device_train_batch_size",
    "micro_batch_size",
    "output_dir",
    "optim",
    "fsdp",
    "fsdp_config",
    "fsdp_sharding_strategy",
    "fsdp_reshard_after_forward",
    "distributed_type",
    "compute_environment",
    "mixed_precision",
    "base_model",
    "gradient_checkpointing",
    "sequence_len",
    "deepspeed_config",
    "peft_type",
    "peft_config",
    "lora_r",
];

/// The bytes of a configuration file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, EstimateError> {
    let unreadable = |source| EstimateError::Read { path: path.to_owned(), source };
    let mut text = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LARGEST_CONFIG + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST_CONFIG {
        return Err(EstimateError::ConfigTooLarge { path: path.to_owned(), most: LARGEST_CONFIG });
    }
    Ok(text)
}

/// The fields of the text: JSON, otherwise YAML or a printed object.
pub(super) fn value(path: &Path, text: &[u8]) -> Result<Value, EstimateError> {
    let not_json = |line, column, message| EstimateError::NotJson { path: path.to_owned(), line, column, message };
    match serde_json::from_slice(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(not_json(1, 0, "it holds another value".to_owned())),
        Err(error) => {
            let text = std::str::from_utf8(text).ok();
            let braced = text.filter(|text| text.trim_start().starts_with(['{', '/']));
            let commented = braced.and_then(|text| serde_json::from_str(&recipe::without_comments(text)).ok());
            let printed = || braced.and_then(literal::printed);
            let commented = commented.filter(Value::is_object).or_else(printed);
            let loose = || text.filter(|_| braced.is_none()).and_then(loose::fields);
            commented.or_else(loose).ok_or_else(|| not_json(error.line(), error.column(), error.to_string()))
        }
    }
}

/// Whether these are the fields of a DeepSpeed configuration.
pub(super) fn is_deepspeed(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    let object = |name: &str| value.get(name).is_some_and(Value::is_object);
    has("zero_optimization")
        || has("train_micro_batch_size_per_gpu")
        || object("bf16")
        || object("fp16")
        || (has("train_batch_size") && !TRAINING_SIGNS.into_iter().any(has))
}
