//! The fields of a training configuration: TrainingArguments, Accelerate, FSDP, Axolotl.

use std::path::Path;

use serde_json::Value;

use super::adapter::{Attached, Targets};
use super::deepspeed;
use super::fields::Fields;
use super::settings::{Settings, ShardGroup};
use super::unread;
use crate::estimate::choices::{Attention, Offload, Precision, Tuning, ZeroStage};
use crate::estimate::error::EstimateError;
use crate::estimate::optimizer::Optimizer;

/// The rank of an adapter if the file does not set it.
const RANK: u64 = 16;

/// The settings in a training configuration.
pub(super) fn settings(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let named = |name: &str| format!("`{name}` of {}", fields.path.display());
    let mut unread = unread::of(fields);
    let optimizer = fields.text("optim").or_else(|| fields.text("optimizer"));
    let known = optimizer.and_then(Optimizer::named);
    // The trainer's SGD has no momentum unless its arguments set one.
    let momentum = fields.text("optim_args").is_some_and(|text| text.contains("momentum"));
    let plain = fields.text("optim").is_some() && !momentum;
    let known = known.map(|known| if known == Optimizer::Sgd && plain { Optimizer::PlainSgd } else { known });
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
        optimizer_rank: rank(fields),
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
        attached: attached(fields),
        unread,
        ..Settings::default()
    };
    Ok(own.or(world(fields)?).or(fsdp(fields)).or(sharded))
}

/// The rank of GaLore's or APOLLO's subspace: `optim_args` as a text `rank=64, scale=2`, or a field of its own.
fn rank(fields: Fields<'_>) -> Option<u64> {
    let listed = fields.text("optim_args").and_then(|text| {
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| name.trim() == "rank").find_map(|(_, value)| value.trim().parse().ok())
    });
    let own = ["galore_rank", "apollo_rank"].iter().find_map(|name| fields.value.get(*name)?.as_u64());
    listed.or(own).filter(|&rank: &u64| rank > 0)
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
    // No weights in fp32: torchtune, LLaMA-Factory; Axolotl.
    if on("pure_bf16") == Some(true) || on("bfloat16") == Some(true) {
        return Some(Precision::Bf16);
    }
    match (on("bf16").or(on("bfloat16")), on("fp16").or(on("float16"))) {
        (Some(true), _) => Some(Precision::Bf16Mixed),
        (_, Some(true)) => Some(Precision::Fp16Mixed),
        (Some(false), Some(false)) => Some(Precision::Fp32),
        _ => None,
    }
}

fn checkpointing(fields: Fields<'_>) -> Option<bool> {
    let names = ["gradient_checkpointing", "use_gradient_checkpointing", "enable_activation_checkpointing"];
    let peft = peft_part(fields);
    let given = |name: &&str| fields.value.get(*name).or_else(|| peft.value.get(*name));
    let own = match names.iter().find_map(given) {
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

/// The fields of peft: of an `adapter_config.json`, or of a part of another file.
fn peft_part(fields: Fields<'_>) -> Fields<'_> {
    if fields.value.get("peft_type").is_some() { fields } else { fields.object("peft_config") }
}

fn tuning(fields: Fields<'_>) -> Result<Option<Tuning>, EstimateError> {
    let peft = peft_part(fields);
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

/// Names in a list, or in a text that separates them by commas.
fn names(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => {
            text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
        }
        Some(Value::Array(items)) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    }
}

/// The layers with an adapter, as peft's configuration, TRL, Axolotl and LLaMA-Factory name them.
fn attached(fields: Fields<'_>) -> Option<Attached> {
    let peft = peft_part(fields);
    let own = |name: &str| peft.value.get(name).filter(|value| !value.is_null());
    let top = |names: &[&'static str]| {
        let found = names.iter().find_map(|name| Some((*name, fields.value.get(*name)?)));
        found.filter(|(_, value)| !value.is_null())
    };
    let factory = fields.text("finetuning_type").is_some();
    let named = top(&["lora_target_modules", "lora_target"]);
    let named = named.or_else(|| Some(("target_modules", own("target_modules")?)));
    let every = fields.flag("lora_target_linear") == Some(true);
    let targets = match named {
        Some((_, Value::String(text))) if text.contains(['*', '(', '[', '|', '\\', '^']) => {
            Targets::Pattern(text.clone())
        }
        Some((_, value)) if !every => Attached::named("", &names(Some(value))).targets,
        // peft chooses; Axolotl and LLaMA-Factory do not.
        None if !every && !factory && (peft.value.is_object() || fields.flag("use_peft") == Some(true)) => {
            Targets::Usual
        }
        _ => Targets::AllLinear,
    };
    let either =
        |top_names: &[&'static str], own_name: &str| top(top_names).map(|(_, value)| value).or_else(|| own(own_name));
    let on = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(true);
    let task = either(&["lora_task_type", "task_type"], "task_type").and_then(Value::as_str).unwrap_or("");
    let task = task.rsplit('.').next().unwrap_or("");
    let source = format!("`{}` of {}", named.map_or("target_modules", |(name, _)| name), fields.path.display());
    Some(Attached {
        source,
        targets,
        excluded: names(either(&["lora_exclude_modules", "exclude_modules"], "exclude_modules")),
        saved: names(either(&["lora_modules_to_save", "modules_to_save", "additional_target"], "modules_to_save")),
        magnitudes: on(either(&["peft_use_dora", "use_dora"], "use_dora")),
        biased: on(own("lora_bias")),
        classifier: matches!(task, "SEQ_CLS" | "TOKEN_CLS" | "QUESTION_ANS"),
        words_only: factory && fields.flag("freeze_vision_tower") != Some(false),
    })
}

pub(super) fn world(fields: Fields<'_>) -> Result<Settings, EstimateError> {
    let nodes = fields.count(&["num_machines", "nnodes", "num_nodes"])?;
    let processes = fields.count(&["num_processes", "world_size"])?;
    let gpus = processes.map(|all| (all / nodes.unwrap_or(1)).max(1));
    let gpus = gpus.or(fields.count(&["nproc_per_node", "num_gpus"])?);
    Ok(Settings { gpus, nodes, ..Settings::default() })
}

/// What a strategy of FSDP shards, and over which GPUs.
fn strategy(text: &str) -> Option<(ZeroStage, Option<ShardGroup>)> {
    let whole = ZeroStage::named(text).map(|stage| (stage, None));
    whole.or_else(|| Some((ZeroStage::hybrid(text)?, Some(ShardGroup::Node))))
}

/// Accelerate's numbers of strategies, from 1.
const NUMBERED: [&str; 5] = ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"];

/// Words of TrainingArguments' `fsdp` that are no strategy.
const WORDS: [&str; 4] = ["offload", "auto_wrap", "wrap", ""];

/// FSDP in the notation of TrainingArguments, Accelerate and Axolotl.
fn fsdp(fields: Fields<'_>) -> Settings {
    let own = fields.object("fsdp_config");
    let file = fields.path.display();
    let mut unread = Vec::new();
    // An enum prints as `FSDPOption.FULL_SHARD`.
    let word = |word: &str| word.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
    let words: Vec<String> = match fields.value.get("fsdp") {
        Some(Value::String(text)) => text.split([' ', ',']).map(word).collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(word).collect(),
        _ => Vec::new(),
    };
    let on = fields.flag("fsdp") == Some(true) || !words.is_empty();
    for strange in words.iter().filter(|word| !WORDS.contains(&word.as_str()) && strategy(word).is_none()) {
        unread
            .push(format!("`fsdp` of {file} = {strange}: not understood, give --zero; the estimate shards everything"));
    }
    let text = |name: &str| own.text(name).or_else(|| fields.text(name));
    let flag = |name: &str| own.flag(name).or_else(|| fields.flag(name));
    // FSDP 2 states whether weights are released between uses; version 1 uses names or numbers from 1.
    let reshard = ["fsdp_reshard_after_forward", "reshard_after_forward"].iter().find_map(|name| {
        let named = text(name).and_then(strategy);
        named.or(flag(name).map(|on| (if on { ZeroStage::Three } else { ZeroStage::Two }, None)))
    });
    let mut told = None;
    for name in ["fsdp_sharding_strategy", "sharding_strategy"] {
        let Some(value) = own.value.get(name).or(fields.value.get(name)).filter(|value| !value.is_null()) else {
            continue;
        };
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        let number = number.and_then(|number| NUMBERED.get(usize::try_from(number).ok()?.checked_sub(1)?).copied());
        told = number.or(value.as_str()).and_then(strategy);
        if told.is_none() {
            unread.push(format!(
                "`{name}` of {file} = {value}: not understood, give --zero; the estimate shards everything"
            ));
        }
        break;
    }
    let word = words.iter().find_map(|word| strategy(word));
    let named = fields.text("distributed_type").map(|kind| kind.rsplit('.').next().unwrap_or("").to_ascii_uppercase());
    let distributed = match named.as_deref() {
        Some("FSDP") => true,
        Some("MEGATRON_LM" | "XLA" | "TPU") => {
            unread.push(format!("`distributed_type` of {file}: its layout is not read; give --convention, --tp, --pp"));
            false
        }
        _ => false,
    };
    let offloaded = words.iter().any(|word| word == "offload")
        || ["fsdp_offload_params", "offload_params", "fsdp_cpu_offload"].iter().any(|name| flag(name) == Some(true));
    let found = told.or(reshard).or(word).or((distributed || on).then_some((ZeroStage::Three, None)));
    let (zero, group) = found.map_or((None, None), |(zero, group)| (Some(zero), group));
    // A mesh of replicas and shards.
    let mesh = fields.object("parallelism_config");
    let size = |name: &str| mesh.value.get(name).or_else(|| fields.value.get(name)).and_then(Value::as_u64);
    let replicas = ["dp_replicate_size", "parallelism_config_dp_replicate_size"].iter().find_map(|name| size(name));
    let shards = ["dp_shard_size", "parallelism_config_dp_shard_size"].iter().find_map(|name| size(name));
    let meshed = shards.filter(|_| replicas.is_some_and(|replicas| replicas > 1)).map(ShardGroup::Gpus);
    if group == Some(ShardGroup::Node) && fields.value.get("num_machines").is_none() {
        unread.push(format!(
            "{file} shards within each node and does not say how many there are: give --gpus of one node, and --nodes"
        ));
    }
    let place = offloaded.then_some(Offload::Cpu);
    Settings {
        zero,
        shard_group: meshed.or(group),
        offload: place,
        offload_parameters: place.filter(|_| zero == Some(ZeroStage::Three)),
        unread,
        ..Settings::default()
    }
}
