//! Decoders with several kinds of layers: linear attention, state spaces, convolutions, per-layer inputs.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::{Counted, Looks};
use super::decoder::{everywhere, qwen};
use super::dims::Dims;
use super::layers::{Biases, Experts, StateSpace, attention, delta_net, mlp};

/// The decoder of `d.family`; `None` for another family.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    Some(match d.family {
        "qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text" => qwen_next(d),
        "minimax" => minimax(d),
        "mamba" | "falcon_mamba" => mamba(d),
        "mamba2" => mamba2(d),
        "jamba" => jamba(d),
        "bamba" | "granitemoehybrid" | "falcon_h1" => bamba(d),
        "nemotron_h" => nemotron_h(d),
        "lfm2" | "lfm2_moe" => lfm2(d),
        "gemma3n_text" => gemma3n(d),
        "gemma4_text" => gemma4(d),
        _ => return None,
    })
}

/// The parts of every decoder outside its layers: embedding, output layer, final norm.
pub(super) fn frame(d: &Dims<'_>) -> Block {
    let embedding = weight(d.vocabulary(), d.hidden());
    embedding.times(if d.tied() { 1 } else { 2 }) + vector(d.hidden())
}

/// A decoder with `whole` parameters: `full` layers have attention, the others keep `fixed` elements.
pub(super) fn counted(d: &Dims<'_>, whole: Block, ffn: u128, full: u128, fixed: u128) -> Counted {
    let heads = d.opt(&["num_attention_heads"]).unwrap_or(1);
    let head = d.opt(&["head_dim"]).unwrap_or(d.hidden() / heads.max(1));
    let key_value = d.opt(&["num_key_value_heads"]).unwrap_or(heads) * head;
    let mut cache = Looks { full, ..Looks::default() }.cache(2 * key_value);
    cache.fixed = u64::try_from(fixed).unwrap_or(u64::MAX);
    Counted {
        whole,
        layers: d.opt(&["num_hidden_layers"]).unwrap_or(0),
        hidden: d.hidden(),
        heads,
        query: heads * head,
        key_value,
        ffn,
        gated: true,
        active: 0,
        vocabulary: Some(d.vocabulary()),
        untied: !d.tied(),
        words: true,
        read: d.hidden(),
        output_bias: NOTHING,
        towers: 0,
        cache: Some(cache),
    }
}

/// Number of layers with full attention: as in `layer_types`, otherwise every n-th.
fn full_layers(d: &Dims<'_>, every: u128) -> u128 {
    match d.texts(&["layer_types", "layers_block_type"]) {
        Some(kinds) => {
            kinds.iter().filter(|kind| kind.contains("attention") && !kind.contains("linear")).count() as u128
        }
        None => d.layers() / every.max(1),
    }
}

/// Qwen3-Next and Qwen3.5: gated delta nets alternating with gated attention.
fn qwen_next(d: &Dims<'_>) -> Counted {
    let (hidden, layers, head) = (d.hidden(), d.layers(), d.head());
    let full = full_layers(d, d.opt(&["full_attention_interval"]).unwrap_or(4)).min(layers);
    let biases = Biases::all(d.flag("attention_bias"));
    let query = d.heads() * head;
    // The query's projection also produces its gate.
    let gated = linear(hidden, 2 * query, biases.input).named("self_attn.q_proj")
        + linear(hidden, d.kv_heads() * head, biases.input).named("self_attn.k_proj")
        + linear(hidden, d.kv_heads() * head, biases.input).named("self_attn.v_proj")
        + linear(query, hidden, biases.output).named("self_attn.o_proj")
        + vector(2 * head);
    let experts = match d.family {
        "qwen3_5_text" => Experts::default(),
        _ => qwen(d, d.n(&["shared_expert_intermediate_size"])),
    };
    let experts = if d.family == "qwen3_5_moe_text" { Experts { layers, ..experts } } else { experts };
    let dense = layers - experts.layers.min(layers);
    let ffn = if dense > 0 { d.n(&["intermediate_size"]) } else { 0 };
    let whole = gated.times(full)
        + delta_net(d).times(layers - full)
        + vector(2 * hidden).times(layers)
        + experts.block(hidden).times(experts.layers)
        + mlp(hidden, ffn, true, false).times(dense)
        + frame(d);
    let visited = if experts.layers > 0 { experts.ffn * experts.active + experts.shared } else { ffn };
    let (key, value) = (d.n(&["linear_key_head_dim"]), d.n(&["linear_value_head_dim"]));
    let state = d.n(&["linear_num_value_heads"]) * key * value;
    counted(d, whole, visited, full, (layers - full) * state)
}

/// MiniMax-01: gated lightning attention alternating with softmax attention.
fn minimax(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let query = d.heads() * d.head();
    let full = full_layers(d, 2).min(layers);
    let softmax = attention(hidden, query, d.kv_heads() * d.head(), Biases::NONE);
    let lightning = linear(hidden, 3 * query, false).named("self_attn.qkv_proj")
        + linear(query, hidden, false).named("self_attn.out_proj")
        + linear(hidden, query, false).named("self_attn.output_gate")
        + vector(query);
    let experts = everywhere(d);
    let whole = softmax.times(full)
        + lightning.times(layers - full)
        + (experts.block(hidden) + vector(2 * hidden)).times(layers)
        + frame(d);
    counted(d, whole, experts.ffn * experts.active, full, (layers - full) * query * d.head())
}

fn mamba(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let inner = d.opt(&["intermediate_size"]).unwrap_or(d.n(&["expand"]) * hidden);
    let rank = d.opt(&["time_step_rank"]).unwrap_or(hidden.div_ceil(16));
    let space = StateSpace {
        inner,
        state: d.n(&["state_size"]),
        kernel: d.n(&["conv_kernel"]),
        conv_bias: d.flag("use_conv_bias"),
        bias: d.flag("use_bias"),
    };
    let whole = (space.first(hidden, rank) + vector(hidden)).times(layers) + frame(d);
    counted(d, whole, inner, 0, layers * space.kept(0))
}

fn mamba2(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let (heads, groups) = (d.n(&["num_heads"]), d.n(&["n_groups"]));
    let space = StateSpace {
        inner: d.n(&["expand"]) * hidden,
        state: d.n(&["state_size"]),
        kernel: d.n(&["conv_kernel"]),
        conv_bias: d.flag("use_conv_bias"),
        bias: d.flag("use_bias"),
    };
    let each = space.second(hidden, heads, groups) + vector(space.inner) + vector(hidden);
    let mut found = counted(d, each.times(layers) + frame(d), space.inner, 0, layers * space.kept(groups));
    (found.heads, found.query, found.key_value) = (heads, space.inner, space.inner);
    found
}

/// Jamba: Mamba's first mixer with norms; one layer of each period has attention, one of another period has experts.
fn jamba(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let at = |period, offset| {
        let (period, offset) = (d.n(&[period]).max(1), d.n(&[offset]));
        d.layers_that(|at| at % period == offset)
    };
    let full = at("attn_layer_period", "attn_layer_offset");
    let sparse = if d.n(&["num_experts"]) > 1 { at("expert_layer_period", "expert_layer_offset") } else { 0 };
    let rank = d.opt(&["mamba_dt_rank"]).unwrap_or(hidden.div_ceil(16));
    let space = StateSpace {
        inner: d.n(&["mamba_expand"]) * hidden,
        state: d.n(&["mamba_d_state"]),
        kernel: d.n(&["mamba_d_conv"]),
        conv_bias: d.flag("mamba_conv_bias"),
        bias: d.flag("mamba_proj_bias"),
    };
    let mixer = space.first(hidden, rank) + vector(rank + 2 * space.state);
    let experts = everywhere(d);
    let whole = attention(hidden, d.heads() * d.head(), d.kv_heads() * d.head(), Biases::NONE).times(full)
        + mixer.times(layers - full)
        + experts.block(hidden).times(sparse)
        + mlp(hidden, experts.ffn, true, false).times(layers - sparse)
        + vector(2 * hidden).times(layers)
        + frame(d);
    counted(d, whole, experts.ffn, full, (layers - full) * space.kept(0))
}

/// Bamba, Granite 4 and Falcon-H1: Mamba-2's mixer replaces attention, or runs in parallel with it.
fn bamba(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let (heads, groups) = (d.n(&["mamba_n_heads"]), d.n(&["mamba_n_groups"]));
    let beside = d.family == "falcon_h1";
    let inner = d.opt(&["mamba_d_ssm"]).unwrap_or(d.n(&["mamba_expand"]) * hidden);
    let space = StateSpace {
        inner,
        state: d.n(&["mamba_d_state"]),
        kernel: d.n(&["mamba_d_conv"]),
        conv_bias: d.flag("mamba_conv_bias"),
        bias: d.flag("mamba_proj_bias"),
    };
    let normed = !beside || d.flag("mamba_rms_norm");
    let mixer = space.second(hidden, heads, groups) + vector(inner).when(normed);
    let full = match (beside, d.numbers("attn_layer_indices")) {
        (true, _) => layers,
        (false, Some(at)) => at.len() as u128,
        (false, None) if d.family == "bamba" => 0,
        (false, None) => full_layers(d, layers + 1),
    };
    let mixers = if beside { layers } else { layers.saturating_sub(full) };
    let biases = Biases::all(d.flag("attention_bias"));
    let each = vector(2 * hidden);
    let (ffn, body) = if d.family == "granitemoehybrid" {
        let shared = d.n(&["shared_intermediate_size"]);
        let experts = everywhere(d);
        let body = experts.block(hidden).when(experts.count > 0) + mlp(hidden, shared, true, false);
        (shared + if experts.count > 0 { experts.ffn * experts.active } else { 0 }, body)
    } else {
        let ffn = d.n(&["intermediate_size"]);
        (ffn, mlp(hidden, ffn, true, d.flag("mlp_bias")))
    };
    // Falcon-H1 has its own name for the bias of the mixer's output.
    let projected = vector(hidden).when(beside && d.flag("projectors_bias"));
    let unprojected = if beside && d.flag("mamba_proj_bias") { hidden } else { 0 };
    let mixer = Block { all: mixer.all + projected.all - unprojected, ..mixer };
    let whole = attention(hidden, d.heads() * d.head(), d.kv_heads() * d.head(), biases).times(full)
        + mixer.times(mixers)
        + (body + each).times(layers)
        + frame(d);
    counted(d, whole, ffn, full, mixers * space.kept(groups))
}

/// Nemotron-H: each layer is a single block of one kind.
fn nemotron_h(d: &Dims<'_>) -> Counted {
    let hidden = d.hidden();
    let kinds: Vec<String> = match (d.texts(&["layers_block_type"]), d.text("hybrid_override_pattern")) {
        (_, Some(pattern)) => pattern.chars().map(String::from).collect(),
        (Some(kinds), None) => kinds.into_iter().map(str::to_owned).collect(),
        (None, None) => {
            d.require(&["hybrid_override_pattern"]);
            Vec::new()
        }
    };
    let of = |names: &[&str]| kinds.iter().filter(|kind| names.contains(&kind.as_str())).count() as u128;
    let (heads, groups) = (d.n(&["mamba_num_heads"]), d.n(&["n_groups"]));
    let space = StateSpace {
        inner: heads * d.n(&["mamba_head_dim"]),
        state: d.n(&["ssm_state_size"]),
        kernel: d.n(&["conv_kernel"]),
        conv_bias: d.flag("use_conv_bias"),
        bias: d.flag("use_bias"),
    };
    let mixer = space.second(hidden, heads, groups) + vector(space.inner);
    let softmax = attention(hidden, d.heads() * d.head(), d.kv_heads() * d.head(), Biases::NONE);
    let ffn = d.n(&["intermediate_size"]);
    let shared = d.opt(&["moe_shared_expert_intermediate_size"]).unwrap_or(0);
    let sparse = Experts {
        count: d.opt(&["n_routed_experts"]).unwrap_or(0),
        ffn: d.opt(&["moe_intermediate_size"]).unwrap_or(0),
        shared,
        extra: vector(shared + hidden).when(shared > 0 && d.flag("mlp_bias")),
        ..Experts::default()
    };
    let (mixers, full) = (of(&["mamba", "M", "linear_attention"]), of(&["attention", "*", "full_attention"]));
    let whole = mixer.times(mixers)
        + softmax.times(full)
        + mlp(hidden, ffn, false, d.flag("mlp_bias")).times(of(&["mlp", "-"]))
        + sparse.block(hidden).times(of(&["moe", "E"]))
        + vector(hidden).times(kinds.len() as u128)
        // The output layer is never tied, whatever the file says.
        + weight(d.vocabulary(), hidden).times(2)
        + vector(hidden);
    let mut found = counted(d, whole, ffn, full, mixers * space.kept(groups));
    (found.layers, found.gated, found.untied) = (kinds.len() as u128, false, true);
    found
}

/// LFM2: gated short convolutions alternating with attention; experts in all layers except the first ones.
fn lfm2(d: &Dims<'_>) -> Counted {
    let (hidden, layers, head) = (d.hidden(), d.layers(), d.hidden() / d.heads().max(1));
    let listed = d.numbers("full_attn_idxs").map(|at| at.len() as u128);
    let full = match d.texts(&["layer_types"]) {
        Some(kinds) => kinds.iter().filter(|kind| **kind == "full_attention").count() as u128,
        None => listed.unwrap_or(layers),
    };
    let mut ffn = d.n(&["block_ff_dim", "intermediate_size"]);
    if d.flag("block_auto_adjust_ff_dim") {
        let multiple = d.n(&["block_multiple_of"]).max(1);
        let scaled = (2 * ffn / 3) as f64 * d.number("block_ffn_dim_multiplier").unwrap_or(1.0);
        ffn = (scaled as u128).div_ceil(multiple) * multiple;
    }
    let bias = d.flag("conv_bias");
    let convolution = linear(hidden, 3 * hidden, bias).named("conv.in_proj")
        + linear(hidden, hidden, bias).named("conv.out_proj")
        + weight(hidden, d.n(&["conv_L_cache"]))
        + vector(hidden).when(bias);
    let softmax = attention(hidden, hidden, d.kv_heads() * head, Biases::NONE) + vector(2 * head);
    let (dense, experts) = if d.family == "lfm2_moe" {
        let (count, width) = (d.n(&["num_experts"]), d.n(&["moe_intermediate_size"]));
        let active = d.n(&["num_experts_per_tok"]);
        let experts = Experts { count, ffn: width, gated: true, active, ..Experts::default() };
        (d.n(&["num_dense_layers"]).min(layers), experts)
    } else {
        (layers, Experts::default())
    };
    let visited = if dense < layers { experts.ffn * experts.active } else { ffn };
    let whole = softmax.times(full)
        + convolution.times(layers.saturating_sub(full))
        + mlp(hidden, ffn, true, false).times(dense)
        + experts.block(hidden).times(layers - dense)
        + vector(2 * hidden).times(layers)
        + frame(d);
    counted(d, whole, visited, full, layers.saturating_sub(full) * hidden * d.n(&["conv_L_cache"]))
}

/// Separate inputs for every layer, as in Gemma 3n: a table, a projection, and a gate in each layer.
fn layer_inputs(d: &Dims<'_>) -> Block {
    let (hidden, layers) = (d.hidden(), d.layers());
    let width = d.n(&["hidden_size_per_layer_input"]);
    if width == 0 {
        return NOTHING;
    }
    let table = weight(d.n(&["vocab_size_per_layer_input"]), layers * width);
    let each = linear(hidden, width, false).named("per_layer_input_gate")
        + linear(width, hidden, false).named("per_layer_projection")
        + vector(hidden);
    table
        + linear(hidden, layers * width, false).named("per_layer_model_projection")
        + vector(width)
        + each.times(layers)
}

fn gemma3n(d: &Dims<'_>) -> Counted {
    let (hidden, layers, head) = (d.hidden(), d.layers(), d.head());
    let (query, key_value) = (d.heads() * head, d.kv_heads() * head);
    let own = layers.saturating_sub(d.opt(&["num_kv_shared_layers"]).unwrap_or(0));
    let biases = Biases::all(d.flag("attention_bias"));
    let keys = linear(hidden, key_value, biases.input).named("self_attn.k_proj")
        + linear(hidden, key_value, biases.input).named("self_attn.v_proj")
        + vector(head);
    let queries = linear(hidden, query, biases.input).named("self_attn.q_proj")
        + linear(query, hidden, biases.output).named("self_attn.o_proj")
        + vector(head);
    let ffn = d.numbers("intermediate_size").and_then(|each| each.first().copied());
    let ffn = ffn.unwrap_or_else(|| d.n(&["intermediate_size"]));
    let (inputs, rank) = (d.n(&["altup_num_inputs"]), d.n(&["laurel_rank"]));
    let altup = linear(inputs, inputs, false).named("altup.correction_coefs")
        + linear(inputs, inputs * inputs, false).named("altup.prediction_coefs")
        + linear(hidden, inputs, false).named("altup.modality_router")
        + vector(2 * hidden);
    let laurel = linear(hidden, rank, false).named("laurel.linear_left")
        + linear(rank, hidden, false).named("laurel.linear_right")
        + vector(hidden);
    let each = queries + mlp(hidden, ffn, true, false) + vector(4 * hidden) + altup + laurel;
    let projections = linear(hidden, hidden, false).named("altup_projections").times(2 * inputs.saturating_sub(1));
    let whole = each.times(layers) + keys.times(own) + projections + layer_inputs(d) + frame(d);
    let mut found = counted(d, whole, ffn, 0, 0);
    let mut looks = Looks::of(d);
    // The last layers share keys, in the same proportion for both kinds.
    looks.full = looks.full * own / layers.max(1);
    looks.windowed = own.saturating_sub(looks.full);
    found.cache = Some(looks.cache(2 * key_value));
    found
}

fn gemma4(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let shared = d.opt(&["num_kv_shared_layers"]).unwrap_or(0).min(layers);
    let global_head = d.opt(&["global_head_dim"]).unwrap_or(512);
    let equal = d.flag("attention_k_eq_v");
    let global_heads = d.opt(&["num_global_key_value_heads"]).filter(|_| equal).unwrap_or_else(|| d.kv_heads());
    let listed = d.texts(&["layer_types"]);
    let is_full = |at: u128| match &listed {
        // The last layer always is of this kind.
        _ if at + 1 == layers => true,
        Some(kinds) => usize::try_from(at).ok().and_then(|at| kinds.get(at)) == Some(&"full_attention"),
        None => (at + 1).is_multiple_of(6),
    };
    let full = d.layers_that(is_full);
    let owned = d.layers_that(|at| is_full(at) && at + shared < layers);
    let (ffn, bias) = (d.n(&["intermediate_size"]), d.flag("attention_bias"));
    let queries = |head: u128| {
        linear(hidden, d.heads() * head, bias).named("self_attn.q_proj")
            + linear(d.heads() * head, hidden, bias).named("self_attn.o_proj")
            + vector(head)
    };
    let keys = |heads: u128, head: u128, equal: bool| {
        linear(hidden, heads * head, bias).named("self_attn.k_proj")
            + linear(hidden, heads * head, bias).named("self_attn.v_proj").when(!equal)
            + vector(head)
    };
    let own = layers - shared;
    let wide = if d.flag("use_double_wide_mlp") { 2 } else { 1 };
    let experts = d.flag("enable_moe_block").then(|| {
        let count = d.n(&["num_experts"]);
        let ffn = d.n(&["moe_intermediate_size"]);
        let extra = vector(hidden + count + 3 * hidden);
        Experts { count, ffn, gated: true, extra, ..Experts::default() }.block(hidden)
    });
    let whole = queries(d.head()).times(layers - full)
        + queries(global_head).times(full)
        + keys(d.kv_heads(), d.head(), false).times(own - owned)
        + keys(global_heads, global_head, equal).times(owned)
        + mlp(hidden, ffn, true, false).times(own)
        + mlp(hidden, wide * ffn, true, false).times(shared)
        + (vector(4 * hidden) + experts.unwrap_or(NOTHING)).times(layers)
        + layer_inputs(d)
        + frame(d);
    let mut found = counted(d, whole, ffn, 0, 0);
    let near = Looks { windowed: own - owned, window: d.n(&["sliding_window"]), full: 0 };
    let mut cache = near.cache(2 * d.kv_heads() * d.head());
    cache.full = Looks { full: owned, ..Looks::default() }.cache(2 * global_heads * global_head).full;
    found.cache = Some(cache);
    found
}
