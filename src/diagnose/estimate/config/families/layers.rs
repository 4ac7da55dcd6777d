//! The parts of layers: attention, MLPs, experts, state-space mixers.

use super::block::{Block, NOTHING, fused, linear, vector, weight};
use super::dims::Dims;
use crate::estimate::config::adapter::Kind;

/// The biases of an attention's matrices.
#[derive(Clone, Copy, Default)]
pub(super) struct Biases {
    pub(super) input: bool,
    pub(super) output: bool,
}

impl Biases {
    pub(super) const NONE: Self = Self { input: false, output: false };
    pub(super) const INPUT: Self = Self { input: true, output: false };

    /// Biases on all matrices or on none.
    pub(super) fn all(there: bool) -> Self {
        Self { input: there, output: there }
    }
}

/// Attention on a stream of width `hidden`: queries of width `query`, keys and values of width `key_value`, all heads
/// together.
pub(super) fn attention(hidden: u128, query: u128, key_value: u128, biases: Biases) -> Block {
    projections(hidden, query, key_value, biases) + output(query, hidden, biases)
}

/// The matrices of queries, keys and values.
pub(super) fn projections(hidden: u128, query: u128, key_value: u128, biases: Biases) -> Block {
    linear(hidden, query, biases.input).named("self_attn.q_proj")
        + linear(hidden, key_value, biases.input).named("self_attn.k_proj")
        + linear(hidden, key_value, biases.input).named("self_attn.v_proj")
}

/// The matrix that joins heads of width `query`, all together.
pub(super) fn output(query: u128, hidden: u128, biases: Biases) -> Block {
    linear(query, hidden, biases.output).named("self_attn.o_proj")
}

/// An MLP with two matrices, or three if it is gated.
pub(super) fn mlp(hidden: u128, ffn: u128, gated: bool, bias: bool) -> Block {
    linear(hidden, ffn, bias).named("mlp.gate_proj").when(gated)
        + linear(hidden, ffn, bias).named("mlp.up_proj")
        + linear(ffn, hidden, bias).named("mlp.down_proj")
}

/// `count` experts with a router; each matrix of all experts is a single weight.
pub(super) fn experts(hidden: u128, count: u128, ffn: u128, gated: bool) -> Block {
    let inner = ffn.saturating_mul(if gated { 2 } else { 1 });
    fused("mlp.experts.gate_up_proj", count, hidden, inner)
        + fused("mlp.experts.down_proj", count, ffn, hidden)
        + router(hidden, count)
}

/// The weight that chooses among `count` experts.
fn router(hidden: u128, count: u128) -> Block {
    let matrix = linear(hidden, count, false).named("mlp.gate").of_kind(Kind::Router);
    Block { matrices: 0, ..matrix }
}

/// LayerNorm with a bias.
pub(super) fn layer_norm(width: u128) -> Block {
    vector(2 * width)
}

/// Multi-head latent attention, as in DeepSeek-V2.
pub(super) fn latent_attention(d: &Dims<'_>, bias: bool) -> Block {
    let (hidden, heads) = (d.hidden(), d.heads());
    let (rope, nope, value) = (d.n(&["qk_rope_head_dim"]), d.n(&["qk_nope_head_dim"]), d.n(&["v_head_dim"]));
    let compressed = d.n(&["kv_lora_rank"]);
    let query = heads * (nope + rope);
    let queries = match d.opt(&["q_lora_rank"]) {
        Some(rank) => {
            linear(hidden, rank, bias).named("self_attn.q_a_proj")
                + vector(rank)
                + linear(rank, query, false).named("self_attn.q_b_proj")
        }
        None => linear(hidden, query, false).named("self_attn.q_proj"),
    };
    let keys = linear(hidden, compressed + rope, bias).named("self_attn.kv_a_proj_with_mqa")
        + vector(compressed)
        + linear(compressed, heads * (nope + value), false).named("self_attn.kv_b_proj");
    queries + keys + linear(heads * value, hidden, bias).named("self_attn.o_proj")
}

/// The gated delta net of Qwen3-Next.
pub(super) fn delta_net(d: &Dims<'_>) -> Block {
    let hidden = d.hidden();
    let (key_heads, value_heads) = (d.n(&["linear_num_key_heads"]), d.n(&["linear_num_value_heads"]));
    let (key, value) = (d.n(&["linear_key_head_dim"]), d.n(&["linear_value_head_dim"]));
    let (keys, values) = (key_heads * key, value_heads * value);
    let projected = if d.family == "qwen3_next" {
        linear(hidden, 2 * keys + 2 * values, false).named("linear_attn.in_proj_qkvz")
            + linear(hidden, 2 * value_heads, false).named("linear_attn.in_proj_ba")
    } else {
        linear(hidden, 2 * keys + values, false).named("linear_attn.in_proj_qkv")
            + linear(hidden, values, false).named("linear_attn.in_proj_z")
            + linear(hidden, value_heads, false).named("linear_attn.in_proj_b")
            + linear(hidden, value_heads, false).named("linear_attn.in_proj_a")
    };
    projected
        + weight(2 * keys + values, d.n(&["linear_conv_kernel_dim"]))
        + vector(2 * value_heads + value)
        + linear(values, hidden, false).named("linear_attn.out_proj")
}

/// The dimensions of a selective state-space mixer.
pub(super) struct StateSpace {
    pub(super) inner: u128,
    pub(super) state: u128,
    pub(super) kernel: u128,
    pub(super) conv_bias: bool,
    pub(super) bias: bool,
}

impl StateSpace {
    /// Mamba's first mixer.
    pub(super) fn first(&self, hidden: u128, rank: u128) -> Block {
        let Self { inner, state, kernel, conv_bias, bias } = *self;
        linear(hidden, 2 * inner, bias).named("mamba.in_proj")
            + weight(inner, kernel)
            + vector(inner).when(conv_bias)
            + linear(inner, rank + 2 * state, false).named("mamba.x_proj")
            + linear(rank, inner, true).named("mamba.dt_proj")
            + weight(inner, state)
            + vector(inner)
            + linear(inner, hidden, bias).named("mamba.out_proj")
    }

    /// Mamba-2's mixer with `heads` heads and `groups` groups of B and C, without its gated norm.
    pub(super) fn second(&self, hidden: u128, heads: u128, groups: u128) -> Block {
        let Self { inner, state, kernel, conv_bias, bias } = *self;
        let convolved = inner + 2 * groups * state;
        linear(hidden, inner + convolved + heads, bias).named("mamba.in_proj")
            + weight(convolved, kernel)
            + vector(convolved).when(conv_bias)
            + vector(3 * heads)
            + linear(inner, hidden, bias).named("mamba.out_proj")
    }

    /// Elements that a sequence keeps in each layer: the state and the convolution's window.
    pub(super) fn kept(&self, groups: u128) -> u128 {
        self.inner * self.state + self.kernel * (self.inner + 2 * groups * self.state)
    }
}

/// Experts next to or instead of an MLP, and how many layers have them.
#[derive(Clone, Default)]
pub(super) struct Experts {
    pub(super) count: u128,
    pub(super) ffn: u128,
    pub(super) gated: bool,
    /// Width of the experts shared by every token; 0 if there are none.
    pub(super) shared: u128,
    /// Other parameters of each of these layers: gates and biases.
    pub(super) extra: Block,
    /// Number of these layers.
    pub(super) layers: u128,
    /// Number of experts per token.
    pub(super) active: u128,
}

impl Experts {
    pub(super) fn block(&self, hidden: u128) -> Block {
        let shared = mlp(hidden, self.shared, self.gated, false).when(self.shared > 0).renamed(&[
            ("mlp.gate_proj", "mlp.shared_experts.gate_proj"),
            ("mlp.up_proj", "mlp.shared_experts.up_proj"),
            ("mlp.down_proj", "mlp.shared_experts.down_proj"),
        ]);
        if self.count == 0 {
            return NOTHING;
        }
        experts(hidden, self.count, self.ffn, self.gated) + shared + self.extra.clone()
    }
}
