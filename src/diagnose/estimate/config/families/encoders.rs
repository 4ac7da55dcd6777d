//! Encoders, and encoders with decoders: BERT, T5, BART, Whisper.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::Counted;
use super::dims::Dims;
use super::heads::{Top, top};
use super::layers::{Biases, attention, layer_norm, mlp};
use super::names;
use crate::estimate::config::adapter::Kind;

/// The families that this module counts.
pub(super) const FAMILIES: [&str; 14] = [
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "electra",
    "distilbert",
    "albert",
    "deberta-v2",
    "modernbert",
    "t5",
    "mt5",
    "bart",
    "mbart",
    "whisper",
];

/// The model of `d.family`; `None` for another family, and for a class of it that is not counted.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    match d.family {
        "modernbert" => modernbert(d),
        "t5" | "mt5" => t5(d),
        "bart" | "mbart" => bart(d),
        "whisper" => whisper(d),
        family if FAMILIES.contains(&family) => bert(d),
        _ => None,
    }
}

pub(super) fn counted(d: &Dims<'_>, whole: Block, layers: u128, ffn: u128) -> Counted {
    let hidden = d.hidden();
    let heads = d.opt(&["num_attention_heads", "num_heads", "n_heads", "encoder_attention_heads"]).unwrap_or(1);
    Counted {
        whole,
        layers,
        hidden,
        heads,
        query: hidden,
        key_value: hidden,
        ffn,
        gated: false,
        active: 0,
        vocabulary: d.opt(&["vocab_size"]),
        untied: !d.tied(),
        words: matches!(top(d), Some(Top::Words | Top::Causal | Top::PreTraining)),
        read: hidden,
        output_bias: NOTHING,
        towers: 0,
        cache: None,
    }
}

/// A layer of BERT: biases everywhere, LayerNorm after both parts.
fn layer(hidden: u128, ffn: u128) -> Block {
    attention(hidden, hidden, hidden, Biases::all(true)) + mlp(hidden, ffn, false, true) + layer_norm(hidden).times(2)
}

/// What `architectures` puts on top of an encoder; `None` for a class that is not counted.
fn head(d: &Dims<'_>, width: u128) -> Option<Block> {
    let (hidden, labels) = (d.hidden(), d.labels());
    let distilled = d.family == "distilbert";
    let dense = linear(hidden, hidden, true).named(if distilled { "pre_classifier" } else { "dense" });
    let pooler = dense.clone().when(matches!(d.family, "bert" | "roberta" | "xlm-roberta" | "camembert" | "albert"));
    let roberta = matches!(d.family, "roberta" | "xlm-roberta" | "camembert");
    // If untied, the output layer has a bias in addition to the head's.
    let own_bias = vector(d.vocabulary()).when(d.family != "distilbert" && d.family != "electra");
    let untied = (weight(d.vocabulary(), width) + own_bias).when(!d.tied());
    let transform = if distilled { "vocab_transform" } else { "dense" };
    let masked = linear(hidden, width, true).named(transform) + layer_norm(width) + vector(d.vocabulary()) + untied;
    let class = |labels| linear(hidden, labels, true).named("classifier").of_kind(Kind::Classifier);
    Some(match top(d)? {
        Top::Words | Top::Causal => masked,
        Top::Bare => pooler,
        // BERT classifies the output of its pooler; the others have a dense layer of their own.
        Top::Sequence => dense + class(labels),
        Top::Choice => dense + class(1),
        Top::Token | Top::Span => class(labels),
        Top::PreTraining if d.family == "electra" => dense + class(1),
        Top::PreTraining if roberta => masked,
        Top::PreTraining => masked + pooler + class(if d.family == "albert" { labels } else { 2 }),
        Top::Next if d.family == "bert" => pooler + class(2),
        _ => return None,
    })
}

fn bert(d: &Dims<'_>) -> Option<Counted> {
    let (hidden, layers) = (d.hidden(), d.layers());
    let ffn = d.n(&["intermediate_size", "hidden_dim"]);
    let width = d.opt(&["embedding_size"]).unwrap_or(hidden);
    let positioned = d.family != "deberta-v2" || d.flag("position_biased_input");
    let positions = weight(d.n(&["max_position_embeddings"]), width).when(positioned);
    let types = weight(d.opt(&["type_vocab_size"]).unwrap_or(0), width);
    let projected = match d.family {
        "albert" => linear(width, hidden, true).named("embedding_hidden_mapping_in"),
        _ => linear(width, hidden, true).named("embeddings_project").when(width != hidden),
    };
    let names = match d.family {
        "albert" => names::ALBERT,
        "distilbert" => names::DISTILBERT,
        "deberta-v2" => names::DEBERTA,
        _ => names::BERT,
    };
    let each = layer(hidden, ffn).renamed(names) + relative(d);
    let body = match d.family {
        // All layers of a group share their weights.
        "albert" => each.times(d.opt(&["num_hidden_groups"]).unwrap_or(1) * d.opt(&["inner_group_num"]).unwrap_or(1)),
        _ => each.times(layers),
    };
    let embeddings = weight(d.vocabulary(), width) + positions + types + layer_norm(width) + projected;
    let whole = embeddings + body + relative_table(d) + head(d, width)?;
    Some(counted(d, whole, layers, ffn))
}

/// DeBERTa's projections of relative positions, which keys and queries mostly share.
fn relative(d: &Dims<'_>) -> Block {
    let own = d.family == "deberta-v2" && d.flag("relative_attention") && !d.flag("share_att_key");
    let kinds = d.texts(&["pos_att_type"]).map(|kinds| kinds.join("|"));
    let kinds = kinds.or_else(|| d.text("pos_att_type").map(str::to_owned)).unwrap_or_default();
    let hidden = d.hidden();
    let key = linear(hidden, hidden, true).named("attention.self.pos_key_proj").when(own && kinds.contains("c2p"));
    key + linear(hidden, hidden, true).named("attention.self.pos_query_proj").when(own && kinds.contains("p2c"))
}

/// DeBERTa's table of relative positions.
fn relative_table(d: &Dims<'_>) -> Block {
    if d.family != "deberta-v2" {
        return NOTHING;
    }
    let hidden = d.hidden();
    let normed = d.text("norm_rel_ebd").is_some_and(|kinds| kinds.contains("layer_norm"));
    let table = d.flag("relative_attention").then(|| {
        let most = d.opt_signed("max_relative_positions").filter(|&most| most >= 1);
        let rows = d.opt_signed("position_buckets").filter(|&buckets| buckets > 0).or(most);
        weight(2 * rows.unwrap_or_else(|| d.n(&["max_position_embeddings"])), hidden)
    });
    table.unwrap_or(NOTHING) + layer_norm(hidden).when(normed)
}

fn modernbert(d: &Dims<'_>) -> Option<Counted> {
    let (hidden, layers, ffn) = (d.hidden(), d.layers(), d.n(&["intermediate_size"]));
    let norm = vector(if d.flag("norm_bias") { 2 * hidden } else { hidden });
    let bias = d.flag("attention_bias");
    let each = attention(hidden, hidden, hidden, Biases::all(bias))
        + mlp(hidden, ffn, true, d.flag("mlp_bias"))
        + norm.times(2);
    let each = each.renamed(names::MODERNBERT);
    let dense = linear(hidden, hidden, d.flag("classifier_bias")).named("head.dense") + norm.clone();
    let class = |labels| linear(hidden, labels, true).named("classifier").of_kind(Kind::Classifier);
    let head = match top(d)? {
        Top::Bare => NOTHING,
        Top::Sequence | Top::Token | Top::Span => dense + class(d.labels()),
        Top::Choice => dense + class(1),
        Top::Words => {
            dense + vector(d.vocabulary()).when(d.flag("decoder_bias")) + weight(d.vocabulary(), hidden).when(!d.tied())
        }
        _ => return None,
    };
    // The first layer applies the embedding's norm before its attention.
    let mut whole = each.times(layers) + weight(d.vocabulary(), hidden) + norm.times(2) + head;
    whole.all = whole.all.saturating_sub(norm.all);
    let mut found = counted(d, whole, layers, ffn);
    found.gated = true;
    Some(found)
}

fn t5(d: &Dims<'_>) -> Option<Counted> {
    let (hidden, ffn, heads, labels) = (d.hidden(), d.n(&["d_ff"]), d.heads(), d.labels());
    let inner = heads * d.n(&["d_kv"]);
    let (encoder, decoder) = (d.layers(), d.opt(&["num_decoder_layers"]).unwrap_or_else(|| d.layers()));
    let named = || d.text("feed_forward_proj").is_some_and(|kind| kind.starts_with("gated"));
    let gated = d.fields.value.get("is_gated_act").and_then(|gated| gated.as_bool()).unwrap_or_else(named);
    let own = attention(hidden, inner, inner, Biases::NONE).renamed(names::T5) + vector(hidden);
    let cross = own.clone().renamed(names::T5_CROSS);
    let up = if gated { "DenseReluDense.wi_1" } else { "DenseReluDense.wi" };
    let ff = mlp(hidden, ffn, gated, false).renamed(names::T5).renamed(&[("mlp.up_proj", up)]) + vector(hidden);
    let buckets = weight(d.n(&["relative_attention_num_buckets"]), heads);
    let embedding = weight(d.vocabulary(), hidden);
    let read = (own.clone() + ff.clone()).times(encoder) + buckets.clone() + vector(hidden);
    let written = (own + cross + ff).times(decoder) + buckets + vector(hidden);
    let class = linear(hidden, labels, true).named("classifier").of_kind(Kind::Classifier);
    let both = read.clone() + written;
    let (body, layers) = match top(d)? {
        Top::Words | Top::Causal | Top::Bare => (both, encoder + decoder),
        Top::Encoder => (read, encoder),
        Top::Token => (read + class, encoder),
        Top::Sequence => (both + linear(hidden, hidden, true).named("dense") + class, encoder + decoder),
        Top::Span => (both + class, encoder + decoder),
        _ => return None,
    };
    let mut found = counted(d, body + embedding, layers, ffn);
    // transformers ties the weights of every T5, whatever the file says.
    (found.query, found.key_value, found.gated, found.untied) = (inner, inner, gated, false);
    Some(found)
}

/// Layers of an encoder, and of a decoder that also attends to the encoder.
struct Both {
    encoder: (Block, u128),
    decoder: (Block, u128),
    ffn: u128,
}

impl Both {
    fn of(d: &Dims<'_>, key_bias: bool) -> Self {
        let hidden = d.hidden();
        let (encoder, decoder) = (d.n(&["encoder_layers"]), d.n(&["decoder_layers"]));
        let (ffn, wide) = (d.n(&["encoder_ffn_dim"]), d.n(&["decoder_ffn_dim"]));
        let mut own = attention(hidden, hidden, hidden, Biases::all(true)).renamed(names::BART) + layer_norm(hidden);
        own.all -= if key_bias { 0 } else { hidden };
        let rest = |ffn| mlp(hidden, ffn, false, true).renamed(names::BART) + layer_norm(hidden);
        let cross = own.clone().renamed(names::BART_CROSS);
        Self {
            encoder: ((own.clone() + rest(ffn)).times(encoder), encoder),
            decoder: ((own + cross + rest(wide)).times(decoder), decoder),
            ffn,
        }
    }
}

fn bart(d: &Dims<'_>) -> Option<Counted> {
    let (hidden, untied) = (d.hidden(), !d.tied());
    let Both { encoder, decoder, ffn } = Both::of(d, true);
    let positions = weight(d.n(&["max_position_embeddings"]) + 2, hidden);
    let embedding = weight(d.vocabulary(), hidden);
    let side = positions + layer_norm(hidden).times(if d.family == "mbart" { 2 } else { 1 });
    // If untied, encoder and decoder have embeddings of their own, in addition to the output layer.
    let both = encoder.0 + decoder.0.clone() + side.times(2) + embedding.times(if untied { 3 } else { 1 });
    let class = |labels| linear(hidden, labels, true).named("classifier").of_kind(Kind::Classifier);
    let (whole, layers) = match top(d)? {
        Top::Words => (both + embedding.when(untied), encoder.1 + decoder.1),
        Top::Bare => (both, encoder.1 + decoder.1),
        Top::Sequence => (both + class(hidden) + class(d.labels()), encoder.1 + decoder.1),
        Top::Span => (both + class(2), encoder.1 + decoder.1),
        // The decoder alone, which attends to something else.
        Top::Causal => (decoder.0 + side + embedding.times(if untied { 2 } else { 1 }), decoder.1),
        _ => return None,
    };
    Some(counted(d, whole, layers, ffn))
}

fn whisper(d: &Dims<'_>) -> Option<Counted> {
    let hidden = d.hidden();
    let Both { encoder, decoder, ffn } = Both::of(d, false);
    let convolutions = weight(3 * d.n(&["num_mel_bins"]), hidden) + weight(3 * hidden, hidden) + vector(2 * hidden);
    let heard = encoder.0 + convolutions + weight(d.n(&["max_source_positions"]), hidden) + layer_norm(hidden);
    let embedding = weight(d.vocabulary(), hidden);
    let written = decoder.0 + weight(d.n(&["max_target_positions"]), hidden) + layer_norm(hidden) + embedding.clone();
    let words = embedding.when(!d.tied());
    let (whole, layers) = match top(d)? {
        Top::Words => (heard + written + words, encoder.1 + decoder.1),
        Top::Bare => (heard + written, encoder.1 + decoder.1),
        Top::Causal => (written + words, decoder.1),
        Top::Audio => {
            let width = d.opt(&["classifier_proj_size"]).unwrap_or(256);
            (
                heard
                    + linear(hidden, width, true).named("projector")
                    + linear(width, d.labels(), true).named("classifier").of_kind(Kind::Classifier),
                encoder.1,
            )
        }
        _ => return None,
    };
    Some(counted(d, whole, layers, ffn))
}
