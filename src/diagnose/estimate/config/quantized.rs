//! `quantization_config` of a `config.json`: how many bytes a stored parameter takes.

use serde_json::Value;

use super::fields::Fields;
use crate::estimate::rate::Rate;

/// How the weights of a file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Bytes of a quantized parameter, with its share of the constants.
    pub(super) rate: Rate,
    /// Whether only experts are quantized.
    pub(super) experts: bool,
    /// Whether vision and audio towers are quantized, too.
    pub(super) towers: bool,
}

/// What a file says about quantization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantized {
    /// The format; absent without quantization, and if it is not understood.
    pub(super) format: Option<Format>,
    /// What is not understood.
    pub(super) unread: Vec<String>,
}

/// Lists of modules that keep their precision.
const SPARED: [&str; 5] =
    ["modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"];

/// Parts of the names of modules that are not weight matrices of a layer, or are too small to matter.
const SMALL: [&str; 14] = [
    "lm_head",
    "embed",
    "norm",
    "router",
    "rotary",
    "conv1d",
    "in_proj_ba",
    "score",
    "classifier",
    "shared_expert_gate",
    "mlp.gate",
    "mtp",
    "e_score",
    "block_sparse_moe.gate",
];

/// Parts of names of towers, and of what joins them to a decoder.
const TOWERS: [&str; 11] = [
    "visual",
    "vision",
    "audio",
    "projector",
    "aligner",
    "talker",
    "token2wav",
    "code2wav",
    "connector",
    "img_",
    "image_newline",
];

/// Fields that change other memory, with what the estimate has.
const OTHER: [(&str, &str); 6] = [
    ("kv_cache_scheme", "keys and values take fewer bits; the estimate has 16"),
    ("kv_cache_quant_algo", "keys and values take fewer bits; the estimate has 16"),
    ("sparsity_config", "zeros are not stored; the estimate has them"),
    ("dynamic", "some modules have other bits; the estimate has the same for all"),
    ("modules_in_block_to_quantize", "other modules keep 16 bits; the estimate has all quantized"),
    ("lm_head", "the output layer is quantized; the estimate has it in 16 bits"),
];

/// What `quantization_config` says.
pub(super) fn read(fields: Fields<'_>) -> Quantized {
    let own = fields.object("quantization_config");
    let older = fields.object("compression_config");
    let own = if own.value.is_object() { own } else { older };
    if !own.value.is_object() {
        return Quantized::default();
    }
    let file = fields.path.display();
    let method = own.text("quant_method").map(str::to_ascii_lowercase);
    let method = method.or_else(|| by_flags(own).map(str::to_owned)).unwrap_or_default();
    let Some(rate) = rate(own, &method) else {
        let what = format!(
            "`quantization_config` of {file}: `{}` is not understood as it stands there; weights are counted at 2 B a \
             parameter",
            if method.is_empty() { "quant_method" } else { &method }
        );
        return Quantized { format: None, unread: vec![what] };
    };
    let experts = method == "mxfp4";
    let mut unread = Vec::new();
    for (name, what) in OTHER {
        let there = own.value.get(name).is_some_and(|value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Object(fields) => !fields.is_empty() && fields.get("format").is_none_or(|kind| kind != "dense"),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        if there {
            unread.push(format!("`quantization_config.{name}` of {file}: {what}"));
        }
    }
    let spared: Vec<&str> = SPARED
        .iter()
        .filter_map(|name| own.value.get(name)?.as_array())
        .flat_map(|names| names.iter().filter_map(Value::as_str))
        .collect();
    let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let towers = !spared.iter().any(|name| has(name, &TOWERS));
    let strange: Vec<&str> = spared
        .into_iter()
        .filter(|name| {
            !has(name, &SMALL) && !has(name, &TOWERS) && !name.ends_with(".gate") && !name.ends_with("gate$")
        })
        .filter(|name| !(experts && name.contains("attn")))
        .collect();
    if let Some(first) = strange.first() {
        unread.push(format!(
            "`quantization_config` of {file} leaves {} modules in 16 bits, such as {first}; the estimate has them quantized",
            strange.len()
        ));
    }
    Quantized { format: Some(Format { rate, experts, towers }), unread }
}

/// The method of a configuration that does not name one.
fn by_flags(own: Fields<'_>) -> Option<&'static str> {
    let on = |name: &str| own.flag(name) == Some(true);
    let bits = ["load_in_4bit", "_load_in_4bit", "load_in_8bit", "_load_in_8bit"].into_iter().any(on);
    bits.then_some("bitsandbytes")
}

/// Bytes of a quantized parameter; `None` if the method, or one of its settings, is not understood.
fn rate(own: Fields<'_>, method: &str) -> Option<Rate> {
    let number = |name: &str| own.value.get(name).and_then(Value::as_u64);
    match method {
        "fp8" | "fbgemm_fp8" => Some(match own.value.get("weight_block_size") {
            // A scale in fp32 for each block.
            Some(Value::Array(sides)) => {
                let sides: Vec<u64> = sides.iter().filter_map(Value::as_u64).filter(|&side| side <= 1 << 16).collect();
                match sides[..] {
                    [rows, columns] if rows > 0 && columns > 0 => Rate::fraction(rows * columns + 4, rows * columns),
                    _ => return None,
                }
            }
            _ => Rate::ONE,
        }),
        // Blocks of 32 values of 4 bits share a scale of one byte.
        "mxfp4" => Some(grouped(4, Some(32), 8)),
        // A scale of 16 bits, and a zero point of as many bits as a value.
        "awq" | "gptq" | "auto-round" | "intel/auto-round" => {
            let bits = number("bits").or_else(|| number("w_bit")).filter(|bits| (2..=8).contains(bits))?;
            let group = own.value.get("group_size").or_else(|| own.value.get("q_group_size"));
            let group = group.and_then(Value::as_i64)?;
            Some(grouped(bits, u64::try_from(group).ok().filter(|&group| group > 0), 16 + bits))
        }
        "bitsandbytes" | "bitsandbytes_4bit" | "bitsandbytes_8bit" => {
            let on = |name: &str| own.flag(name) == Some(true) || own.flag(&format!("_{name}")) == Some(true);
            match (on("load_in_4bit") || method.ends_with("_4bit"), on("load_in_8bit") || method.ends_with("_8bit")) {
                // Constants of 32 bits for 64 values, or themselves in 8 bits: 0.127 bits a value.
                (true, _) if on("bnb_4bit_use_double_quant") => Some(Rate::fraction(4127, 8000)),
                (true, _) => Some(grouped(4, Some(64), 32)),
                (_, true) => Some(Rate::ONE),
                _ => None,
            }
        }
        "eetq" => Some(Rate::ONE),
        "compressed-tensors" => compressed(own),
        "modelopt" | "modelopt_fp4" => {
            let nested = own.object("quantization");
            match own.text("quant_algo").or_else(|| nested.text("quant_algo"))?.to_ascii_uppercase().as_str() {
                "FP8" => Some(Rate::ONE),
                "NVFP4" => Some(grouped(4, Some(16), 8)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `bits` for each value, and `constants` bits for each group of `group`.
fn grouped(bits: u64, group: Option<u64>, constants: u64) -> Rate {
    match group.filter(|&group| group <= 1 << 20) {
        Some(group) => Rate::fraction(bits * group + constants, 8 * group),
        // One for each row.
        None => Rate::fraction(bits, 8),
    }
}

/// The single scheme of a compressed checkpoint, for all linear layers.
fn compressed(own: Fields<'_>) -> Option<Rate> {
    let groups = own.value.get("config_groups")?.as_object()?;
    let mut groups = groups.values();
    let (only, None) = (groups.next()?, groups.next()) else { return None };
    let targets = only.get("targets").and_then(Value::as_array)?;
    if !targets.iter().any(|target| target == "Linear") {
        return None;
    }
    let weights = only.get("weights").filter(|weights| weights.is_object())?;
    let bits = weights.get("num_bits").and_then(Value::as_u64).filter(|bits| (2..=8).contains(bits))?;
    let float = weights.get("type").and_then(Value::as_str) == Some("float");
    let zero = if weights.get("symmetric").and_then(Value::as_bool) == Some(false) { bits } else { 0 };
    // Floats of 4 bits have scales of 8 bits.
    let scale = if float && bits == 4 { 8 } else { 16 };
    let group = weights.get("group_size").and_then(Value::as_u64).filter(|&group| group > 0);
    match weights.get("strategy").and_then(Value::as_str) {
        Some("group" | "tensor_group") => Some(grouped(bits, Some(group?), scale + zero)),
        Some("tensor" | "channel" | "block") | None => Some(Rate::fraction(bits, 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn read_of(config: Value) -> Quantized {
        let value = json!({ "quantization_config": config });
        read(Fields { path: Path::new("config.json"), value: &value })
    }

    #[test]
    fn methods_have_the_bytes_of_their_values_and_constants() {
        for (config, expected) in [
            (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), 1.0 + 4.0 / 16384.0),
            (json!({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}), 1.0),
            (
                json!({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}),
                0.53125,
            ),
            (json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}), 0.5 + 2.5 / 128.0),
            (json!({"quant_method": "gptq", "bits": 8, "group_size": -1, "desc_act": false, "lm_head": false}), 1.0),
            (json!({"quant_method": "gptq", "bits": 3, "group_size": 32}), 0.375 + 2.375 / 32.0),
            (json!({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}), 0.5625),
            (json!({"load_in_4bit": true, "bnb_4bit_use_double_quant": true}), 0.515_875),
            (json!({"quant_method": "bitsandbytes", "_load_in_8bit": true, "_load_in_4bit": false}), 1.0),
            (json!({"quant_method": "modelopt", "quant_algo": "NVFP4"}), 0.5625),
            (
                json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
                    "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true}}},
                    "ignore": ["lm_head", "re:.*mlp.gate$"], "kv_cache_scheme": null}),
                0.5 + 2.0 / 128.0,
            ),
        ] {
            let found = read_of(config.clone());
            assert!((found.format.unwrap().rate.value() - expected).abs() < 1e-9, "{config}: {found:?}");
            assert_eq!(found.unread, [""; 0], "{config}");
        }
        assert_eq!(read_of(Value::Null), Quantized::default());
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (config, words) in [
            (json!({"quant_method": "aqlm", "nbits_per_codebook": 16}), "`aqlm` is not understood"),
            (json!({"bits": 4}), "`quant_method` is not understood"),
            (json!({"quant_method": "awq", "bits": 4}), "`awq` is not understood"),
            (json!({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}), "`modelopt` is not understood"),
        ] {
            let found = read_of(config);
            assert!(found.format.is_none() && found.unread[0].contains(words), "{found:?}");
        }
        let found = read_of(json!({"quant_method": "fp8", "modules_to_not_convert":
            ["lm_head", "model.layers.0.mlp.gate", "model.layers.0.mlp.down_proj", "model.layers.1.self_attn.o_proj"]}));
        assert!(found.format.is_some() && found.unread[0].contains("leaves 2 modules"), "{found:?}");
        let seen =
            read_of(json!({"quant_method": "fp8", "modules_to_not_convert": ["model.visual.blocks.0.attn.proj"]}));
        assert!(!seen.format.unwrap().towers && seen.unread.is_empty(), "{seen:?}");
        let kept = read_of(json!({"quant_method": "fp8", "kv_cache_scheme": {"num_bits": 8}}));
        assert!(kept.unread[0].contains("keys and values"), "{kept:?}");
    }
}
