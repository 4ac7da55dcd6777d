//! Vision models and towers: ViT, CLIP, SigLIP, Pixtral, and those of Qwen, Llama and InternVL.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::counted::Counted;
use super::dims::Dims;
use super::encoders::counted;
use super::heads::{Top, top};
use super::layers::{Biases, attention, layer_norm, mlp};
use super::names;
use crate::estimate::config::adapter::Kind;

/// The families that this module counts.
pub(super) const FAMILIES: [&str; 4] = ["vit", "dinov2", "clip", "siglip"];

/// The model of `d.family`; `None` for another family, and for a class of it that is not counted.
pub(super) fn of(d: &Dims<'_>) -> Option<Counted> {
    if !FAMILIES.contains(&d.family) {
        return None;
    }
    let top = top(d)?;
    Some(match d.family {
        "vit" => {
            let (hidden, side) = (d.hidden(), d.side("patch_size"));
            let above = match top {
                Top::Image => linear(hidden, d.labels(), true).named("classifier").of_kind(Kind::Classifier),
                Top::Words | Top::Bare => linear(hidden, hidden, true).named("pooler.dense"),
                // A token for masked patches, and their pixels.
                Top::MaskedImage => {
                    let stride = d.opt(&["encoder_stride"]).unwrap_or(side);
                    vector(hidden) + linear(hidden, stride * stride * d.opt(&["num_channels"]).unwrap_or(3), true)
                }
                _ => return None,
            };
            let (tower, ffn) = (vit(d), d.n(&["intermediate_size"]));
            counted(d, tower + above, d.layers(), ffn)
        }
        "dinov2" => {
            let (tower, ffn) = dinov2(d);
            let above = match top {
                // The class token beside the mean of the patches.
                Top::Image => linear(2 * d.hidden(), d.labels(), true).named("classifier").of_kind(Kind::Classifier),
                Top::Words | Top::Bare | Top::Backbone => NOTHING,
                _ => return None,
            };
            counted(d, tower + above, d.layers(), ffn)
        }
        "clip" | "siglip" if top == Top::Image => {
            let eyes = d.part("vision_config");
            let tower = tower(&eyes)?;
            let found = counted(
                &eyes,
                tower + linear(eyes.hidden(), d.labels(), true).named("classifier").of_kind(Kind::Classifier),
                eyes.layers(),
                eyes.n(&["intermediate_size"]),
            );
            d.absorb(&eyes);
            found
        }
        _ if !matches!(top, Top::Words | Top::Bare) => return None,
        "clip" | "siglip" => {
            let (words, eyes) = (d.part("text_config"), d.part("vision_config"));
            let (read, tower) = (written(&words, d.family), tower(&eyes)?);
            let projections = match d.family {
                "clip" => {
                    let width = d.n(&["projection_dim"]);
                    linear(read.hidden, width, false).named("text_projection")
                        + linear(eyes.hidden(), width, false).named("visual_projection")
                        + vector(1)
                }
                _ => vector(2),
            };
            d.absorb(&words);
            d.absorb(&eyes);
            Counted { whole: read.whole + tower + projections, ..read }
        }
        _ => return None,
    })
}

/// A layer of an encoder with LayerNorm before both parts.
fn layer(hidden: u128, ffn: u128, qkv: bool) -> Block {
    attention(hidden, hidden, hidden, Biases { input: qkv, output: true })
        + mlp(hidden, ffn, false, true)
        + layer_norm(hidden).times(2)
}

/// Number of patches in an image.
fn patches(d: &Dims<'_>) -> u128 {
    let across = d.side("image_size") / d.side("patch_size").max(1);
    across * across
}

/// The convolution that makes patches.
fn patching(d: &Dims<'_>, bias: bool) -> Block {
    let patch = d.side("patch_size");
    let channels = d.opt(&["num_channels", "in_channels", "in_chans"]).unwrap_or(3);
    weight(channels * patch * patch, d.opt(&["embed_dim"]).unwrap_or_else(|| d.hidden()))
        + vector(d.opt(&["embed_dim"]).unwrap_or_else(|| d.hidden())).when(bias)
}

fn vit(d: &Dims<'_>) -> Block {
    let hidden = d.hidden();
    layer(hidden, d.n(&["intermediate_size"]), d.flag("qkv_bias")).renamed(names::VIT).times(d.layers())
        + patching(d, true)
        + weight(patches(d) + 1, hidden)
        + vector(hidden)
        + layer_norm(hidden)
}

fn dinov2(d: &Dims<'_>) -> (Block, u128) {
    let hidden = d.hidden();
    let ffn = hidden * d.n(&["mlp_ratio"]);
    let attention = attention(hidden, hidden, hidden, Biases { input: d.flag("qkv_bias"), output: true });
    // SwiGLU with two thirds of the width, rounded up to a multiple of 8; gate and value share one matrix.
    let swiglu = (2 * ffn / 3).div_ceil(8) * 8;
    let body = match d.flag("use_swiglu_ffn") {
        true => {
            linear(hidden, 2 * swiglu, true).named("mlp.weights_in")
                + linear(swiglu, hidden, true).named("mlp.weights_out")
        }
        false => mlp(hidden, ffn, false, true),
    };
    let each = (attention + body).renamed(names::VIT) + layer_norm(hidden).times(2) + vector(2 * hidden);
    let mask = vector(hidden).when(d.flag("use_mask_token"));
    let whole = each.times(d.layers())
        + patching(d, true)
        + weight(patches(d) + 1, hidden)
        + vector(hidden)
        + mask
        + layer_norm(hidden);
    (whole, ffn)
}

/// The text encoder of CLIP and SigLIP.
fn written(d: &Dims<'_>, family: &str) -> Counted {
    let (hidden, ffn) = (d.hidden(), d.n(&["intermediate_size"]));
    let whole = layer(hidden, ffn, true).renamed(names::CLIP).times(d.layers())
        + weight(d.vocabulary() + d.n(&["max_position_embeddings"]), hidden)
        + layer_norm(hidden)
        + linear(hidden, d.opt(&["projection_size"]).unwrap_or(hidden), true)
            .named("text_model.head")
            .when(family == "siglip");
    counted(d, whole, d.layers(), ffn)
}

/// The vision tower of a model; `None` for a kind that is not counted.
pub(super) fn tower(d: &Dims<'_>) -> Option<Block> {
    Some(match d.family {
        "clip_vision_model" => {
            let hidden = d.hidden();
            layer(hidden, d.n(&["intermediate_size"]), true).renamed(names::CLIP).times(d.layers())
                + patching(d, false)
                + weight(patches(d) + 1, hidden)
                + vector(hidden)
                + layer_norm(hidden).times(2)
        }
        "siglip_vision_model" | "idefics3_vision" | "smolvlm_vision" => siglip(d),
        "pixtral" => {
            let hidden = d.hidden();
            let each = attention(hidden, hidden, hidden, Biases::NONE)
                + mlp(hidden, d.n(&["intermediate_size"]), true, false)
                + vector(2 * hidden);
            each.renamed(names::PIXTRAL).times(d.layers()) + patching(d, false) + vector(hidden)
        }
        "internvl_vision" => {
            let hidden = d.hidden();
            let biases = Biases { input: d.flag("attention_bias"), output: true };
            let each = attention(hidden, hidden, hidden, biases)
                + mlp(hidden, d.n(&["intermediate_size"]), false, true)
                + internvl_norms(d)
                + vector(2 * hidden)
                + vector(2 * hidden).when(d.flag("use_qk_norm"));
            let positions = vector(hidden * (patches(d) + 1)).when(!d.is_false("use_absolute_position_embeddings"));
            let mask = vector(hidden).when(d.flag("use_mask_token"));
            let last = layer_norm(hidden).when(d.is_false("use_mean_pooling"));
            each.renamed(names::INTERN).times(d.layers()) + patching(d, true) + positions + vector(hidden) + mask + last
        }
        "llama4_vision_model" => {
            let (hidden, wide) = (d.hidden(), d.n(&["intermediate_size"]));
            let (inputs, outputs) = (d.n(&["projector_input_dim"]), d.n(&["projector_output_dim"]));
            let patch = d.side("patch_size");
            let channels = d.opt(&["num_channels"]).unwrap_or(3);
            layer(hidden, wide, true).renamed(names::LLAMA_EYES).times(d.layers())
                + linear(channels * patch * patch, hidden, false).named("patch_embedding.linear")
                + weight(patches(d) + 1, hidden)
                + vector(hidden)
                + layer_norm(hidden).times(2)
                + linear(wide, inputs, false).named("vision_adapter.mlp.fc1")
                + linear(inputs, outputs, false).named("vision_adapter.mlp.fc2")
        }
        "mllama_vision_model" => mllama(d),
        "qwen2_vl" | "qwen2_vl_vision" => qwen2(d),
        "gemma3n_vision" => mobilenet(d)?,
        "qwen2_5_vl" | "qwen2_5_vl_vision" | "qwen2_5_omni_vision_encoder" => qwen2_5(d),
        "qwen3_vl"
        | "qwen3_vl_vision"
        | "qwen3_vl_moe"
        | "qwen3_vl_moe_vision"
        | "qwen3_5"
        | "qwen3_5_vision"
        | "qwen3_5_moe"
        | "qwen3_5_moe_vision"
        | "qwen3_omni_moe_vision_encoder" => qwen3(d),
        _ => return None,
    })
}

/// Gemma 3n's MobileNet, as built by timm; `None` for another network or another shape.
fn mobilenet(d: &Dims<'_>) -> Option<Block> {
    let same = d.text("architecture") == Some("mobilenetv5_300m_enc") && !d.has("model_args");
    same.then_some(Block { all: 294_126_912, largest: 7_864_320, ..NOTHING })
}

fn internvl_norms(d: &Dims<'_>) -> Block {
    let width = if d.text("norm_type") == Some("rms_norm") { d.hidden() } else { 2 * d.hidden() };
    vector(2 * width)
}

fn siglip(d: &Dims<'_>) -> Block {
    let (hidden, ffn) = (d.hidden(), d.n(&["intermediate_size"]));
    // The pooling head exists unless the file disables it; Idefics has none.
    let pooled = d.family == "siglip_vision_model" && !d.is_false("vision_use_head");
    // Queries, keys and values are a weight of torch's own, which has no adapter.
    let head = weight(3 * hidden, hidden)
        + vector(3 * hidden)
        + linear(hidden, hidden, true).named("attention.out_proj")
        + mlp(hidden, ffn, false, true).renamed(names::CLIP)
        + layer_norm(hidden)
        + vector(hidden);
    layer(hidden, ffn, true).renamed(names::CLIP).times(d.layers())
        + patching(d, true)
        + weight(patches(d), hidden)
        + layer_norm(hidden)
        + head.when(pooled)
}

fn mllama(d: &Dims<'_>) -> Block {
    let (hidden, tiles) = (d.hidden(), d.n(&["max_num_tiles"]));
    let ffn = d.n(&["intermediate_size"]);
    let each =
        attention(hidden, hidden, hidden, Biases::NONE) + mlp(hidden, ffn, false, true) + layer_norm(hidden).times(2);
    let each = each.renamed(names::LLAMA_EYES);
    // One row for no tile, and one for each layout of the tiles: 1x1 to 4x1 with four tiles.
    let ratios = (1..=tiles.min(1 << 16)).map(|rows| tiles / rows).sum::<u128>() + 1;
    let positions = patches(d) + 1;
    each.times(d.layers())
        + (each + vector(2)).times(d.n(&["num_global_layers"]))
        + patching(d, false)
        + vector(hidden)
        + vector(3)
        + weight(positions, hidden)
        + weight(ratios, tiles * positions * hidden)
        + weight(ratios, tiles * hidden).times(2)
        + layer_norm(hidden).times(2)
}

/// The names of the layers of a merger that is a sequence.
const MERGER: [&str; 2] = ["mlp.0", "mlp.2"];

/// The layers between Qwen's vision towers and the decoder: neighbouring patches are merged, then two layers.
fn merger(d: &Dims<'_>, width: u128, outputs: u128, norm: Block, names: [&'static str; 2]) -> Block {
    let merge = d.opt(&["spatial_merge_size"]).unwrap_or(2);
    let merged = width * merge * merge;
    linear(merged, merged, true).named(names[0]) + linear(merged, outputs, true).named(names[1]) + norm
}

fn cubes(d: &Dims<'_>, width: u128, bias: bool) -> Block {
    let patch = d.side("patch_size");
    let channels = d.opt(&["in_channels", "in_chans"]).unwrap_or(3);
    let frames = d.opt(&["temporal_patch_size"]).unwrap_or(2);
    let patches = linear(channels * frames * patch * patch, width, bias).named("patch_embed.proj");
    Block { matrices: 0, ..patches.of_kind(Kind::Convolution) }
}

fn qwen2(d: &Dims<'_>) -> Block {
    let (width, outputs) = (d.n(&["embed_dim"]), d.hidden());
    layer(width, width * d.n(&["mlp_ratio"]), true).renamed(names::QWEN2_EYES).times(d.n(&["depth"]))
        + cubes(d, width, false)
        + merger(d, width, outputs, layer_norm(width), MERGER)
}

fn qwen2_5(d: &Dims<'_>) -> Block {
    let width = d.hidden();
    let each = attention(width, width, width, Biases::all(true))
        + mlp(width, d.n(&["intermediate_size"]), true, true)
        + vector(2 * width);
    let names = if d.family.contains("omni") { names::OMNI_EYES } else { names::QWEN2_5_EYES };
    let outputs = d.n(&["out_hidden_size"]);
    each.renamed(names).times(d.n(&["depth"]))
        + cubes(d, width, false)
        + merger(d, width, outputs, vector(width), MERGER)
}

fn qwen3(d: &Dims<'_>) -> Block {
    let (width, outputs) = (d.hidden(), d.n(&["out_hidden_size"]));
    let merge = d.opt(&["spatial_merge_size"]).unwrap_or(2);
    let deep = d.numbers("deepstack_visual_indexes").map_or(0, |at| at.len() as u128);
    let joined = if d.family.contains("omni") { MERGER } else { ["linear_fc1", "linear_fc2"] };
    let deep = if d.family.starts_with("qwen3_vl") || d.family.starts_with("qwen3_omni") { deep } else { 0 };
    layer(width, d.n(&["intermediate_size"]), true).renamed(names::QWEN3_EYES).times(d.n(&["depth"]))
        + cubes(d, width, true)
        + weight(d.n(&["num_position_embeddings"]), width)
        + merger(d, width, outputs, layer_norm(width), joined)
        + merger(d, width, outputs, layer_norm(width * merge * merge), joined).times(deep)
}
