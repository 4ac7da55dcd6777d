//! Names of layers, as transformers' classes have them.
//!
//! The parts of layers name their matrices as Llama does; a family with other names has a table here. Several old names
//! that become one new name are matrices that the family keeps as one layer.

use super::block::{Block, NOTHING, linear};
use super::counted::Counted;
use crate::estimate::config::adapter::Kind;

/// Pairs of the name in Llama and the family's own.
type Names = [(&'static str, &'static str)];

const SHARED_EXPERT: &Names = &[
    ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj"),
    ("mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj"),
    ("mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj"),
];

const GRANITE: &Names = &[
    ("mlp.shared_experts.gate_proj", "shared_mlp.input_linear"),
    ("mlp.shared_experts.up_proj", "shared_mlp.input_linear"),
    ("mlp.shared_experts.down_proj", "shared_mlp.output_linear"),
    ("mlp.gate_proj", "shared_mlp.input_linear"),
    ("mlp.up_proj", "shared_mlp.input_linear"),
    ("mlp.down_proj", "shared_mlp.output_linear"),
];

const LLAMA4: &Names = &[
    ("mlp.shared_experts.gate_proj", "feed_forward.shared_expert.gate_proj"),
    ("mlp.shared_experts.up_proj", "feed_forward.shared_expert.up_proj"),
    ("mlp.shared_experts.down_proj", "feed_forward.shared_expert.down_proj"),
    ("mlp.gate_proj", "feed_forward.gate_proj"),
    ("mlp.up_proj", "feed_forward.up_proj"),
    ("mlp.down_proj", "feed_forward.down_proj"),
    ("mlp.gate", "feed_forward.router"),
];

const FEED_FORWARD: &Names = &[
    ("mlp.gate_proj", "feed_forward.gate_proj"),
    ("mlp.up_proj", "feed_forward.up_proj"),
    ("mlp.down_proj", "feed_forward.down_proj"),
];

const PHI: &Names =
    &[("self_attn.o_proj", "self_attn.dense"), ("mlp.up_proj", "mlp.fc1"), ("mlp.down_proj", "mlp.fc2")];

const GATE_UP: &Names = &[("mlp.gate_proj", "mlp.gate_up_proj"), ("mlp.up_proj", "mlp.gate_up_proj")];

const PHI3: &Names = &[
    ("self_attn.q_proj", "self_attn.qkv_proj"),
    ("self_attn.k_proj", "self_attn.qkv_proj"),
    ("self_attn.v_proj", "self_attn.qkv_proj"),
    ("mlp.gate_proj", "mlp.gate_up_proj"),
    ("mlp.up_proj", "mlp.gate_up_proj"),
];

const MIXER: &Names = &[
    ("mamba.in_proj", "mixer.in_proj"),
    ("mamba.x_proj", "mixer.x_proj"),
    ("mamba.dt_proj", "mixer.dt_proj"),
    ("mamba.out_proj", "mixer.out_proj"),
    ("self_attn.q_proj", "mixer.q_proj"),
    ("self_attn.k_proj", "mixer.k_proj"),
    ("self_attn.v_proj", "mixer.v_proj"),
    ("self_attn.o_proj", "mixer.o_proj"),
    ("mlp.up_proj", "mixer.up_proj"),
    ("mlp.down_proj", "mixer.down_proj"),
    ("mlp.shared_experts.up_proj", "mixer.shared_experts.up_proj"),
    ("mlp.shared_experts.down_proj", "mixer.shared_experts.down_proj"),
];

const BLOOM: &Names = &[
    ("self_attn.q_proj", "self_attention.query_key_value"),
    ("self_attn.k_proj", "self_attention.query_key_value"),
    ("self_attn.v_proj", "self_attention.query_key_value"),
    ("self_attn.o_proj", "self_attention.dense"),
    ("mlp.up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
];

const NEOX: &Names = &[
    ("self_attn.q_proj", "attention.query_key_value"),
    ("self_attn.k_proj", "attention.query_key_value"),
    ("self_attn.v_proj", "attention.query_key_value"),
    ("self_attn.o_proj", "attention.dense"),
    ("mlp.up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
];

const PERSIMMON: &Names = &[
    ("self_attn.q_proj", "self_attn.query_key_value"),
    ("self_attn.k_proj", "self_attn.query_key_value"),
    ("self_attn.v_proj", "self_attn.query_key_value"),
    ("self_attn.o_proj", "self_attn.dense"),
    ("mlp.up_proj", "mlp.dense_h_to_4h"),
    ("mlp.down_proj", "mlp.dense_4h_to_h"),
];

const GPT2: &Names = &[
    ("self_attn.q_proj", "attn.c_attn"),
    ("self_attn.k_proj", "attn.c_attn"),
    ("self_attn.v_proj", "attn.c_attn"),
    ("self_attn.o_proj", "attn.c_proj"),
    ("mlp.up_proj", "mlp.c_fc"),
    ("mlp.down_proj", "mlp.c_proj"),
];

const NEO: &Names = &[
    ("self_attn.q_proj", "attn.attention.q_proj"),
    ("self_attn.k_proj", "attn.attention.k_proj"),
    ("self_attn.v_proj", "attn.attention.v_proj"),
    ("self_attn.o_proj", "attn.attention.out_proj"),
    ("mlp.up_proj", "mlp.c_fc"),
    ("mlp.down_proj", "mlp.c_proj"),
];

const GPTJ: &Names = &[
    ("self_attn.q_proj", "attn.q_proj"),
    ("self_attn.k_proj", "attn.k_proj"),
    ("self_attn.v_proj", "attn.v_proj"),
    ("self_attn.o_proj", "attn.out_proj"),
    ("mlp.up_proj", "mlp.fc_in"),
    ("mlp.down_proj", "mlp.fc_out"),
];

const CODEGEN: &Names = &[
    ("self_attn.q_proj", "attn.qkv_proj"),
    ("self_attn.k_proj", "attn.qkv_proj"),
    ("self_attn.v_proj", "attn.qkv_proj"),
    ("self_attn.o_proj", "attn.out_proj"),
    ("mlp.up_proj", "mlp.fc_in"),
    ("mlp.down_proj", "mlp.fc_out"),
];

const OPT: &Names = &[("self_attn.o_proj", "self_attn.out_proj"), ("mlp.up_proj", "fc1"), ("mlp.down_proj", "fc2")];

const MPT: &Names = &[
    ("self_attn.q_proj", "attn.Wqkv"),
    ("self_attn.k_proj", "attn.Wqkv"),
    ("self_attn.v_proj", "attn.Wqkv"),
    ("self_attn.o_proj", "attn.out_proj"),
    ("mlp.up_proj", "ffn.up_proj"),
    ("mlp.down_proj", "ffn.down_proj"),
];

const STARCODER: &Names = &[("mlp.up_proj", "mlp.c_fc"), ("mlp.down_proj", "mlp.c_proj")];

const HUNYUAN: &Names = &[
    ("mlp.gate", "mlp.gate.wg"),
    ("mlp.shared_experts.gate_proj", "mlp.shared_mlp.gate_proj"),
    ("mlp.shared_experts.up_proj", "mlp.shared_mlp.up_proj"),
    ("mlp.shared_experts.down_proj", "mlp.shared_mlp.down_proj"),
];

const LFM: &Names = &[
    ("mlp.experts.gate_up_proj", "feed_forward.experts.gate_up_proj"),
    ("mlp.experts.down_proj", "feed_forward.experts.down_proj"),
    ("mlp.gate", "feed_forward.gate"),
    ("self_attn.o_proj", "self_attn.out_proj"),
    ("mlp.gate_proj", "feed_forward.w1"),
    ("mlp.up_proj", "feed_forward.w3"),
    ("mlp.down_proj", "feed_forward.w2"),
];

/// SigLIP, CLIP and their descendants.
pub(super) const CLIP: &Names =
    &[("self_attn.o_proj", "self_attn.out_proj"), ("mlp.up_proj", "mlp.fc1"), ("mlp.down_proj", "mlp.fc2")];

/// The towers of Qwen2-VL.
pub(super) const QWEN2_EYES: &Names = &[
    ("self_attn.q_proj", "attn.qkv"),
    ("self_attn.k_proj", "attn.qkv"),
    ("self_attn.v_proj", "attn.qkv"),
    ("self_attn.o_proj", "attn.proj"),
    ("mlp.up_proj", "mlp.fc1"),
    ("mlp.down_proj", "mlp.fc2"),
];

/// The towers of Qwen2.5-VL.
pub(super) const QWEN2_5_EYES: &Names = &[
    ("self_attn.q_proj", "attn.qkv"),
    ("self_attn.k_proj", "attn.qkv"),
    ("self_attn.v_proj", "attn.qkv"),
    ("self_attn.o_proj", "attn.proj"),
];

/// The towers of Qwen2.5-Omni, whose matrices of queries, keys and values are separate.
pub(super) const OMNI_EYES: &Names = &[
    ("self_attn.q_proj", "attn.q"),
    ("self_attn.k_proj", "attn.k"),
    ("self_attn.v_proj", "attn.v"),
    ("self_attn.o_proj", "attn.proj"),
];

/// The towers of Qwen3-VL.
pub(super) const QWEN3_EYES: &Names = &[
    ("self_attn.q_proj", "attn.qkv"),
    ("self_attn.k_proj", "attn.qkv"),
    ("self_attn.v_proj", "attn.qkv"),
    ("self_attn.o_proj", "attn.proj"),
    ("mlp.up_proj", "mlp.linear_fc1"),
    ("mlp.down_proj", "mlp.linear_fc2"),
];

/// Pixtral.
pub(super) const PIXTRAL: &Names = &[
    ("self_attn.q_proj", "attention.q_proj"),
    ("self_attn.k_proj", "attention.k_proj"),
    ("self_attn.v_proj", "attention.v_proj"),
    ("self_attn.o_proj", "attention.o_proj"),
    ("mlp.gate_proj", "feed_forward.gate_proj"),
    ("mlp.up_proj", "feed_forward.up_proj"),
    ("mlp.down_proj", "feed_forward.down_proj"),
];

/// ViT and DINOv2.
pub(super) const VIT: &Names = &[
    ("self_attn.q_proj", "attention.q_proj"),
    ("self_attn.k_proj", "attention.k_proj"),
    ("self_attn.v_proj", "attention.v_proj"),
    ("self_attn.o_proj", "attention.o_proj"),
    ("mlp.up_proj", "mlp.fc1"),
    ("mlp.down_proj", "mlp.fc2"),
];

/// The towers of InternVL.
pub(super) const INTERN: &Names = &[
    ("self_attn.q_proj", "attention.q_proj"),
    ("self_attn.k_proj", "attention.k_proj"),
    ("self_attn.v_proj", "attention.v_proj"),
    ("self_attn.o_proj", "attention.projection_layer"),
    ("mlp.up_proj", "mlp.fc1"),
    ("mlp.down_proj", "mlp.fc2"),
];

/// The towers of Llama 3.2 and Llama 4.
pub(super) const LLAMA_EYES: &Names = &[("mlp.up_proj", "mlp.fc1"), ("mlp.down_proj", "mlp.fc2")];

/// BERT.
pub(super) const BERT: &Names = &[
    ("self_attn.q_proj", "attention.self.query"),
    ("self_attn.k_proj", "attention.self.key"),
    ("self_attn.v_proj", "attention.self.value"),
    ("self_attn.o_proj", "attention.output.dense"),
    ("mlp.up_proj", "intermediate.dense"),
    ("mlp.down_proj", "output.dense"),
];

/// DeBERTa.
pub(super) const DEBERTA: &Names = &[
    ("self_attn.q_proj", "attention.self.query_proj"),
    ("self_attn.k_proj", "attention.self.key_proj"),
    ("self_attn.v_proj", "attention.self.value_proj"),
    ("self_attn.o_proj", "attention.output.dense"),
    ("mlp.up_proj", "intermediate.dense"),
    ("mlp.down_proj", "output.dense"),
];

/// DistilBERT.
pub(super) const DISTILBERT: &Names = &[
    ("self_attn.q_proj", "attention.q_lin"),
    ("self_attn.k_proj", "attention.k_lin"),
    ("self_attn.v_proj", "attention.v_lin"),
    ("self_attn.o_proj", "attention.out_lin"),
    ("mlp.up_proj", "ffn.lin1"),
    ("mlp.down_proj", "ffn.lin2"),
];

/// ALBERT.
pub(super) const ALBERT: &Names = &[
    ("self_attn.q_proj", "attention.query"),
    ("self_attn.k_proj", "attention.key"),
    ("self_attn.v_proj", "attention.value"),
    ("self_attn.o_proj", "attention.dense"),
    ("mlp.up_proj", "ffn"),
    ("mlp.down_proj", "ffn_output"),
];

/// ModernBERT.
pub(super) const MODERNBERT: &Names = &[
    ("self_attn.q_proj", "attn.Wqkv"),
    ("self_attn.k_proj", "attn.Wqkv"),
    ("self_attn.v_proj", "attn.Wqkv"),
    ("self_attn.o_proj", "attn.Wo"),
    ("mlp.gate_proj", "mlp.Wi"),
    ("mlp.up_proj", "mlp.Wi"),
    ("mlp.down_proj", "mlp.Wo"),
];

/// BART and Whisper.
pub(super) const BART: &Names =
    &[("self_attn.o_proj", "self_attn.out_proj"), ("mlp.up_proj", "fc1"), ("mlp.down_proj", "fc2")];

/// What BART's decoder uses to attend to its encoder.
pub(super) const BART_CROSS: &Names = &[
    ("self_attn.q_proj", "encoder_attn.q_proj"),
    ("self_attn.k_proj", "encoder_attn.k_proj"),
    ("self_attn.v_proj", "encoder_attn.v_proj"),
    ("self_attn.out_proj", "encoder_attn.out_proj"),
];

/// What the decoder of Llama 3.2 Vision uses to attend to the image.
pub(super) const CROSS: &Names = &[
    ("self_attn.q_proj", "cross_attn.q_proj"),
    ("self_attn.k_proj", "cross_attn.k_proj"),
    ("self_attn.v_proj", "cross_attn.v_proj"),
    ("self_attn.o_proj", "cross_attn.o_proj"),
];

/// T5; its gated MLP names its matrices differently.
pub(super) const T5: &Names = &[
    ("self_attn.q_proj", "SelfAttention.q"),
    ("self_attn.k_proj", "SelfAttention.k"),
    ("self_attn.v_proj", "SelfAttention.v"),
    ("self_attn.o_proj", "SelfAttention.o"),
    ("mlp.gate_proj", "DenseReluDense.wi_0"),
    ("mlp.down_proj", "DenseReluDense.wo"),
];

/// What T5's decoder uses to attend to its encoder.
pub(super) const T5_CROSS: &Names = &[
    ("SelfAttention.q", "EncDecAttention.q"),
    ("SelfAttention.k", "EncDecAttention.k"),
    ("SelfAttention.v", "EncDecAttention.v"),
    ("SelfAttention.o", "EncDecAttention.o"),
];

/// The names of a decoder of `family`.
fn of(family: &str) -> &'static Names {
    match family {
        "qwen2_moe" | "qwen3_next" | "qwen3_5_moe_text" => SHARED_EXPERT,
        "granitemoeshared" | "granitemoehybrid" => GRANITE,
        "llama4_text" => LLAMA4,
        "jamba" | "bamba" | "falcon_h1" => FEED_FORWARD,
        "phi" => PHI,
        "phimoe" => &[("mlp.gate", "mlp.router")],
        "gemma4_text" => &[("mlp.gate", "router.proj")],
        "phi3" => PHI3,
        "glm" | "glm4" => GATE_UP,
        "mamba" | "mamba2" | "falcon_mamba" | "nemotron_h" => MIXER,
        "falcon" | "bloom" => BLOOM,
        "hunyuan_v1_moe" => HUNYUAN,
        "gpt_neox" => NEOX,
        "persimmon" => PERSIMMON,
        "gpt2" | "gpt_bigcode" => GPT2,
        "gpt_neo" => NEO,
        "gptj" => GPTJ,
        "codegen" => CODEGEN,
        "opt" => OPT,
        "mpt" => MPT,
        "starcoder2" => STARCODER,
        "lfm2" | "lfm2_moe" => LFM,
        _ => &[],
    }
}

/// The decoder `found` of `family` with its names, its embedding and its output layer.
pub(super) fn on_decoder(family: &str, mut found: Counted) -> Counted {
    found.whole = std::mem::take(&mut found.whole).renamed(of(family));
    // These routers are linear layers.
    if matches!(family, "llama4_text" | "phimoe" | "gemma4_text") {
        for module in found.whole.modules.iter_mut().filter(|module| module.kind == Kind::Router) {
            module.kind = Kind::Linear;
        }
    }
    let table = match family {
        "gpt2" | "gpt_neo" | "gptj" | "codegen" | "gpt_bigcode" | "mpt" => "wte",
        "falcon" | "bloom" => "word_embeddings",
        "gpt_neox" => "embed_in",
        "mamba" | "mamba2" | "falcon_mamba" | "nemotron_h" => "embeddings",
        _ => "embed_tokens",
    };
    let rows = found.vocabulary.unwrap_or(0);
    let words = |name: &'static str, inputs, outputs, kind| {
        let matrix = linear(inputs, outputs, false).named(name).of_kind(kind);
        Block { all: 0, largest: 0, matrices: 0, ..matrix }
    };
    let output = words("lm_head", found.read, rows, Kind::Output);
    found.whole += words(table, rows, found.read, Kind::Embedding) + if found.words { output } else { NOTHING };
    found
}
