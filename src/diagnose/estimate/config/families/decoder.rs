//! Decoders with a single kind of layer: Llama and its descendants.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::{Counted, Looks};
use super::dims::Dims;
use super::layers::{Biases, Experts, latent_attention, layer_norm, mlp, output, projections};

/// Parts of a decoder that its widths do not determine.
#[derive(Clone)]
pub(super) struct Decoder {
    pub(super) biases: Biases,
    pub(super) mlp_bias: bool,
    pub(super) gated: bool,
    /// One norm of the residual stream.
    pub(super) norm: Block,
    /// Number of norms in each layer.
    pub(super) norms: u128,
    /// Norms of queries and keys, and other parameters in each layer.
    pub(super) extra: Block,
    /// The bias of the output layer.
    pub(super) beside: Block,
    /// Experts that replace the MLP.
    pub(super) experts: Experts,
    /// Whether multi-head latent attention replaces grouped queries.
    pub(super) latent: bool,
}

impl Decoder {
    /// A Llama: no biases, RMSNorm twice a layer, a gated MLP.
    pub(super) fn plain(d: &Dims<'_>) -> Self {
        Self {
            biases: Biases::NONE,
            mlp_bias: false,
            gated: true,
            norm: vector(d.hidden()),
            norms: 2,
            extra: NOTHING,
            beside: NOTHING,
            experts: Experts::default(),
            latent: false,
        }
    }

    /// The whole model.
    pub(super) fn count(self, d: &Dims<'_>) -> Counted {
        let (hidden, layers, vocabulary) = (d.hidden(), d.layers(), d.vocabulary());
        let (query, key_value) = (d.heads() * d.head(), d.kv_heads() * d.head());
        let mut looks = Looks::of(d).cache(2 * key_value);
        let attention = if self.latent {
            let kept = d.n(&["kv_lora_rank"]) + d.n(&["qk_rope_head_dim"]);
            looks = Looks { full: layers, ..Looks::default() }.cache(kept);
            latent_attention(d, self.biases.input)
        } else {
            // The output matrix of Helium is square, however many heads there are.
            let joined = if d.family == "helium" { hidden } else { query };
            projections(hidden, query, key_value, self.biases) + output(joined, hidden, self.biases)
        };
        let experts = self.experts;
        let sparse = experts.layers.min(layers);
        // Llama 4 has a width of its own for dense layers, whether or not the file names it.
        let dense_width = || d.opt(&["intermediate_size_mlp"]).unwrap_or_else(|| d.n(&["intermediate_size"]));
        let ffn = if sparse == layers { experts.ffn } else { dense_width() };
        let dense = mlp(hidden, ffn, self.gated, self.mlp_bias);
        let each = attention + self.norm.times(self.norms) + self.extra;
        let embedding = weight(vocabulary, hidden);
        let whole = each.times(layers)
            + dense.times(layers - sparse)
            + experts.block(hidden).times(sparse)
            + embedding.times(if d.tied() { 1 } else { 2 })
            + self.norm
            + self.beside.clone();
        let visited = experts.ffn * experts.active + experts.shared;
        Counted {
            whole,
            layers,
            hidden,
            heads: d.heads(),
            query,
            key_value,
            ffn: if sparse > 0 { visited } else { ffn },
            gated: self.gated,
            active: if sparse > 0 { experts.active } else { 0 },
            vocabulary: Some(vocabulary),
            untied: !d.tied(),
            words: true,
            read: hidden,
            output_bias: self.beside,
            towers: 0,
            cache: Some(looks),
        }
    }
}

/// The decoder of `d.family`; `None` for another family.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    let plain = Decoder::plain(d);
    let (hidden, head) = (d.hidden(), d.head());
    let biases = Biases::all(d.flag("attention_bias"));
    let head_norms = vector(2 * head);
    let wide_norms = vector((d.heads() + d.kv_heads()) * head);
    let decoder = match d.family {
        "llama" | "granite" | "smollm3" | "cwm" => Decoder { biases, mlp_bias: d.flag("mlp_bias"), ..plain },
        "mistral" | "ministral3" | "phi3" => plain,
        "mixtral" => Decoder { experts: everywhere(d), ..plain },
        "qwen2" => Decoder { biases: Biases::INPUT, ..plain },
        "qwen3" | "exaone4" | "hunyuan_v1_dense" => Decoder { biases, extra: head_norms, ..plain },
        "qwen2_moe" => {
            let biases = Biases { input: d.flag("qkv_bias"), output: false };
            Decoder { biases, experts: qwen(d, d.n(&["shared_expert_intermediate_size"])), ..plain }
        }
        "qwen3_moe" => Decoder { biases, extra: head_norms, experts: qwen(d, 0), ..plain },
        "deepseek_v2" | "deepseek_v3" | "glm4_moe_lite" => {
            let (mut experts, mlp_bias) = (deepseek(d), d.flag("mlp_bias"));
            experts.extra = vector(2 * experts.shared + hidden).when(mlp_bias && experts.shared > 0);
            Decoder { biases, mlp_bias, latent: true, experts, ..plain }
        }
        "deepseek_v32" => Decoder { biases, latent: true, experts: deepseek(d), extra: indexer(d), ..plain },
        "glm4_moe" => {
            let extra = head_norms.when(d.flag("use_qk_norm"));
            Decoder { biases: Biases { output: false, ..biases }, extra, experts: deepseek(d), ..plain }
        }
        "exaone_moe" => Decoder { extra: head_norms, experts: deepseek(d), ..plain },
        "hunyuan_v1_moe" => {
            let experts = everywhere(d);
            Decoder { biases, extra: head_norms, experts: Experts { shared: experts.ffn, ..experts }, ..plain }
        }
        "dots1" => Decoder { biases, extra: head_norms, experts: deepseek(d), ..plain },
        "solar_open" => {
            let experts = Experts { layers: d.layers(), ..deepseek(d) };
            Decoder { biases: Biases { output: false, ..biases }, experts, ..plain }
        }
        "gpt_oss" => {
            let mut experts = everywhere(d);
            experts.extra = vector(experts.count + experts.count * (2 * experts.ffn + hidden));
            Decoder { biases, extra: vector(d.heads()), experts, ..plain }
        }
        "llama4_text" => Decoder { biases, experts: llama4(d), ..plain },
        "gemma" | "vaultgemma" => Decoder { biases, ..plain },
        "gemma2" => Decoder { biases, norms: 4, ..plain },
        "gemma3_text" => Decoder { biases, norms: 4, extra: head_norms, ..plain },
        "phimoe" => {
            let beside = vector(d.vocabulary()).when(d.flag("lm_head_bias"));
            Decoder { biases, norm: layer_norm(hidden), experts: everywhere(d), beside, ..plain }
        }
        "olmo" => Decoder { biases, norm: NOTHING, ..plain },
        "olmo2" | "olmo3" => Decoder { biases, extra: wide_norms, ..plain },
        "olmoe" | "flex_olmo" => Decoder { biases, extra: wide_norms, experts: everywhere(d), ..plain },
        "minimax_m2" => Decoder { extra: wide_norms, experts: everywhere(d), ..plain },
        "starcoder2" => {
            let bias = d.flag("use_bias");
            Decoder { biases: Biases::all(bias), mlp_bias: bias, gated: false, norm: layer_norm(hidden), ..plain }
        }
        "cohere" | "cohere2" => Decoder { biases, norms: 1, extra: wide_norms.when(d.flag("use_qk_norm")), ..plain },
        "glm" | "glm4" => {
            let norms = if d.family == "glm4" { 4 } else { 2 };
            Decoder { biases: Biases { output: false, ..biases }, norms, ..plain }
        }
        "granitemoe" => Decoder { biases, experts: everywhere(d), ..plain },
        "granitemoeshared" => {
            let experts = Experts { shared: d.n(&["shared_intermediate_size"]), ..everywhere(d) };
            Decoder { biases, experts, ..plain }
        }
        "stablelm" => {
            let norms = if d.flag("use_parallel_residual") { 1 } else { 2 };
            let extra = wide_norms.when(d.flag("qk_layernorm"));
            let biases = Biases { input: d.flag("use_qkv_bias"), output: false };
            Decoder { biases, norm: layer_norm(hidden), norms, extra, ..plain }
        }
        "ernie4_5" => {
            let bias = d.flag("use_bias");
            Decoder { biases: Biases::all(bias), mlp_bias: bias, ..plain }
        }
        "ernie4_5_moe" => {
            let bias = d.flag("use_bias");
            let beside = vector(d.vocabulary()).when(bias);
            Decoder { biases: Biases::all(bias), mlp_bias: bias, experts: ernie(d, bias), beside, ..plain }
        }
        "seed_oss" => {
            let biases = Biases { output: d.flag("attention_out_bias"), ..biases };
            Decoder { biases, mlp_bias: d.flag("mlp_bias"), ..plain }
        }
        "arcee" => Decoder { biases, mlp_bias: d.flag("mlp_bias"), gated: false, ..plain },
        "helium" => Decoder { biases: Biases { output: false, ..biases }, mlp_bias: d.flag("mlp_bias"), ..plain },
        "apertus" => Decoder { biases, gated: false, extra: head_norms + vector(2), ..plain },
        "bitnet" => Decoder { biases, extra: vector(hidden + d.n(&["intermediate_size"])), ..plain },
        "nemotron" => Decoder { biases, mlp_bias: d.flag("mlp_bias"), gated: false, norm: layer_norm(hidden), ..plain },
        "persimmon" => {
            let extra = layer_norm(head).times(2).when(d.flag("qk_layernorm"));
            let norm = layer_norm(hidden);
            Decoder { biases: Biases::all(true), mlp_bias: true, gated: false, norm, extra, ..plain }
        }
        "phi" => {
            let extra = layer_norm(head).times(2).when(d.flag("qk_layernorm"));
            let (norm, beside) = (layer_norm(hidden), vector(d.vocabulary()));
            let biases = Biases::all(true);
            Decoder { biases, mlp_bias: true, gated: false, norm, norms: 1, extra, beside, ..plain }
        }
        _ => return None,
    };
    Some(decoder.count(d))
}

fn count(d: &Dims<'_>) -> u128 {
    d.n(&["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"])
}

fn active(d: &Dims<'_>) -> u128 {
    d.opt(&["num_experts_per_tok", "moe_k", "moe_topk", "num_experts_per_token", "top_k_experts"]).unwrap_or(1)
}

/// Experts of the MLP's width in every layer.
pub(super) fn everywhere(d: &Dims<'_>) -> Experts {
    let ffn = d.n(&["intermediate_size"]);
    Experts { count: count(d), ffn, gated: true, layers: d.layers(), active: active(d), ..Experts::default() }
}

/// Qwen's experts: in every n-th layer, except those that the file excludes, with one shared by all tokens.
pub(super) fn qwen(d: &Dims<'_>, shared: u128) -> Experts {
    let dense = d.numbers("mlp_only_layers").unwrap_or_default();
    let every = d.opt(&["decoder_sparse_step"]).unwrap_or(1).max(1);
    let (count, hidden) = (d.n(&["num_experts", "num_local_experts"]), d.hidden());
    let layers = d.layers_that(|at| count > 0 && !dense.contains(&at) && (at + 1).is_multiple_of(every));
    let extra = linear(hidden, 1, false).named("mlp.shared_expert_gate").when(shared > 0);
    Experts { count, ffn: d.n(&["moe_intermediate_size"]), gated: true, shared, extra, layers, active: active(d) }
}

/// DeepSeek's experts: in all layers except the first ones, with shared experts.
pub(super) fn deepseek(d: &Dims<'_>) -> Experts {
    let ffn = d.n(&["moe_intermediate_size"]);
    let shared = ffn * d.opt(&["n_shared_experts", "num_shared_experts"]).unwrap_or(0);
    let dense = d.opt(&["first_k_dense_replace"]);
    let layers = match (d.texts(&["mlp_layer_types"]), dense) {
        (Some(kinds), _) => kinds.iter().filter(|kind| **kind == "sparse").count() as u128,
        (None, dense) => d.layers().saturating_sub(dense.unwrap_or(1)),
    };
    let count = d.n(&["n_routed_experts", "num_local_experts", "num_experts"]);
    Experts { count, ffn, gated: true, shared, layers, active: active(d), ..Experts::default() }
}

fn llama4(d: &Dims<'_>) -> Experts {
    let every = d.opt(&["interleave_moe_layer_step"]).unwrap_or(1);
    let layers = match d.numbers("moe_layers") {
        Some(listed) => listed.len() as u128,
        None => d.layers_that(|at| every > 0 && (at + 1).is_multiple_of(every)),
    };
    let all = everywhere(d);
    Experts { shared: all.ffn, layers, ..all }
}

fn ernie(d: &Dims<'_>, bias: bool) -> Experts {
    let (first, every) = (d.opt(&["moe_layer_start_index"]).unwrap_or(0), d.opt(&["moe_layer_interval"]).unwrap_or(1));
    let last = d.opt_signed("moe_layer_end_index").unwrap_or(u128::MAX);
    let layers = d.layers_that(|at| (first..=last).contains(&at) && (at + 1).is_multiple_of(every.max(1)));
    let (count, ffn) = (count(d), d.n(&["moe_intermediate_size"]));
    let shared = ffn * d.opt(&["moe_num_shared_experts"]).unwrap_or(0);
    let biases = vector(2 * shared + d.hidden()).when(bias && shared > 0);
    Experts { count, ffn, gated: true, shared, extra: vector(count) + biases, layers, active: active(d) }
}

/// The indexer that selects the tokens for DeepSeek-V3.2's attention.
fn indexer(d: &Dims<'_>) -> Block {
    let (heads, head) = (d.n(&["index_n_heads"]), d.n(&["index_head_dim"]));
    linear(d.n(&["q_lora_rank"]), heads * head, false).named("self_attn.indexer.wq_b")
        + linear(d.hidden(), head, false).named("self_attn.indexer.wk")
        + layer_norm(head)
        + linear(d.hidden(), heads, false).named("self_attn.indexer.weights_proj")
}
