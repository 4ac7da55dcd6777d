//! Encoders, and encoders with decoders: BERT, T5, BART, Whisper.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::Counted;
use super::dims::Dims;
use super::layers::{Biases, attention, layer_norm, mlp};

/// The model of `d.family`; `None` for another family.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    Some(match d.family {
        "bert" | "roberta" | "xlm-roberta" | "camembert" | "electra" | "distilbert" | "albert" | "deberta-v2" => {
            bert(d)
        }
        "modernbert" => modernbert(d),
        "t5" | "mt5" => t5(d),
        "bart" | "mbart" => bart(d),
        "whisper" => whisper(d),
        _ => return None,
    })
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
        vocabulary: d.opt(&["vocab_size"]),
        untied: !d.tied(),
        cache: None,
    }
}

/// A layer of BERT: biases everywhere, LayerNorm after both parts.
fn layer(hidden: u128, ffn: u128) -> Block {
    attention(hidden, hidden, hidden, Biases::all(true)) + mlp(hidden, ffn, false, true) + layer_norm(hidden).times(2)
}

/// The head that `architectures` puts on top of an encoder.
fn head(d: &Dims<'_>, width: u128) -> Block {
    let hidden = d.hidden();
    let labels = d.labels();
    let named = d.architecture();
    let dense = linear(hidden, hidden, true);
    let pooler = dense.when(matches!(d.family, "bert" | "roberta" | "xlm-roberta" | "camembert" | "albert"));
    let roberta = matches!(d.family, "roberta" | "xlm-roberta" | "camembert");
    let ends = |word: &str| named.is_some_and(|name| name.ends_with(word));
    if ends("Model") {
        return pooler;
    }
    if ends("ForSequenceClassification") {
        // BERT classifies the output of its pooler; the others have a dense layer of their own.
        let own = if matches!(d.family, "bert" | "albert") { pooler } else { dense };
        return own + linear(hidden, labels, true);
    }
    if ends("ForTokenClassification") {
        return linear(hidden, labels, true);
    }
    if ends("ForQuestionAnswering") {
        return linear(hidden, 2, true);
    }
    if ends("ForPreTraining") && d.family == "electra" {
        return dense + linear(hidden, 1, true);
    }
    // If untied, the output layer has a bias in addition to the head's.
    let own_bias = vector(d.vocabulary()).when(d.family != "distilbert" && d.family != "electra");
    let untied = (weight(d.vocabulary(), width) + own_bias).when(!d.tied());
    let masked = linear(hidden, width, true) + layer_norm(width) + vector(d.vocabulary()) + untied;
    let both = ends("ForPreTraining") && !roberta;
    masked + (pooler + linear(hidden, 2, true)).when(both)
}

fn bert(d: &Dims<'_>) -> Counted {
    let (hidden, layers) = (d.hidden(), d.layers());
    let ffn = d.n(&["intermediate_size", "hidden_dim"]);
    let width = d.opt(&["embedding_size"]).unwrap_or(hidden);
    let positioned = d.family != "deberta-v2" || d.flag("position_biased_input");
    let positions = weight(d.n(&["max_position_embeddings"]), width).when(positioned);
    let types = weight(d.opt(&["type_vocab_size"]).unwrap_or(0), width);
    let projected = match d.family {
        "albert" => linear(width, hidden, true),
        _ => linear(width, hidden, true).when(width != hidden),
    };
    let each = layer(hidden, ffn) + relative(d);
    let body = match d.family {
        // All layers of a group share their weights.
        "albert" => each.times(d.opt(&["num_hidden_groups"]).unwrap_or(1) * d.opt(&["inner_group_num"]).unwrap_or(1)),
        _ => each.times(layers),
    };
    let embeddings = weight(d.vocabulary(), width) + positions + types + layer_norm(width) + projected;
    counted(d, embeddings + body + relative_table(d) + head(d, width), layers, ffn)
}

/// DeBERTa's projections of relative positions, which keys and queries mostly share.
fn relative(d: &Dims<'_>) -> Block {
    let own = d.family == "deberta-v2" && d.flag("relative_attention") && !d.flag("share_att_key");
    let kinds = d.texts(&["pos_att_type"]).map(|kinds| kinds.join("|"));
    let kinds = kinds.or_else(|| d.text("pos_att_type").map(str::to_owned)).unwrap_or_default();
    let hidden = d.hidden();
    let key = linear(hidden, hidden, true).when(own && kinds.contains("c2p"));
    key + linear(hidden, hidden, true).when(own && kinds.contains("p2c"))
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

fn modernbert(d: &Dims<'_>) -> Counted {
    let (hidden, layers, ffn) = (d.hidden(), d.layers(), d.n(&["intermediate_size"]));
    let norm = vector(if d.flag("norm_bias") { 2 * hidden } else { hidden });
    let bias = d.flag("attention_bias");
    let each = attention(hidden, hidden, hidden, Biases::all(bias))
        + mlp(hidden, ffn, true, d.flag("mlp_bias"))
        + norm.times(2);
    let dense = linear(hidden, hidden, d.flag("classifier_bias")) + norm;
    let named = d.architecture();
    let ends = |word: &str| named.is_some_and(|name| name.ends_with(word));
    let head = if ends("Model") {
        NOTHING
    } else if ends("Classification") {
        dense + linear(hidden, d.labels(), true)
    } else {
        dense + vector(d.vocabulary()).when(d.flag("decoder_bias")) + weight(d.vocabulary(), hidden).when(!d.tied())
    };
    // The first layer applies the embedding's norm before its attention.
    let mut whole = each.times(layers) + weight(d.vocabulary(), hidden) + norm + norm + head;
    whole.all = whole.all.saturating_sub(norm.all);
    let mut found = counted(d, whole, layers, ffn);
    found.gated = true;
    found
}

fn t5(d: &Dims<'_>) -> Counted {
    let (hidden, ffn, heads) = (d.hidden(), d.n(&["d_ff"]), d.heads());
    let inner = heads * d.n(&["d_kv"]);
    let (encoder, decoder) = (d.layers(), d.opt(&["num_decoder_layers"]).unwrap_or_else(|| d.layers()));
    let gated = d.text("feed_forward_proj").is_some_and(|kind| kind.starts_with("gated"));
    let own = attention(hidden, inner, inner, Biases::NONE) + vector(hidden);
    let ff = mlp(hidden, ffn, gated, false) + vector(hidden);
    let buckets = weight(d.n(&["relative_attention_num_buckets"]), heads);
    let embedding = weight(d.vocabulary(), hidden);
    let whole = (own + ff).times(encoder)
        + (own.times(2) + ff).times(decoder)
        + (buckets + vector(hidden)).times(2)
        + embedding;
    let mut found = counted(d, whole, encoder + decoder, ffn);
    // transformers ties the weights of every T5, whatever the file says.
    (found.query, found.key_value, found.gated, found.untied) = (inner, inner, gated, false);
    found
}

/// Layers of an encoder, and of a decoder that also attends to the encoder.
fn both(d: &Dims<'_>, key_bias: bool) -> (Block, u128, u128) {
    let hidden = d.hidden();
    let (encoder, decoder) = (d.n(&["encoder_layers"]), d.n(&["decoder_layers"]));
    let (ffn, wide) = (d.n(&["encoder_ffn_dim"]), d.n(&["decoder_ffn_dim"]));
    let mut own = attention(hidden, hidden, hidden, Biases::all(true)) + layer_norm(hidden);
    own.all -= if key_bias { 0 } else { hidden };
    let rest = |ffn| mlp(hidden, ffn, false, true) + layer_norm(hidden);
    ((own + rest(ffn)).times(encoder) + (own.times(2) + rest(wide)).times(decoder), encoder + decoder, ffn)
}

fn bart(d: &Dims<'_>) -> Counted {
    let hidden = d.hidden();
    let (layers, count, ffn) = both(d, true);
    let positions = weight(d.n(&["max_position_embeddings"]) + 2, hidden).times(2);
    let embedding = weight(d.vocabulary(), hidden);
    let norms = layer_norm(hidden).times(if d.family == "mbart" { 4 } else { 2 });
    // If untied, encoder and decoder have embeddings of their own, in addition to the output layer.
    let whole = layers + positions + norms + embedding + embedding.times(3).when(!d.tied());
    counted(d, whole, count, ffn)
}

fn whisper(d: &Dims<'_>) -> Counted {
    let hidden = d.hidden();
    let (layers, count, ffn) = both(d, false);
    let convolutions = weight(3 * d.n(&["num_mel_bins"]), hidden) + weight(3 * hidden, hidden) + vector(2 * hidden);
    let positions = weight(d.n(&["max_source_positions"]) + d.n(&["max_target_positions"]), hidden);
    let embedding = weight(d.vocabulary(), hidden);
    let whole = layers + convolutions + positions + layer_norm(hidden).times(2) + embedding + embedding.when(!d.tied());
    counted(d, whole, count, ffn)
}
