//! The fields of a training configuration: TrainingArguments, Accelerate, FSDP, Axolotl.

use std::path::Path;

use serde_json::Value;

use super::deepspeed;
use super::fields::Fields;
use super::settings::Settings;
use crate::estimate::choices::{Attention, Offload, Optimizer, Precision, Tuning, ZeroStage};
use crate::estimate::error::EstimateError;

/// The rank of an adapter if the file does not set it.
const RANK: u64 = 16;

/// Fields that affect memory and are not understood, with what to do about each.
const NOT_UNDERSTOOD: [(&str, &str); 19] = [
    ("base_model", "give the model's config.json as well, or --params"),
    ("model_name_or_path", "give the model's config.json as well, or --params"),
    ("use_liger_kernel", "its fused loss keeps no logits: the estimate has them"),
    ("liger_fused_linear_cross_entropy", "its fused loss keeps no logits: the estimate has them"),
    ("activation_offloading", "activations leave the device: the estimate has them there"),
    ("auto_find_batch_size", "the batch may be halved: give --batch"),
    ("load_in_8bit", "an 8-bit base is 1 B a parameter: the estimate has 2"),
    ("context_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("sequence_parallel_degree", "a sequence is divided: give --seq of one GPU"),
    ("sequence_parallel_size", "a sequence is divided: give --seq of one GPU"),
    ("tensor_parallel_size", "give --convention megatron --tp"),
    ("pipeline_parallel_size", "give --convention megatron --pp"),
    ("expert_parallel_size", "experts are divided among GPUs: the estimate has all on each"),
    ("optim_target_modules", "the optimizer has state for some modules only"),
    ("unfrozen_parameters", "some parameters are trained: the estimate has all"),
    ("lora_modules_to_save", "these modules are trained fully, in addition to the adapter"),
    ("modules_to_save", "these modules are trained fully, in addition to the adapter"),
    ("pure_bf16", "no fp32 master weights: 4 B a parameter less than the estimate"),
    ("bfloat16", "no fp32 master weights: 4 B a parameter less than the estimate"),
];

/// The settings in a training configuration.
pub(super) fn settings(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let named = |name: &str| format!("`{name}` of {}", fields.path.display());
    let mut unread: Vec<String> = NOT_UNDERSTOOD
        .iter()
        .filter(|(name, _)| fields.value.get(name).is_some_and(matters))
        .map(|(name, what)| format!("{}: {what}", named(name)))
        .collect();
    let optimizer = fields.text("optim").or_else(|| fields.text("optimizer"));
    let known = optimizer.and_then(Optimizer::named);
    if let (Some(name), None) = (optimizer, known) {
        unread.push(format!(
            "{} = {name}: its state is not known; the estimate has Adam's, give --optimizer",
            named("optim")
        ));
    }
    let adafactor = (fields.flag("adafactor") == Some(true)).then_some(Optimizer::Adafactor);
    let deepspeed =
        ["deepspeed", "deepspeed_config", "deepspeed_config_file"].iter().find_map(|name| fields.value.get(name));
    let sharded = match deepspeed {
        Some(Value::Object(_)) => nested(Fields { value: deepspeed.unwrap_or(&Value::Null), ..fields })?,
        Some(Value::String(file)) => linked(fields.path, file, &mut unread),
        _ => Settings::default(),
    };
    let own = Settings {
        optimizer: adafactor.or(known),
        precision: precision(fields),
        batch: fields.count(&["per_device_train_batch_size", "micro_batch_size", "train_batch_size_per_device"])?,
        accumulation: fields.count(&["gradient_accumulation_steps"])?,
        sequence: fields.count(&[
            "max_seq_length",
            "max_length",
            "sequence_len",
            "model_max_length",
            "cutoff_len",
            "max_seq_len",
        ])?,
        checkpointing: checkpointing(fields),
        attention: attention(fields),
        tuning: tuning(fields)?,
        unread,
        ..Settings::default()
    };
    Ok(own.or(world(fields)?).or(fsdp(fields)).or(sharded))
}

/// Whether a value turns something on.
fn matters(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64().is_some_and(|number| number > 1.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// `deepspeed` or `deepspeed_config` as an object: DeepSpeed's own fields, or Accelerate's.
fn nested(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    if fields.value.get("zero_stage").is_none() {
        return deepspeed::settings(&fields);
    }
    let stage = fields.value.get("zero_stage").and_then(Value::as_u64).and_then(|stage| u8::try_from(stage).ok());
    let place = |name: &str| fields.text(name).and_then(|place| place.parse::<Offload>().ok());
    Ok(Settings {
        zero: stage.and_then(|stage| ZeroStage::try_from(stage).ok()),
        offload: place("offload_optimizer_device"),
        offload_parameters: place("offload_param_device"),
        zero_init: fields.flag("zero3_init_flag"),
        accumulation: fields.count(&["gradient_accumulation_steps"])?,
        ..Settings::default()
    })
}

/// A DeepSpeed configuration next to the file; listed as unread if it cannot be read.
fn linked(from: &Path, name: &str, unread: &mut Vec<String>) -> Settings {
    if name.is_empty() {
        return Settings::default();
    }
    let path = from.parent().unwrap_or(Path::new("")).join(name);
    deepspeed::read(&path).unwrap_or_else(|_| {
        unread.push(format!(
            "`deepspeed` of {} names {name}, which cannot be read: give it with --config",
            from.display()
        ));
        Settings::default()
    })
}

fn precision(fields: Fields<'_>) -> Option<Precision> {
    let on = |name: &str| match fields.value.get(name) {
        Some(Value::Bool(on)) => Some(*on),
        Some(Value::String(text)) if text == "auto" || text == "full" => Some(true),
        _ => None,
    };
    match fields.value.get("mixed_precision") {
        Some(Value::String(text)) if text == "bf16" => return Some(Precision::Bf16Mixed),
        Some(Value::String(text)) if text == "fp16" => return Some(Precision::Fp16Mixed),
        // YAML reads a bare `no` as false.
        Some(Value::String(text)) if text == "no" => return Some(Precision::Fp32),
        Some(Value::Bool(false)) => return Some(Precision::Fp32),
        _ => {}
    }
    match (on("bf16").or(on("bfloat16")), on("fp16").or(on("float16"))) {
        (Some(true), _) => Some(Precision::Bf16Mixed),
        (_, Some(true)) => Some(Precision::Fp16Mixed),
        (Some(false), Some(false)) => Some(Precision::Fp32),
        _ => None,
    }
}

fn checkpointing(fields: Fields<'_>) -> Option<bool> {
    let own = match fields.value.get("gradient_checkpointing") {
        Some(Value::Bool(on)) => Some(*on),
        // Axolotl's `unsloth` and `offload`.
        Some(Value::String(text)) => Some(!text.is_empty()),
        _ => None,
    };
    let fsdp = fields.object("fsdp_config");
    let sharded = fsdp.flag("activation_checkpointing").or(fsdp.flag("fsdp_activation_checkpointing"));
    own.filter(|on| *on).or(sharded).or(own)
}

fn attention(fields: Fields<'_>) -> Option<Attention> {
    let on = |name: &str| fields.flag(name) == Some(true);
    if ["flash_attention", "flash_attn", "sdp_attention", "xformers_attention", "use_flash_attention_2"]
        .into_iter()
        .any(on)
    {
        return Some(Attention::Sdpa);
    }
    let named = fields.text("attn_implementation").or_else(|| fields.text("_attn_implementation"))?;
    Some(if named == "eager" { Attention::Eager } else { Attention::Sdpa })
}

fn tuning(fields: Fields<'_>) -> Result<Option<Tuning>, EstimateError> {
    let peft = fields.object("peft_config");
    let rank = fields.count(&["lora_r", "lora_rank", "lora_dim"])?.or(peft.count(&["r"])?);
    let adapter = fields.text("adapter").or_else(|| fields.text("finetuning_type").filter(|kind| *kind == "lora"));
    let four = fields.flag("load_in_4bit") == Some(true)
        || fields.object("quantization_config").flag("load_in_4bit") == Some(true)
        || fields.value.get("quantization_bit").and_then(Value::as_u64) == Some(4);
    let adapted = adapter.is_some() || rank.is_some() || fields.flag("use_peft") == Some(true);
    let rank = rank.unwrap_or(RANK);
    Ok(match (adapter, adapted) {
        (Some("qlora"), _) => Some(Tuning::Qlora { rank }),
        (_, true) if four => Some(Tuning::Qlora { rank }),
        (_, true) => Some(Tuning::Lora { rank }),
        _ => None,
    })
}

fn world(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let nodes = fields.count(&["num_machines", "nnodes", "num_nodes"])?;
    let processes = fields.count(&["num_processes", "world_size"])?;
    let gpus = processes.map(|all| (all / nodes.unwrap_or(1)).max(1));
    let gpus = gpus.or(fields.count(&["nproc_per_node", "num_gpus"])?);
    Ok(Settings { gpus, nodes, ..Settings::default() })
}

/// FSDP in the notation of TrainingArguments, Accelerate and Axolotl.
fn fsdp(fields: Fields<'_>) -> Settings {
    let own = fields.object("fsdp_config");
    let words: Vec<&str> = match fields.value.get("fsdp") {
        Some(Value::String(text)) => text.split([' ', ',']).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let text = |name: &str| own.text(name).or_else(|| fields.text(name));
    let flag = |name: &str| own.flag(name).or_else(|| fields.flag(name));
    // FSDP 2 states whether weights are released between uses; version 1 uses names or numbers from 1.
    let reshard = ["fsdp_reshard_after_forward", "reshard_after_forward"].iter().find_map(|name| {
        let named = text(name).and_then(ZeroStage::named);
        named.or(flag(name).map(|on| if on { ZeroStage::Three } else { ZeroStage::Two }))
    });
    let strategy = ["fsdp_sharding_strategy", "sharding_strategy"].iter().find_map(|name| {
        let numbered = own.value.get(name).or(fields.value.get(name)).and_then(Value::as_u64);
        let numbered = numbered.and_then(|number| {
            [ZeroStage::Three, ZeroStage::Two, ZeroStage::Zero]
                .get(usize::try_from(number).ok()?.checked_sub(1)?)
                .copied()
        });
        text(name).and_then(ZeroStage::named).or(numbered)
    });
    let word = words.iter().find_map(|word| ZeroStage::named(word));
    let distributed = fields.text("distributed_type").filter(|kind| *kind == "FSDP").map(|_| ZeroStage::Three);
    let offloaded = words.contains(&"offload")
        || ["fsdp_offload_params", "offload_params", "fsdp_cpu_offload"].iter().any(|name| flag(name) == Some(true));
    let zero = strategy.or(reshard).or(word).or(distributed.or((!words.is_empty()).then_some(ZeroStage::Three)));
    let place = offloaded.then_some(Offload::Cpu);
    Settings {
        zero,
        offload: place,
        offload_parameters: place.filter(|_| zero == Some(ZeroStage::Three)),
        ..Settings::default()
    }
}
