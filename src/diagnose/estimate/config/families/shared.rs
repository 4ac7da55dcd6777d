//! Zamba2 and Kimi Linear: layers that share the weights of one block, and delta attention combined with latent
//! attention.

use super::block::{Block, linear, vector, weight};
use super::counted::{Counted, Looks};
use super::decoder::deepseek;
use super::dims::Dims;
use super::hybrid::{counted, frame};
use super::layers::{Biases, StateSpace, attention, latent_attention, mlp};
use crate::estimate::cache::Cache;

/// The decoder of `d.family`; `None` for another family.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    Some(match d.family {
        "zamba2" => zamba2(d),
        "kimi_linear" => kimi_linear(d),
        _ => return None,
    })
}

/// Number of layers of Zamba2, and of those with a shared block, if the file does not list them: the class has no rule
/// for other depths.
const ZAMBA2_LAYERS: (u128, u128) = (54, 9);

/// Zamba2: Mamba-2 in every layer; some layers are preceded by a block of attention and MLP, and take turns in using
/// the blocks' weights.
fn zamba2(d: &Dims<'_>) -> Counted {
    let hidden = d.hidden();
    let (layers, hybrid) = match d.texts(&["layers_block_type", "layer_types"]) {
        Some(kinds) => (kinds.len() as u128, kinds.iter().filter(|kind| **kind == "hybrid").count() as u128),
        None => ZAMBA2_LAYERS,
    };
    let bias = d.flag("add_bias_linear");
    let (heads, groups) = (d.n(&["n_mamba_heads"]), d.n(&["mamba_ngroups"]));
    let space = StateSpace {
        inner: d.n(&["mamba_expand"]) * hidden,
        state: d.n(&["mamba_d_state"]),
        kernel: d.n(&["mamba_d_conv"]),
        // The class sets this, whatever the file says.
        conv_bias: true,
        bias,
    };
    let mixer = space.second(hidden, heads, groups) + vector(space.inner + hidden);
    // The block reads the stream and the embedding together, so it is twice as wide.
    let (wide, ffn) = (2 * hidden, d.opt(&["intermediate_size"]).unwrap_or(4 * hidden));
    let head = wide / d.heads().max(1);
    let (query, key_value) = (d.heads() * head, d.kv_heads() * head);
    let block = linear(wide, query, false).named("self_attn.q_proj")
        + linear(wide, key_value, false).named("self_attn.k_proj")
        + linear(wide, key_value, false).named("self_attn.v_proj")
        + linear(query, hidden, false).named("self_attn.o_proj")
        + linear(hidden, 2 * ffn, bias).named("feed_forward.gate_up_proj")
        + linear(ffn, hidden, bias).named("feed_forward.down_proj")
        + vector(wide + hidden);
    // Each layer that uses a block has its own projection and adapters. transformers shares the blocks only if the
    // embedding is tied; otherwise each separate block still has the adapters of all layers that would use it.
    let rank = d.n(&["adapter_rank"]);
    let adapter = |inputs, outputs| linear(inputs, rank, false) + linear(rank, outputs, false);
    let adapters = adapter(hidden, 2 * ffn) + adapter(wide, wide).times(3).when(d.flag("use_shared_attention_adapter"));
    let turns = d.n(&["num_mem_blocks"]).max(1);
    let blocks = if d.tied() { hybrid.min(turns) } else { hybrid };
    let visits = |blocks: u128| (0..blocks).map(|at| (hybrid - at % turns).div_ceil(turns)).sum();
    // Shared weights are modules of their own in each layer, each of which gets an adapter of peft's.
    let shared = |part: Block, kept: u128, each: u128| Block { modules: part.times(each).modules, ..part.times(kept) };
    let whole = mixer.times(layers)
        + linear(hidden, hidden, false).named("linear").times(hybrid)
        + shared(adapters, visits(blocks), visits(hybrid))
        + shared(block, blocks, hybrid)
        + frame(d);
    let mut found = counted(d, whole, ffn, 0, layers * space.kept(groups));
    (found.layers, found.query, found.key_value) = (layers, query, key_value);
    found.cache = found.cache.map(|kept| {
        let full = Looks { full: hybrid, ..Looks::default() }.cache(2 * key_value).full;
        Cache { full, ..kept }
    });
    found
}

/// Kimi Linear: delta attention with a gate per channel, alternating with latent attention; DeepSeek's experts.
fn kimi_linear(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    // Published files keep the linear layers' fields in a part of their own.
    let own = d.part("linear_attn_config");
    let listed = own.numbers("full_attn_layers").filter(|_| own.numbers("kda_layers").is_some());
    let full = match (d.texts(&["layer_types"]), listed) {
        (Some(kinds), _) => kinds.iter().filter(|kind| **kind == "full_attention").count() as u128,
        (None, Some(at)) => at.len() as u128,
        (None, None) => layers.saturating_sub(1) / 4,
    }
    .min(layers);
    let head = own.opt(&["head_dim"]).unwrap_or_else(|| d.n(&["linear_head_dim"]));
    let heads = own.opt(&["num_heads"]).unwrap_or_else(|| d.n(&["linear_num_heads"]));
    let kernel = own.opt(&["short_conv_kernel_size"]).unwrap_or_else(|| d.n(&["linear_conv_kernel_dim"]));
    d.absorb(&own);
    let width = heads * head;
    // The forget gate and the output gate: each is two matrices with the rank of a head.
    let gate = |inner: &'static str, outer: &'static str| {
        linear(hidden, head, false).named(inner) + linear(head, width, false).named(outer)
    };
    let delta = attention(hidden, width, width, Biases::NONE)
        + weight(3 * width, kernel)
        + gate("self_attn.forget_gate.f_a_proj", "self_attn.forget_gate.f_b_proj")
        + gate("self_attn.g_a_proj", "self_attn.g_b_proj")
        + linear(hidden, heads, false).named("self_attn.b_proj")
        + vector(width + heads + head);
    let experts = deepseek(d);
    let sparse = experts.layers.min(layers);
    let ffn = d.n(&["intermediate_size"]);
    let whole = latent_attention(d, d.flag("attention_bias")).times(full)
        + delta.times(layers - full)
        + experts.block(hidden).times(sparse)
        + mlp(hidden, ffn, true, false).times(layers - sparse)
        + vector(2 * hidden).times(layers)
        // The output layer is never tied, whatever the file says.
        + weight(d.vocabulary(), hidden).times(2)
        + vector(hidden);
    let visited = if sparse > 0 { experts.ffn * experts.active + experts.shared } else { ffn };
    let state = (layers - full).saturating_mul(width * head + kernel * 3 * width);
    let mut found = counted(d, whole, visited, 0, state);
    found.untied = true;
    let latent = d.n(&["kv_lora_rank"]) + d.n(&["qk_rope_head_dim"]);
    found.cache = found.cache.map(|kept| {
        let full = Looks { full, ..Looks::default() }.cache(latent).full;
        Cache { full, ..kept }
    });
    found
}
