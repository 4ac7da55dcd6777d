//! Decoders like GPT-2: LayerNorm, biases, two matrices in the MLP, learned positions.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::{Counted, Looks};
use super::dims::Dims;
use super::layers::{Biases, attention, layer_norm, mlp};

/// A classic decoder.
struct Classic {
    biases: Biases,
    mlp_bias: bool,
    norm: Block,
    norms: u128,
    final_norm: bool,
    key_value_heads: u128,
    ffn: u128,
    beside: Block,
    output_bias: Block,
    /// The width of the embedding.
    embedding: u128,
}

/// The decoder of `d.family`; `None` for another family.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    let (hidden, heads) = (d.hidden(), d.heads());
    let base = Classic {
        biases: Biases::all(true),
        mlp_bias: true,
        norm: layer_norm(hidden),
        norms: 2,
        final_norm: true,
        key_value_heads: heads,
        ffn: d.opt(&["n_inner", "intermediate_size", "ffn_hidden_size", "ffn_dim"]).unwrap_or(4 * hidden),
        beside: NOTHING,
        output_bias: NOTHING,
        embedding: hidden,
    };
    let positions = |more: u128| weight(d.n(&["n_positions", "max_position_embeddings"]) + more, hidden);
    let output_bias = vector(d.vocabulary());
    let classic = match d.family {
        "gpt2" => Classic { beside: positions(0), ..base },
        "gpt_bigcode" => {
            let key_value_heads = if d.flag("multi_query") { 1 } else { heads };
            Classic { beside: positions(0), key_value_heads, ..base }
        }
        "gpt_neo" => Classic { beside: positions(0), biases: Biases { input: false, output: true }, ..base },
        "gpt_neox" => Classic { biases: Biases::all(d.flag("attention_bias")), ..base },
        "gptj" | "codegen" => Classic { biases: Biases::NONE, norms: 1, output_bias, ..base },
        "bloom" => Classic { beside: layer_norm(hidden), ..base },
        "mpt" => Classic { biases: Biases::NONE, mlp_bias: false, norm: vector(hidden), ..base },
        "falcon" => falcon(d, base),
        "opt" => opt(d, base),
        _ => return None,
    };
    Some(classic.count(d))
}

fn falcon(d: &Dims<'_>, base: Classic) -> Classic {
    let bias = d.flag("bias");
    let new = d.flag("new_decoder_architecture");
    let key_value_heads = match (new, d.flag("multi_query")) {
        (true, _) => d.opt(&["num_kv_heads"]).unwrap_or(base.key_value_heads),
        (false, true) => 1,
        (false, false) => base.key_value_heads,
    };
    // The new architecture has a norm before each branch, unless the branches share one.
    let both = if new { d.opt(&["num_ln_in_parallel_attn"]).unwrap_or(2) == 2 } else { !d.flag("parallel_attn") };
    let norms = if both { 2 } else { 1 };
    Classic { biases: Biases::all(bias), mlp_bias: bias, key_value_heads, norms, ..base }
}

fn opt(d: &Dims<'_>, base: Classic) -> Classic {
    let (hidden, width) = (d.hidden(), d.opt(&["word_embed_proj_dim"]).unwrap_or(d.hidden()));
    let bias = d.flag("enable_bias");
    let projections =
        linear(width, hidden, false).named("project_in") + linear(hidden, width, false).named("project_out");
    let projections = projections.when(width != hidden);
    // fairseq adds two rows to the positions.
    let positions = weight(d.n(&["max_position_embeddings"]) + 2, hidden);
    Classic {
        biases: Biases::all(bias),
        mlp_bias: bias,
        final_norm: d.flag("do_layer_norm_before") && !d.flag("_remove_final_layer_norm"),
        beside: positions + projections,
        embedding: width,
        ..base
    }
}

impl Classic {
    fn count(self, d: &Dims<'_>) -> Counted {
        let (hidden, layers, heads, vocabulary) = (d.hidden(), d.layers(), d.heads(), d.vocabulary());
        let head = d.opt(&["head_dim"]).unwrap_or(hidden / heads.max(1));
        let (query, key_value) = (heads * head, self.key_value_heads * head);
        let each = attention(hidden, query, key_value, self.biases)
            + mlp(hidden, self.ffn, false, self.mlp_bias)
            + self.norm.times(self.norms);
        let embedding = weight(vocabulary, self.embedding);
        let whole = each.times(layers)
            + embedding.times(if d.tied() { 1 } else { 2 })
            + self.norm.when(self.final_norm)
            + self.beside
            + self.output_bias.clone();
        Counted {
            whole,
            layers,
            hidden,
            heads,
            query,
            key_value,
            ffn: self.ffn,
            gated: false,
            active: 0,
            vocabulary: Some(vocabulary),
            untied: !d.tied(),
            words: true,
            read: self.embedding,
            output_bias: self.output_bias,
            towers: 0,
            cache: Some(Looks { full: layers, ..Looks::default() }.cache(2 * key_value)),
        }
    }
}
