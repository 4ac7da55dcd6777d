//! The fields of a DeepSpeed configuration. A value of `auto` counts as absent.

use std::path::Path;

use serde_json::Value;

use super::content;
use super::fields::Fields;
use super::settings::{Settings, ShardGroup};
use super::unread::{MOST_NAMED, is_suspect};
use crate::estimate::choices::{Offload, Precision, ZeroStage};
use crate::estimate::convention::Convention;
use crate::estimate::error::EstimateError;
use crate::estimate::optimizer::Optimizer;
use crate::estimate::setup::Buckets;

/// DeepSpeed's default size of both buckets, in elements.
const BUCKET: u64 = 500_000_000;

/// Reads a DeepSpeed JSON file that another configuration names.
pub(super) fn read(path: &Path) -> Result<Settings, EstimateError> {
    let value = content::value(path, &content::bytes(path)?)?;
    if !content::is_deepspeed(&value) {
        return Err(EstimateError::UnknownConfig { path: path.to_owned() });
    }
    settings(&Fields { path, value: &value })
}

/// Fields that affect memory and are not understood: their place, and what to know about each.
const NOT_UNDERSTOOD: [(&str, &str, &str); 27] = [
    ("", "tensor_parallel", "layers are divided among GPUs; the estimate has them whole"),
    ("", "pipeline", "layers are divided among GPUs; the estimate has all on each"),
    ("", "sequence_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("", "sparse_attention", "fewer scores are kept than the estimate has"),
    ("", "torch_autocast", "its copies of weights and gradients are not counted"),
    ("", "amp", "apex keeps its own copies: the estimate has DeepSpeed's"),
    ("", "compression_training", "quantized or pruned weights are not counted"),
    ("", "quantize_training", "quantized weights are not counted"),
    ("", "hybrid_engine", "its copy for generating is not counted"),
    ("", "curriculum_learning", "sequences grow during the training: give the longest --seq"),
    ("", "data_efficiency", "sequences may change during the training: give the longest --seq"),
    ("", "communication_data_type", "gradients are copied to this type for communication"),
    ("data_types", "grad_accum_dtype", "gradients are accumulated in this type; the estimate has fp32"),
    ("bf16", "immediate_grad_update", "gradients in 16 bits are freed early; the estimate keeps them"),
    ("bf16", "bf16_master_weights_and_grads", "master weights and gradients in 16 bits; the estimate has fp32"),
    ("bf16", "bf16_optimizer_states", "the optimizer's state in 16 bits; the estimate has fp32"),
    ("fp16", "fp16_master_weights_and_grads", "master weights and gradients in 16 bits; the estimate has fp32"),
    (
        "activation_checkpointing",
        "cpu_checkpointing",
        "kept activations are on the host; the estimate has them on the device",
    ),
    (
        "activation_checkpointing",
        "partition_activations",
        "kept activations are divided among GPUs; the estimate has them whole",
    ),
    ("zero_optimization", "zero_hpz_partition_size", "each node keeps a second copy of the weights"),
    ("zero_optimization", "zero_quantized_weights", "weights are gathered in 8 bits; the estimate has 16"),
    (
        "zero_optimization",
        "zero_quantized_nontrainable_weights",
        "frozen weights are kept in 8 bits; the estimate has 16",
    ),
    ("zero_optimization", "zero_quantized_gradients", "gradients are reduced in 4 bits; the estimate has 16"),
    ("zero_optimization", "zenflow", "a part of the gradients and of the state stays on the device"),
    (
        "zero_optimization",
        "stage3_max_live_parameters",
        "up to so many parameters stay gathered, 2 B each; the estimate has one layer",
    ),
    (
        "zero_optimization.offload_optimizer",
        "super_offload",
        "state moves between device and host; the estimate has it on the host",
    ),
    (
        "zero_optimization.offload_param",
        "max_in_cpu",
        "parameters beyond that leave the host for NVMe; the estimate has all of them in one place",
    ),
];

/// Fields that are understood, or do not matter, although their names look like it.
const UNDERSTOOD: [&str; 11] = [
    "offload_optimizer",
    "offload_param",
    "cpu_offload",
    "cpu_offload_params",
    "cpu_offload_use_pin_memory",
    "mics_shard_size",
    "zero_force_ds_cpu_optimizer",
    "zero_allow_untested_optimizer",
    "zero_quantized_weights_group_size",
    "activation_checkpointing",
    "checkpoint",
];

/// The settings in a DeepSpeed configuration.
pub(super) fn settings(fields: &Fields<'_>) -> Result<Settings, EstimateError> {
    let zero = fields.object("zero_optimization");
    let stage = stage(zero)?;
    let named = fields.object("optimizer").text("type");
    let optimizer = named.and_then(Optimizer::named);
    let momentum = fields.object("optimizer").object("params").value.get("momentum").and_then(Value::as_f64);
    let plain = momentum.is_none_or(|momentum| momentum == 0.0);
    let optimizer = optimizer.map(|known| if known == Optimizer::Sgd && plain { Optimizer::PlainSgd } else { known });
    let file = fields.path.display();
    let unknown = named.filter(|_| optimizer.is_none());
    let mut unread: Vec<String> = unknown
        .map(|name| format!("`optimizer.type` of {file} = {name}: its state is not known; give --optimizer"))
        .into_iter()
        .collect();
    for (place, name, what) in NOT_UNDERSTOOD {
        let own = place.split('.').filter(|part| !part.is_empty()).fold(*fields, |fields, part| fields.object(part));
        if own.value.get(name).is_some_and(matters) {
            let dot = if place.is_empty() { "" } else { "." };
            unread.push(format!("`{place}{dot}{name}` of {file}: {what}"));
        }
    }
    for (place, own) in [("", *fields), ("zero_optimization.", zero)] {
        let all = own.value.as_object().into_iter().flatten();
        for (name, _) in all.filter(|(name, value)| is_suspect(name) && matters(value)) {
            let named = NOT_UNDERSTOOD
                .iter()
                .any(|(part, known, _)| part.trim_end_matches('.') == place.trim_end_matches('.') && known == name);
            if !named && !UNDERSTOOD.contains(&name.as_str()) && unread.len() < MOST_NAMED {
                unread.push(format!("`{place}{name}` of {file}: not understood; it may change memory"));
            }
        }
    }
    let ratio = zero.object("offload_optimizer").value.get("ratio").and_then(Value::as_f64);
    if let Some(ratio) = ratio.filter(|ratio| *ratio < 1.0) {
        unread.push(format!(
            "`zero_optimization.offload_optimizer.ratio` of {file} = {ratio}: only this share of the optimizer's state is \
             offloaded; the estimate offloads all"
        ));
    }
    // Before 0.4, flags said what an object says today.
    let older = |name| (zero.flag(name) == Some(true)).then_some(Offload::Cpu);
    Ok(Settings {
        convention: Some(Convention::Deepspeed),
        optimizer,
        unread,
        precision: precision(fields),
        zero: stage,
        shard_group: zero.count(&["mics_shard_size"]).unwrap_or_default().map(ShardGroup::Gpus),
        offload: place(zero.object("offload_optimizer"))?.or(older("cpu_offload")),
        offload_parameters: place(zero.object("offload_param"))?.or(older("cpu_offload_params")),
        batch: fields.count(&["train_micro_batch_size_per_gpu"])?,
        accumulation: fields.count(&["gradient_accumulation_steps"])?,
        effective_batch: fields.count(&["train_batch_size"])?,
        buckets: buckets(zero, stage)?,
        ..Settings::default()
    })
}

/// Whether a value turns something on, or sets it to something other than the default.
fn matters(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64().is_some_and(|number| number > 1.0),
        Value::String(text) => !matches!(text.as_str(), "" | "auto" | "none"),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => match fields.get("enabled") {
            Some(on) => on.as_bool() == Some(true),
            None => fields.values().any(matters),
        },
        Value::Bool(true) => true,
    }
}

fn stage(zero: Fields<'_>) -> Result<Option<ZeroStage>, EstimateError> {
    match zero.value.get("stage") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text == "auto" => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
            let stage = number.and_then(|number| ZeroStage::try_from(number).ok());
            stage.map(Some).ok_or_else(|| zero.wrong("zero_optimization.stage", value, "must be 0, 1, 2 or 3"))
        }
    }
}

fn place(offload: Fields<'_>) -> Result<Option<Offload>, EstimateError> {
    let Some(device) = offload.text("device") else { return Ok(None) };
    let wrong = |_| {
        let expected = "must be none, cpu or nvme";
        offload.wrong("zero_optimization.offload_*.device", &Value::String(device.to_owned()), expected)
    };
    device.parse().map(Some).map_err(wrong)
}

/// fp32 if both are switched off.
fn precision(fields: &Fields<'_>) -> Option<Precision> {
    let enabled = |name| fields.object(name).flag("enabled");
    match (enabled("bf16"), enabled("fp16")) {
        (Some(true), _) => Some(Precision::Bf16Mixed),
        (_, Some(true)) => Some(Precision::Fp16Mixed),
        (Some(false), Some(false)) => Some(Precision::Fp32),
        _ => None,
    }
}

/// The buckets, if at least one size is a number.
fn buckets(zero: Fields<'_>, stage: Option<ZeroStage>) -> Result<Option<Buckets>, EstimateError> {
    let (reduce, allgather) = (zero.count(&["reduce_bucket_size"])?, zero.count(&["allgather_bucket_size"])?);
    if reduce.or(allgather).is_none() || stage.is_none_or(|stage| stage == ZeroStage::Zero) {
        return Ok(None);
    }
    // ZeRO-3 gathers layers, and overlaps communication by default.
    let three = stage == Some(ZeroStage::Three);
    let allgather = if three { 0 } else { allgather.unwrap_or(BUCKET) };
    let overlap = zero.flag("overlap_comm").unwrap_or(three);
    Ok(Some(Buckets { reduce: reduce.unwrap_or(BUCKET), allgather, overlap }))
}
