//! Configurations of other trainers, in the names of TrainingArguments: torchtune, NeMo, command lines.

use serde_json::{Map, Value, json};

use super::scalar::scalar;

/// The most arguments of a command line that are read.
const MOST_ARGUMENTS: usize = 4096;

/// The fields in the names that the rest of this module reads.
pub(super) fn in_our_names(value: Value) -> Value {
    let component = |part: &str| Some(value.get(part)?.get("_component_")?.as_str()?.to_owned());
    if let Some(model) = component("model") {
        return torchtune(&value, &model, component("optimizer"));
    }
    let nemo = value.get("model").filter(|model| model.get("tensor_model_parallel_size").is_some());
    match nemo.and_then(Value::as_object) {
        Some(model) => nemo_fields(model, value.get("trainer").unwrap_or(&Value::Null)),
        None => value,
    }
}

/// torchtune names components by the path of their class, and the layers of its own models.
fn torchtune(value: &Value, model: &str, optimizer: Option<String>) -> Value {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    let own = value.get("model").cloned().unwrap_or_default();
    for part in ["model", "optimizer", "tokenizer", "dataset", "checkpointer"] {
        fields.remove(part);
    }
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            fields.insert(name.to_owned(), value);
        }
    };
    set("optimizer", optimizer.map(Value::from));
    set("micro_batch_size", value.get("batch_size").cloned());
    set("max_seq_len", value.get("tokenizer").and_then(|part| part.get("max_seq_len")).cloned());
    let sixteen = value.get("dtype").and_then(Value::as_str) == Some("bf16");
    set("bf16", Some(sixteen.into()));
    set("fp16", Some(false.into()));
    // Its bf16 keeps no weights in fp32.
    set("pure_bf16", sixteen.then_some(Value::Bool(true)));
    set("dtype", None);
    let name = model.rsplit('.').next().unwrap_or("");
    let kind = ["qlora_", "lora_"].into_iter().find(|kind| name.starts_with(kind));
    if let Some(kind) = kind {
        set("adapter", Some(kind.trim_end_matches('_').into()));
        set("lora_r", own.get("lora_rank").cloned());
        set("use_dora", own.get("use_dora").cloned());
        let on = |name: &str| own.get(name).and_then(Value::as_bool) == Some(true);
        let listed = own.get("lora_attn_modules").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut targets: Vec<Value> =
            listed.into_iter().map(|name| if name == "output_proj" { "o_proj".into() } else { name }).collect();
        if on("apply_lora_to_mlp") {
            targets.extend(["gate_proj", "up_proj", "down_proj"].map(Value::from));
        }
        if on("apply_lora_to_output") {
            targets.push("lm_head".into());
        }
        set("lora_target_modules", Some(targets.into()));
    }
    fields.remove("dtype");
    fields.into()
}

/// NeMo keeps Megatron's fields in `model`, and the machines in `trainer`.
fn nemo_fields(model: &Map<String, Value>, trainer: &Value) -> Value {
    let mut fields = model.clone();
    let mut rename = |old: &str, new: &str| {
        if let Some(value) = fields.remove(old) {
            fields.insert(new.to_owned(), value);
        }
    };
    rename("encoder_seq_length", "seq_length");
    rename("activations_checkpoint_granularity", "recompute_granularity");
    let optimizer = model.get("optim").and_then(|part| part.get("name")).cloned();
    let distributed = optimizer.as_ref().and_then(Value::as_str).is_some_and(|name| name.contains("distributed"));
    for (name, value) in [
        ("optimizer", optimizer.unwrap_or_default()),
        ("use_distributed_optimizer", distributed.into()),
        ("nproc_per_node", trainer.get("devices").cloned().unwrap_or_default()),
        ("nnodes", trainer.get("num_nodes").cloned().unwrap_or_default()),
        ("precision", trainer.get("precision").cloned().unwrap_or_default()),
    ] {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    }
    fields.into()
}

/// The arguments of a command line or a script: `--micro-batch-size 2`, `--bf16`, `--lr=1e-4`.
pub(super) fn arguments(text: &str) -> Map<String, Value> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let code = code.map(|line| line.split(" #").next().unwrap_or("")).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = code.split_whitespace().filter(|word| *word != "\\").take(MOST_ARGUMENTS).collect();
    let bare = |word: &str| word.trim_matches(|c| matches!(c, '"' | '\'' | '(' | ')' | '\\' | ',')).to_owned();
    let is_flag = |word: &str| {
        let name = word.strip_prefix("--")?.split('=').next()?;
        (name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
            .then_some(name.to_owned())
    };
    let words: Vec<String> = words.into_iter().map(bare).collect();
    let mut fields = Map::new();
    for (at, word) in words.iter().enumerate() {
        let Some(name) = is_flag(word) else { continue };
        let value = match word.split_once('=') {
            Some((_, value)) => scalar(value),
            None => {
                let values = words[at + 1..].iter().take_while(|word| is_flag(word).is_none() && !word.contains('='));
                let values: Vec<Value> = values.take(64).map(|value| scalar(value)).collect();
                match values.len() {
                    0 => Value::Bool(true),
                    1 => values[0].clone(),
                    // A value and the command that follows it, or several names.
                    _ if name.contains("modules") || name.contains("target") => json!(values),
                    _ => values[0].clone(),
                }
            }
        };
        fields.insert(name.replace('-', "_"), value);
    }
    fields
}

/// JSON with comments and commas before closing brackets, as plain JSON; texts stay as they are.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                plain.push(c);
                while let Some(c) = rest.next() {
                    plain.push(c);
                    match c {
                        '\\' => plain.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) | ('#', _) => {
                while rest.peek().is_some_and(|&c| c != '\n') {
                    rest.next();
                }
            }
            ('/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ('}' | ']', _) => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}
