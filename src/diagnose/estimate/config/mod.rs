//! Configurations: what is known of a model and its training before anything runs.
//!
//! [`Settings`] hold the content of one source: the command line, a Hugging Face `config.json`, a DeepSpeed JSON, a
//! training configuration (TrainingArguments, TRL, peft, Accelerate, FSDP, Axolotl, LLaMA-Factory, torchtune, Unsloth,
//! NeMo, Megatron's arguments; JSON, YAML, a script, a command line or printed). Files are recognised
//! by their content; the first source that sets a value wins. Values that no source sets stay absent until
//! [`Settings::finish`], which fills in one GPU, Adam and bf16-mixed.

mod adapter;
mod content;
mod deepspeed;
mod families;
mod fields;
mod file;
mod huggingface;
mod literal;
mod loose;
mod megatron;
mod quantized;
mod recipe;
mod scalar;
mod settings;
#[cfg(test)]
mod tests;
mod training;
mod unread;

pub use adapter::{Attached, Kind, Module, Modules, Targets};
pub use file::read;
pub use settings::{Settings, ShardGroup, Unknown};
