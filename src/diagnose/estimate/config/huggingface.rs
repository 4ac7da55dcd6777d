//! The fields of a Hugging Face `config.json`, and the parameters that they make.

use serde_json::Value;

use super::fields::Fields;
use super::settings::Settings;
use crate::estimate::error::EstimateError;

/// What a family of models has beside its widths.
struct Family {
    /// Three matrices in the MLP.
    gated: bool,
    /// LayerNorm with a bias, in place of RMSNorm.
    layer_norm: bool,
    /// Norms of the full width in each layer.
    norms: u64,
    /// Norms of one head's width in each layer: of queries and keys.
    head_norms: u64,
    /// Biases of queries, keys and values.
    qkv_bias: bool,
    /// Biases of the attention's output and of the MLP.
    biases: bool,
    /// Whether the output layer shares the embedding's matrix where the file does not tell.
    tied: bool,
    /// Learned positions: rows beyond `max_position_embeddings`; absent without.
    positions: Option<u64>,
}

impl Family {
    fn of(model_type: &str, fields: &Fields<'_>) -> Self {
        let rms = Self {
            gated: true,
            layer_norm: false,
            norms: 2,
            head_norms: 0,
            qkv_bias: false,
            biases: false,
            tied: false,
            positions: None,
        };
        let classic = Self { gated: false, layer_norm: true, qkv_bias: true, biases: true, ..rms };
        match model_type {
            "llama" | "mistral" | "mixtral" | "phi3" | "olmo2" => Self { ..rms },
            "qwen2" => Self { qkv_bias: true, ..rms },
            "qwen3" => Self { head_norms: 2, ..rms },
            "gemma" => Self { tied: true, ..rms },
            "gemma2" => Self { tied: true, norms: 4, ..rms },
            "gemma3" | "gemma3_text" => Self { tied: true, norms: 4, head_norms: 2, ..rms },
            "gpt2" => Self { tied: true, positions: Some(0), ..classic },
            "opt" => Self { tied: true, positions: Some(2), ..classic },
            "gpt_neox" => classic,
            // Any other: a norm without a bias goes with a gated MLP.
            _ if fields.value.get("rms_norm_eps").is_some() => Self { tied: true, ..rms },
            _ => Self { tied: true, ..classic },
        }
    }
}

/// The decoder's widths.
struct Widths {
    layers: u64,
    hidden: u64,
    query: u64,
    key_value: u64,
    head: u64,
    ffn: u64,
    vocabulary: u64,
    experts: u64,
    positions: u64,
}

/// What a `config.json` tells.
pub(super) fn settings(fields: &Fields<'_>) -> Result<Settings, EstimateError> {
    let model_type = fields.text("model_type").unwrap_or("");
    let mut family = Family::of(model_type, fields);
    if fields.flag("attention_bias") == Some(true) {
        family.qkv_bias = true;
    }
    let hidden = fields.count(&["hidden_size", "n_embd", "d_model"])?;
    let layers = fields.count(&["num_hidden_layers", "n_layer", "num_layers"])?;
    let heads = fields.count(&["num_attention_heads", "n_head", "num_heads"])?;
    let key_value_heads = fields.count(&["num_key_value_heads"])?;
    let vocabulary = fields.count(&["vocab_size"])?;
    let ffn = fields.count(&["intermediate_size", "n_inner", "ffn_dim", "d_ff"])?;
    let head = fields.count(&["head_dim"])?.or_else(|| hidden?.checked_div(heads?));
    let wide = |heads: Option<u64>| heads?.checked_mul(head?);
    let query = wide(heads).or(hidden);
    let key_value = wide(key_value_heads.or(heads)).or(hidden);
    let untied = !fields.flag("tie_word_embeddings").unwrap_or(family.tied);
    // Experts of Mixtral's kind are counted; others have fields of their own.
    let experts = fields.count(&["num_local_experts"])?;
    let other_experts = ["num_experts", "n_routed_experts", "moe_intermediate_size"];
    let countable = !other_experts.iter().any(|name| fields.value.get(name).is_some_and(|v| !matches!(v, Value::Null)));

    let widths = || {
        let hidden = hidden?;
        let rows = match family.positions {
            Some(more) => fields.count(&["max_position_embeddings", "n_positions"]).ok()??.checked_add(more)?,
            None => 0,
        };
        Some(Widths {
            layers: layers?,
            hidden,
            query: query?,
            key_value: key_value?,
            head: head.unwrap_or(0),
            ffn: ffn.or(hidden.checked_mul(4))?,
            vocabulary: vocabulary?,
            experts: experts.unwrap_or(0),
            positions: rows,
        })
    };
    let parameters = if countable { widths().and_then(|widths| parameters(&family, &widths, untied)) } else { None };
    Ok(Settings {
        parameters,
        layers,
        hidden,
        heads,
        key_value,
        query,
        ffn,
        gated: Some(family.gated),
        vocabulary,
        untied: Some(untied),
        ..Settings::default()
    })
}

/// The parameters of a decoder, exactly for the families that are known; `None` where they exceed 64 bits.
fn parameters(family: &Family, widths: &Widths, untied: bool) -> Option<u64> {
    let wide = u128::from;
    let Widths { layers, hidden, query, key_value, head, ffn, vocabulary, experts, positions } = *widths;
    // Each factor is below 2^53, so that sums and products of two and three stay within 128 bits, or are checked.
    let attention = wide(hidden) * (2 * wide(query) + 2 * wide(key_value));
    let mlp = wide(hidden).checked_mul(wide(ffn))?.checked_mul(if family.gated { 3 } else { 2 })?;
    let (copies, router) = if experts > 0 { (wide(experts), wide(hidden) * wide(experts)) } else { (1, 0) };
    let mut layer = attention.checked_add(mlp.checked_mul(copies)?)?.checked_add(router)?;
    let norm = wide(hidden) * if family.layer_norm { 2 } else { 1 };
    layer = layer.checked_add(norm * wide(family.norms) + wide(head) * wide(family.head_norms))?;
    if family.qkv_bias {
        layer = layer.checked_add(wide(query) + 2 * wide(key_value))?;
    }
    if family.biases {
        layer = layer.checked_add(2 * wide(hidden) + wide(ffn))?;
    }
    let embedding = wide(hidden) * wide(vocabulary);
    let whole = layer.checked_mul(wide(layers))?.checked_add(embedding * if untied { 2 } else { 1 })?;
    let whole = whole.checked_add(norm)?.checked_add(wide(positions) * wide(hidden))?;
    u64::try_from(whole).ok()
}
