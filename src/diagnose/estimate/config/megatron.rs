//! The arguments of Megatron-LM, and the same fields in NeMo's files.

use serde_json::Value;

use super::fields::Fields;
use super::settings::Settings;
use super::training;
use crate::estimate::choices::{Precision, ZeroStage};
use crate::estimate::convention::Convention;
use crate::estimate::error::EstimateError;
use crate::estimate::optimizer::Optimizer;

/// Whether these are Megatron's fields.
pub(super) fn is_megatron(value: &Value) -> bool {
    let has = |name: &str| value.get(name).is_some();
    has("hidden_size") && has("num_layers") && (has("tensor_model_parallel_size") || has("micro_batch_size"))
}

/// Fields that affect memory and are not understood.
const NOT_UNDERSTOOD: [(&str, &str); 9] = [
    ("context_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("expert_model_parallel_size", "experts are divided among GPUs: the estimate has all on each"),
    ("num_experts", "experts are not counted: give --params"),
    ("multi_latent_attention", "latent attention is not counted: give --params"),
    ("recompute_num_layers", "some layers are computed again: the estimate has all or none"),
    ("optimizer_cpu_offload", "optimizer state leaves the device: give --offload cpu"),
    ("fp8_format", "weights in 8 bits are not counted"),
    ("use_torch_fsdp2", "give --zero 3"),
    ("use_precision_aware_optimizer", "the optimizer's state has other precisions: the estimate has fp32"),
];

/// The settings in Megatron's fields.
pub(super) fn settings(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let on = |name: &str| match fields.value.get(name) {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(text)) => !text.is_empty() && text != "none",
        _ => false,
    };
    let count = |name: &'static str| fields.count(&[name]);
    let (hidden, heads) = (count("hidden_size")?, count("num_attention_heads")?);
    let head = count("kv_channels")?.or_else(|| hidden?.checked_div(heads?));
    let wide = |heads: Option<u64>| heads?.checked_mul(head?);
    let precision = fields.value.get("precision").map(|value| value.to_string()).unwrap_or_default();
    let precision = match (on("bf16") || precision.contains("bf16"), on("fp16") || precision.contains("16")) {
        (true, _) => Precision::Bf16Mixed,
        (false, true) => Precision::Fp16Mixed,
        (false, false) => Precision::Fp32,
    };
    let (layers, stages) = (count("num_layers")?, count("pipeline_model_parallel_size")?);
    let each = count("num_layers_per_virtual_pipeline_stage")?;
    let virtual_stages = each.and_then(|each| layers?.checked_div(stages?)?.checked_div(each)).filter(|&n| n > 1);
    let known = fields.text("optimizer").and_then(|name| match name {
        "distributed_fused_adam" | "fused_adam" => Some(Optimizer::Adam),
        _ => Optimizer::named(name),
    });
    let file = fields.path.display();
    let unread = NOT_UNDERSTOOD
        .iter()
        .filter(|(name, _)| match fields.value.get(*name) {
            Some(Value::Number(number)) => number.as_u64().is_some_and(|number| number > 1),
            Some(Value::Bool(on)) => *on,
            value => value.is_some_and(|value| !value.is_null()),
        })
        .map(|(name, what)| format!("`{name}` of {file}: {what}"));
    let optimizer = fields.text("optimizer").filter(|_| known.is_none());
    let unread = unread.chain(optimizer.map(|name| {
        format!("`optimizer` of {file} = {name}: its state is not known; the estimate has Adam's, give --optimizer")
    }));
    let own = Settings {
        convention: Some(Convention::Megatron),
        layers,
        hidden,
        heads,
        key_value: wide(count("num_query_groups")?.or(heads)),
        query: wide(heads),
        ffn: count("ffn_hidden_size")?,
        gated: Some(on("swiglu") || fields.text("activation") == Some("swiglu")),
        vocabulary: fields.count(&["padded_vocab_size", "vocab_size"])?,
        untied: Some(
            on("untie_embeddings_and_output_weights")
                || fields.flag("share_embeddings_and_output_weights") == Some(false),
        ),
        optimizer: known,
        precision: Some(precision),
        zero: Some(if on("use_distributed_optimizer") { ZeroStage::One } else { ZeroStage::Zero }),
        batch: count("micro_batch_size")?,
        effective_batch: count("global_batch_size")?,
        sequence: fields.count(&["seq_length"])?,
        checkpointing: Some(fields.text("recompute_granularity") == Some("full")),
        tensor_parallel: count("tensor_model_parallel_size")?,
        pipeline_parallel: stages,
        virtual_stages,
        sequence_parallel: Some(on("sequence_parallel")),
        unread: unread.collect(),
        ..Settings::default()
    };
    Ok(own.or(training::world(fields)?))
}
