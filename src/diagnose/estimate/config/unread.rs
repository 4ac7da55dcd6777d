//! Fields of a training configuration that matter for memory and are not understood.

use serde_json::Value;

use super::fields::Fields;

/// Fields that affect memory and are not understood, with what to do about each.
const NOT_UNDERSTOOD: [(&str, &str); 44] = [
    ("use_liger_kernel", "its fused loss keeps no logits: the estimate has them"),
    ("enable_liger_kernel", "its fused loss keeps no logits: the estimate has them"),
    ("liger_fused_linear_cross_entropy", "its fused loss keeps no logits: the estimate has them"),
    ("cut_cross_entropy", "its fused loss keeps no logits: the estimate has them"),
    ("unsloth_cross_entropy_loss", "its fused loss keeps no logits: the estimate has them"),
    ("chunked_cross_entropy", "its loss keeps a part of the logits at a time: the estimate has all"),
    ("activation_offloading", "activations leave the device: the estimate has them there"),
    ("auto_find_batch_size", "the batch may be halved: give --batch"),
    ("load_in_8bit", "an 8-bit base is 1 B a parameter: the estimate has 2"),
    ("quantization_bit", "the base is quantized: the estimate has it in 16 bits, unless it is 4 bits with an adapter"),
    ("context_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("sequence_parallel_degree", "a sequence is divided: give --seq of one GPU"),
    ("sequence_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("cp_size", "a sequence is divided: give --seq of one GPU"),
    ("sp_size", "a sequence is divided: give --seq of one GPU"),
    ("ulysses_size", "a sequence is divided: give --seq of one GPU"),
    ("tensor_parallel_size", "give --convention megatron --tp"),
    ("tensor_model_parallel_size", "give --convention megatron --tp"),
    ("tp_size", "give --convention megatron --tp"),
    ("megatron_lm_tp_degree", "give --convention megatron --tp"),
    ("pipeline_parallel_size", "give --convention megatron --pp"),
    ("pipeline_model_parallel_size", "give --convention megatron --pp"),
    ("megatron_lm_pp_degree", "give --convention megatron --pp"),
    ("expert_parallel_size", "experts are divided among GPUs: the estimate has all on each"),
    ("expert_model_parallel_size", "experts are divided among GPUs: the estimate has all on each"),
    ("optim_target_modules", "the subspace is of these modules alone; the estimate has it for every matrix"),
    ("unfrozen_parameters", "some parameters are trained: the estimate has all"),
    ("freeze_trainable_layers", "some parameters are trained: the estimate has all"),
    ("freeze_vision_tower", "some parameters are not trained: the estimate trains all"),
    ("layers_to_transform", "some layers have an adapter: the estimate has one on all"),
    ("lora_layers_to_transform", "some layers have an adapter: the estimate has one on all"),
    ("rank_pattern", "some layers have another rank: the estimate has one rank"),
    ("target_parameters", "an adapter on these weights is not counted"),
    ("lora_target_parameters", "an adapter on these weights is not counted"),
    ("trainable_token_indices", "these rows of the embedding are trained, too"),
    ("layer_replication", "layers are repeated, each with an adapter of its own: the estimate has each once"),
    ("rl", "a second model may be kept as the reference: the estimate has one"),
    ("ref_model", "a second model is kept as the reference: the estimate has one"),
    ("use_ema", "an average of the weights is kept: the estimate has none"),
    ("use_cpu", "it trains in host memory: the estimate has a GPU's"),
    ("no_cuda", "it trains in host memory: the estimate has a GPU's"),
    ("use_vllm", "a server of the model shares the GPUs: the estimate has none"),
    ("sharded_ddp", "the sharding of fairscale: give --zero"),
    ("apex", "apex keeps its own copies: the estimate has PyTorch's"),
];

/// Parts of names of fields that mostly affect memory.
const SUSPECT: [&str; 18] = [
    "offload",
    "quantiz",
    "quant_",
    "8bit",
    "4bit",
    "lora_target",
    "shard",
    "parallel_size",
    "parallelism",
    "dtype",
    "freeze",
    "frozen",
    "checkpointing",
    "optimizer",
    "precision",
    "low_rank",
    "replica",
    "activation_",
];

/// Fields whose names look like it, and that are understood or do not matter.
const HARMLESS: [&str; 52] = [
    "optimizer",
    "optimizer_args",
    "load_in_4bit",
    "bnb_4bit_quant_type",
    "bnb_4bit_compute_dtype",
    "bnb_4bit_use_double_quant",
    "bnb_4bit_quant_storage",
    "quantization_config",
    "quantization_method",
    "quantization_bit",
    "lora_target_linear",
    "lora_target_modules",
    "lora_target",
    "fsdp_sharding_strategy",
    "sharding_strategy",
    "fsdp_reshard_after_forward",
    "fsdp_offload_params",
    "offload_params",
    "fsdp_cpu_offload",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_optimizer_nvme_path",
    "offload_param_nvme_path",
    "parallelism_config",
    "mixed_precision",
    "gradient_checkpointing",
    "use_gradient_checkpointing",
    "enable_activation_checkpointing",
    "checkpointing_steps",
    "dataset_shard_num",
    "dataset_shard_idx",
    "dataset_num_shards",
    "num_shards",
    "shards",
    "optimizer_name_or_path",
    "gradient_checkpointing_kwargs",
    "activation_checkpointing",
    "fsdp_activation_checkpointing",
    "use_reentrant",
    "dispatch_batches",
    "split_batches",
    "ddp_broadcast_buffers",
    "save_sharded",
    "max_shard_size",
    "fsdp_state_dict_type",
    "parallelism_config_dp_replicate_size",
    "parallelism_config_dp_shard_size",
    "skip_memory_metrics",
    "freeze_trainable_layers",
    "freeze_vision_tower",
    "activation_offloading",
    "sharded_ddp",
];

/// Whether the name of a field says that it mostly affects memory.
pub(super) fn is_suspect(name: &str) -> bool {
    SUSPECT.iter().any(|part| name.contains(part)) && !HARMLESS.contains(&name)
}

/// The most fields that are named.
pub(super) const MOST_NAMED: usize = 32;

/// The fields that matter and are not understood, in this object and in those of FSDP, PEFT and Accelerate.
pub(super) fn of(fields: Fields<'_>) -> Vec<String> {
    let file = fields.path.display();
    let mut unread = Vec::new();
    let parts =
        ["fsdp_config", "peft_config", "lora", "parallelism_config", "megatron_lm_config", "trl", "model_init_kwargs"];
    let inside = parts.map(|part| (part, fields.object(part)));
    for (part, own) in [("", fields)].into_iter().chain(inside) {
        let Some(all) = own.value.as_object() else { continue };
        let dot = if part.is_empty() { "" } else { "." };
        for (name, value) in all.iter().filter(|(_, value)| matters(value)) {
            let lower = name.to_ascii_lowercase();
            let known = NOT_UNDERSTOOD.iter().find(|(known, _)| *known == lower).map(|(_, what)| *what);
            let what = known.or_else(|| {
                // Only these have several kinds of values.
                let weights = matches!(lower.as_str(), "torch_dtype" | "dtype" | "model_dtype")
                    && value.as_str().is_some_and(|kind| kind.contains("16"));
                match (weights, is_suspect(&lower)) {
                    (true, _) => Some("weights loaded in 16 bits have no fp32 master: the estimate has one"),
                    // Paths and numbers of a file's own.
                    (_, true) if !matches!(lower.as_str(), "torch_dtype" | "dtype" | "model_dtype") => {
                        Some("not understood; it may change memory")
                    }
                    _ => None,
                }
            });
            if let Some(what) = what.filter(|_| unread.len() < MOST_NAMED) {
                unread.push(format!("`{part}{dot}{name}` of {file}: {what}"));
            }
        }
    }
    let stage = fields.text("stage").filter(|stage| ["dpo", "ppo", "kto", "rm", "grpo"].contains(stage));
    if let Some(stage) = stage {
        unread.push(format!("`stage` of {file} = {stage}: other models or passes beside the training are not counted"));
    }
    unread
}

/// Whether a value turns something on.
fn matters(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64().is_some_and(|number| number > 1.0),
        Value::String(text) => !text.is_empty() && !matches!(text.as_str(), "auto" | "none" | "None" | "no" | "false"),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) => true,
    }
}
