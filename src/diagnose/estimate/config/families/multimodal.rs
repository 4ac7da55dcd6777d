//! Models of several parts: a decoder, vision and audio towers, and the layers between them.

use super::block::{Block, linear, vector, weight};
use super::counted::Counted;
use super::dims::Dims;
use super::layers::{Biases, attention, mlp};
use super::{Uncounted, decoder_of, names, speech, vision};

/// The families that are counted as a whole, by `model_type`.
pub(super) const FAMILIES: [&str; 21] = [
    "gemma3",
    "paligemma",
    "llava",
    "llava_next",
    "mistral3",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_vl_moe",
    "qwen3_5",
    "qwen3_5_moe",
    "llama4",
    "mllama",
    "idefics3",
    "smolvlm",
    "internvl",
    "gemma3n",
    "qwen2_5_omni_thinker",
    "qwen3_omni_moe_thinker",
    "qwen2_5_omni",
    "qwen3_omni_moe",
];

/// Whether a model also speaks.
pub(super) fn speaks(d: &Dims<'_>) -> bool {
    matches!(d.family, "qwen2_5_omni" | "qwen3_omni_moe")
}

/// The parts of a model, counted together.
pub(super) fn of(d: &Dims<'_>) -> Result<Counted, Uncounted> {
    if speaks(d) {
        return speaking(d);
    }
    // The defaults of these parts are models of their own, which no published file leaves out.
    if matches!(d.family, "paligemma" | "llava" | "llava_next" | "mistral3") {
        d.require(&["text_config", "vision_config"]);
        d.check().map_err(Uncounted::Refused)?;
    }
    let words = d.part("text_config");
    let decoder = match d.family {
        "mllama" => cross_attending(&words),
        _ => {
            let found = decoder_of(&words).ok_or_else(|| Uncounted::family(words.family))?;
            found.map_err(Uncounted::Refused)?
        }
    };
    words.check().map_err(Uncounted::Refused)?;
    let eyes = d.part("vision_config");
    let tower = vision::tower(&eyes).ok_or_else(|| Uncounted::family(eyes.family))?;
    let joint = joint(d, &eyes, decoder.hidden);
    eyes.check().map_err(Uncounted::Refused)?;
    let ears = match d.family {
        "gemma3n" | "qwen2_5_omni_thinker" | "qwen3_omni_moe_thinker" => hearing(d, decoder.hidden)?,
        _ => Block::default(),
    };
    // The top level decides whether the output layer is tied.
    let embedding = weight(words.vocabulary(), decoder.hidden);
    let untied = match d.family {
        "mllama" => true,
        "llama4" => !words.tied(),
        // Its files mostly set this in the decoder's part.
        "llava" => !d.tied() && !words.tied(),
        _ => !d.tied(),
    };
    let seen = (tower + ears + joint).of_tower();
    let towers = seen.matrices;
    let mut whole = decoder.whole.clone() + seen + embedding.clone().when(untied && !decoder.untied);
    if decoder.untied && !untied {
        whole.all = whole.all.saturating_sub(embedding.all);
    }
    Ok(Counted { whole, untied, towers, ..decoder })
}

/// The audio tower, and the layers between it and a decoder of width `hidden`.
fn hearing(d: &Dims<'_>, hidden: u128) -> Result<Block, Uncounted> {
    let ears = d.part("audio_config");
    let tower = speech::tower(&ears).ok_or_else(|| Uncounted::family(ears.family))?;
    let joint = if d.family == "gemma3n" { embedder(&ears, hidden) } else { Block::default() };
    ears.check().map_err(Uncounted::Refused)?;
    Ok(tower + joint)
}

/// Qwen-Omni: the thinker and, unless it is switched off, the speech output.
fn speaking(d: &Dims<'_>) -> Result<Counted, Uncounted> {
    let thinker = d.part("thinker_config");
    let found = of(&thinker)?;
    thinker.check().map_err(Uncounted::Refused)?;
    let voice = if d.is_false("enable_audio_output") { Block::default() } else { speech::voice(d) };
    let towers = found.towers + voice.matrices;
    Ok(Counted { whole: found.whole + voice.of_tower(), towers, ..found })
}

/// The layers that feed Gemma 3n's images or sounds into a decoder of width `hidden`.
fn embedder(tower: &Dims<'_>, hidden: u128) -> Block {
    let seen = tower.hidden();
    weight(tower.vocabulary(), seen) + vector(2 * seen) + linear(seen, hidden, false).named("embedding_projection")
}

/// Two layers from a tower of width `seen` to a decoder of width `hidden`.
fn projector(seen: u128, hidden: u128, bias: bool) -> Block {
    linear(seen, hidden, bias).named("multi_modal_projector.linear_1")
        + linear(hidden, hidden, bias).named("multi_modal_projector.linear_2")
}

/// The layers between a tower and a decoder of width `hidden`.
fn joint(d: &Dims<'_>, eyes: &Dims<'_>, hidden: u128) -> Block {
    let bias = !d.is_false("multimodal_projector_bias");
    let seen = || eyes.hidden();
    match d.family {
        "gemma3" => weight(seen(), hidden) + vector(seen()),
        "gemma3n" => embedder(eyes, hidden),
        "paligemma" => {
            let width = d.opt(&["projection_dim"]).unwrap_or(hidden);
            linear(seen(), width, true).named("multi_modal_projector.linear")
        }
        "llava" => projector(seen(), hidden, bias),
        "llava_next" => projector(seen(), hidden, bias) + vector(hidden),
        "mistral3" => {
            let merge = d.opt(&["spatial_merge_size"]).unwrap_or(2);
            let merger =
                linear(seen() * merge * merge, seen(), false).named("patch_merger.merging_layer") + vector(seen());
            merger + projector(seen(), hidden, bias)
        }
        "llama4" => linear(eyes.n(&["vision_output_dim"]), hidden, false).named("multi_modal_projector.linear_1"),
        "mllama" => {
            let kept = eyes.numbers("intermediate_layers_indices").map_or(5, |at| at.len() as u128) + 1;
            linear(eyes.opt(&["vision_output_dim"]).unwrap_or(seen() * kept), hidden, true)
                .named("multi_modal_projector")
        }
        "idefics3" | "smolvlm" => {
            let scale = d.opt(&["scale_factor"]).unwrap_or(2);
            linear(seen() * scale * scale, hidden, false).named("modality_projection.proj")
        }
        "internvl" => {
            // A ratio of one half merges four patches.
            let ratio = d.number("downsample_ratio").filter(|ratio| *ratio > 0.0).unwrap_or(0.5);
            let merged = (seen() as f64 / (ratio * ratio)).round() as u128;
            vector(2 * merged) + projector(merged, hidden, true)
        }
        // Qwen's towers end with their merger.
        _ => Block::default(),
    }
}

/// The decoder of Llama 3.2 Vision: some layers attend to the image instead of the text.
fn cross_attending(d: &Dims<'_>) -> Counted {
    let (hidden, layers, head) = (d.hidden(), d.layers(), d.head());
    let (query, key_value) = (d.heads() * head, d.kv_heads() * head);
    // Every fifth layer, unless the file lists them.
    let crossing = d.numbers("cross_attention_layers").map_or(layers / 5, |at| at.len() as u128).min(layers);
    let ffn = d.n(&["intermediate_size"]);
    let each = attention(hidden, query, key_value, Biases::NONE) + mlp(hidden, ffn, true, false) + vector(2 * hidden);
    let crossed = each.clone().renamed(names::CROSS);
    let embedding = weight(d.vocabulary(), hidden);
    // The embedding has eight more rows than the output layer, for the image, so the two cannot share a matrix.
    let parameters = each.times(layers - crossing)
        + (crossed + vector(2 * head + 2)).times(crossing)
        + weight(d.vocabulary() + 8, hidden)
        + vector(hidden)
        + embedding;
    let found = Counted {
        whole: parameters,
        layers,
        hidden,
        heads: d.heads(),
        query,
        key_value,
        ffn,
        gated: true,
        active: 0,
        vocabulary: Some(d.vocabulary()),
        untied: true,
        words: true,
        read: hidden,
        output_bias: Block::default(),
        towers: 0,
        cache: Some(super::counted::Looks { full: layers, ..Default::default() }.cache(2 * key_value)),
    };
    names::on_decoder(d.family, found)
}
