//! [`EstimateError`]: why an estimate is impossible.

use std::path::PathBuf;

use super::convention::Convention;

/// Why there is no estimate.
///
/// What to do: change the flag or the field that the message names, or give the number itself (`--params`, `--layers`,
/// ...).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// There is neither a number of parameters nor a shape to count them from.
    #[error("the number of parameters is unknown: give --params, a config.json, or --layers, --hidden and --vocab")]
    NoParameters,
    /// The family of the model is unknown.
    #[error(
        "{path}: parameters of the family `{family}` are not counted: give --params (the model card has it), or \
         `sum(p.numel() for p in model.parameters())` from a model on the meta device",
        path = path.display()
    )]
    UnknownFamily {
        /// The file.
        path: PathBuf,
        /// Its `model_type`.
        family: String,
    },
    /// A field that a family needs is missing.
    #[error("{path}: `{field}` is missing, and `{family}` has no default for it: add it, or give --params", path = path.display())]
    MissingField {
        /// The file.
        path: PathBuf,
        /// The family.
        family: String,
        /// The field.
        field: &'static str,
    },
    /// A figure that must be positive is 0.
    #[error("{what} must be at least 1")]
    Zero {
        /// What is 0.
        what: &'static str,
    },
    /// More parameters, GPUs or tokens than any estimate covers.
    #[error("{what} is {given}, more than the {most} that estimates cover")]
    TooMany {
        /// The quantity that is too large.
        what: &'static str,
        /// The given value.
        given: u64,
        /// The largest accepted value.
        most: u64,
    },
    /// The amount does not fit in 64 bits.
    #[error("{what} would exceed 16 EiB: check the number of parameters, the batch and the sequence length")]
    TooLarge {
        /// The quantity that was computed.
        what: &'static str,
    },
    /// Offloading needs a ZeRO stage that supports it.
    #[error("offloading {what} to {place} needs {needs}: add --zero {stage} (it works on one GPU as well)")]
    OffloadNeedsZero {
        /// `the optimizer` or `the parameters`.
        what: &'static str,
        /// `cpu` or `nvme`.
        place: &'static str,
        /// The stages that support it.
        needs: &'static str,
        /// The lowest of these stages.
        stage: u8,
    },
    /// The convention has no formula for the ZeRO stage.
    #[error(
        "the {convention} convention has no formula for ZeRO-{stage}: use 0 or 1 (the distributed optimizer), or --convention deepspeed"
    )]
    StageUnknown {
        /// The convention.
        convention: Convention,
        /// The stage.
        stage: u8,
    },
    /// The convention has no formula for a feature.
    #[error("{feature} is read by the megatron convention only: add --convention megatron")]
    MegatronOnly {
        /// `--tp` or another flag.
        feature: &'static str,
    },
    /// Tensor and pipeline parallel sizes do not divide the number of GPUs.
    #[error("{gpus} GPUs cannot be divided among tensor parallel {tensor} x pipeline parallel {pipeline}")]
    Indivisible {
        /// Total number of GPUs.
        gpus: u64,
        /// The tensor parallel size.
        tensor: u64,
        /// The pipeline parallel size.
        pipeline: u64,
    },
    /// A configuration file cannot be opened or read.
    #[error("cannot read the configuration {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        source: std::io::Error,
    },
    /// A file is too large for a configuration.
    #[error("{path} has more than {most} bytes: a config.json or a DeepSpeed configuration is far smaller", path = path.display())]
    ConfigTooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size that is read.
        most: u64,
    },
    /// A file is not a JSON object.
    #[error("{path} is not a JSON object, line {line}, column {column}: {message}", path = path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 for the whole line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A JSON file is not a known kind of configuration.
    #[error(
        "{path} is neither a Hugging Face config.json (no `model_type`) nor a DeepSpeed configuration (no \
         `zero_optimization`, `train_batch_size`, `train_micro_batch_size_per_gpu`) nor one of a training (no \
         `per_device_train_batch_size`, `micro_batch_size`, `optim`, `fsdp`, `mixed_precision`)",
        path = path.display()
    )]
    UnknownConfig {
        /// The file.
        path: PathBuf,
    },
    /// A field of a configuration has an impossible value.
    #[error("{path}: `{field}` is {value}: {expected}", path = path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, with its parents.
        field: &'static str,
        /// Its value.
        value: String,
        /// The expected value.
        expected: &'static str,
    },
}
