//! Audio towers and speech output: Gemma 3n's conformer, Qwen-Omni's encoders, talkers and vocoders.

use super::block::{Block, NOTHING, linear, vector, weight};
use super::decoder::qwen;
use super::dims::Dims;
use super::layers::{Biases, attention, layer_norm, mlp};

/// The audio tower of a model; `None` for a kind that is not counted.
pub(super) fn tower(d: &Dims<'_>) -> Option<Block> {
    Some(match d.family {
        "gemma3n_audio" => conformer(d),
        "qwen2_5_omni_audio_encoder" => {
            let (width, outputs) = (d.hidden(), d.n(&["output_dim"]));
            let ends = weight(2, outputs) + layer_norm(width) + linear(width, outputs, true);
            encoder(d, false) + convolution(3, d.n(&["num_mel_bins"]), width) + convolution(3, width, width) + ends
        }
        "qwen3_omni_moe_audio_encoder" => {
            let (width, channels) = (d.hidden(), d.n(&["downsample_hidden_size"]));
            // Three convolutions halve the frequencies.
            let bins = (0..3).fold(d.n(&["num_mel_bins"]), |bins, _| bins.div_ceil(2));
            encoder(d, true)
                + convolution(9, 1, channels)
                + convolution(9, channels, channels).times(2)
                + linear(channels * bins, width, false)
                + layer_norm(width)
                + linear(width, width, true)
                + linear(width, d.n(&["output_dim"]), true)
        }
        _ => return None,
    })
}

/// The speech output of Qwen-Omni.
pub(super) fn voice(d: &Dims<'_>) -> Block {
    let talker = d.part("talker_config");
    let spoken = match d.family {
        "qwen2_5_omni" => {
            let waves = d.part("token2wav_config");
            let (transformer, vocoder) = (waves.part("dit_config"), waves.part("bigvgan_config"));
            let waves = diffusion(&transformer) + bigvgan(&vocoder);
            d.absorb(&transformer);
            d.absorb(&vocoder);
            dense_talker(&talker) + waves
        }
        _ => {
            let waves = d.part("code2wav_config");
            let vocoder = code2wav(&waves);
            d.absorb(&waves);
            expert_talker(&talker) + vocoder
        }
    };
    d.absorb(&talker);
    spoken
}

/// A convolution with a bias, whose kernel covers `kernel` positions.
fn convolution(kernel: u128, inputs: u128, outputs: u128) -> Block {
    weight(kernel * inputs, outputs) + vector(outputs)
}

/// Layers like Whisper's.
fn encoder(d: &Dims<'_>, key_bias: bool) -> Block {
    let width = d.hidden();
    let mut each = attention(width, width, width, Biases::all(true))
        + mlp(width, d.n(&["encoder_ffn_dim"]), false, true)
        + layer_norm(width).times(2);
    each.all -= if key_bias { 0 } else { width };
    each.times(d.n(&["encoder_layers"]))
}

/// Gemma 3n's conformer: two convolutions over time and frequency, then layers of attention between two MLPs.
fn conformer(d: &Dims<'_>) -> Block {
    let hidden = d.hidden();
    let (channels, kernels) = (d.sizes("sscp_conv_channel_size"), d.pairs("sscp_conv_kernel_size"));
    let strides = d.pairs("sscp_conv_stride_size");
    let (mut bins, mut inputs, mut below) = (d.n(&["input_feat_size"]), 1, NOTHING);
    for ((&outputs, &(height, width)), &(_, stride)) in channels.iter().zip(&kernels).zip(&strides).take(2) {
        below += weight(height * width, inputs * outputs) + vector(outputs);
        // One bin of padding on each side.
        bins = (bins + 2).saturating_sub(width) / stride.max(1) + 1;
        inputs = outputs;
    }
    let head = hidden / d.n(&["conf_num_attention_heads"]).max(1);
    let ends = mlp(hidden, 4 * hidden, false, false) + vector(2 * hidden);
    // Positions have a projection, in addition to queries, keys and values.
    let heard = attention(hidden, hidden, hidden, Biases::NONE)
        + linear(hidden, hidden, false)
        + vector(head)
        + vector(2 * hidden);
    let convolved = linear(hidden, 2 * hidden, false)
        + weight(d.n(&["conf_conv_kernel_size"]), hidden)
        + linear(hidden, hidden, false)
        + vector(2 * hidden);
    let each = ends.times(2) + heard + convolved + vector(hidden);
    below + linear(inputs * bins, hidden, false) + each.times(d.n(&["conf_num_hidden_layers"]))
}

/// A dense decoder of codes after the thinker, as in Qwen2.5-Omni.
fn dense_talker(d: &Dims<'_>) -> Block {
    let (hidden, width) = (d.hidden(), d.n(&["embedding_size"]));
    let each = attention(hidden, d.heads() * d.head(), d.kv_heads() * d.head(), Biases::INPUT)
        + mlp(hidden, d.n(&["intermediate_size"]), true, false)
        + vector(2 * hidden);
    each.times(d.layers())
        + vector(hidden)
        + linear(width, hidden, true)
        + weight(d.vocabulary(), width)
        + linear(hidden, d.vocabulary(), false)
}

/// A decoder with experts for the first code, and a dense one for the others, as in Qwen3-Omni.
fn expert_talker(d: &Dims<'_>) -> Block {
    let (words, codes) = (d.part("text_config"), d.part("code_predictor_config"));
    let (hidden, ffn) = (words.hidden(), words.n(&["intermediate_size"]));
    let attended = |d: &Dims<'_>| {
        let (query, key_value) = (d.heads() * d.head(), d.kv_heads() * d.head());
        let biases = Biases::all(d.flag("attention_bias"));
        attention(d.hidden(), query, key_value, biases) + vector(2 * d.head() + 2 * d.hidden())
    };
    let experts = qwen(&words, words.n(&["shared_expert_intermediate_size"]));
    let resized = linear(d.n(&["thinker_hidden_size"]), ffn, true) + linear(ffn, hidden, true);
    let first = (attended(&words) + experts.block(hidden)).times(words.layers())
        + vector(hidden)
        + weight(words.vocabulary(), hidden)
        + linear(hidden, words.vocabulary(), false)
        + resized.times(2);
    let width = codes.hidden();
    let tables = weight(codes.vocabulary(), width) + linear(width, codes.vocabulary(), false);
    let others = (attended(&codes) + mlp(width, codes.n(&["intermediate_size"]), true, false)).times(codes.layers())
        + vector(width)
        + tables.times(codes.n(&["num_code_groups"]).saturating_sub(1));
    d.absorb(&words);
    d.absorb(&codes);
    first + others
}

/// Qwen2.5-Omni's diffusion transformer, which makes a spectrogram, and its speaker encoder (ECAPA-TDNN).
fn diffusion(d: &Dims<'_>) -> Block {
    /// Features of a time step.
    const TIMES: u128 = 256;
    let (hidden, mel) = (d.hidden(), d.n(&["mel_dim"]));
    let inner = d.heads() * d.head();
    let each = linear(hidden, 6 * hidden, true)
        + attention(hidden, inner, inner, Biases::all(true))
        + mlp(hidden, hidden * d.n(&["ff_mult"]), false, true);
    let (codes, speaker) = (d.n(&["emb_dim"]), d.n(&["enc_dim"]));
    let inputs = mel + speaker + d.n(&["enc_emb_dim"]) + codes;
    each.times(d.layers())
        + linear(TIMES, hidden, true)
        + linear(hidden, hidden, true)
        + weight(d.n(&["num_embeds"]) + 1, codes)
        + linear(inputs, hidden, true)
        + linear(hidden, 2 * hidden, true)
        + linear(hidden, mel, true)
        + speaker_encoder(d, mel, speaker)
}

fn speaker_encoder(d: &Dims<'_>, mel: u128, outputs: u128) -> Block {
    let (channels, kernels) = (d.sizes("enc_channels"), d.sizes("enc_kernel_sizes"));
    let (attended, squeezed) = (d.n(&["enc_attention_channels"]), d.n(&["enc_se_channels"]));
    let scale = d.n(&["enc_res2net_scale"]).max(1);
    let (Some((&last, _)), Some((&kernel, _))) = (channels.split_last(), kernels.split_last()) else {
        return NOTHING;
    };
    let mut whole = convolution(kernels[0], mel, channels[0])
        + convolution(kernel, last, last)
        + convolution(1, 3 * last, attended)
        + convolution(1, attended, last)
        + convolution(1, 2 * last, outputs);
    // The first and the last layer are counted above.
    let inner = channels.len().saturating_sub(2);
    for (pair, &kernel) in channels.windows(2).zip(&kernels[1..]).take(inner) {
        let (from, to) = (pair[0], pair[1]);
        whole += convolution(1, from, to)
            + convolution(kernel, to / scale, to / scale).times(scale - 1)
            + convolution(1, to, to)
            + convolution(1, to, squeezed)
            + convolution(1, squeezed, to);
    }
    whole
}

/// Qwen2.5-Omni's vocoder: each step halves the channels, with residual blocks for every kernel.
fn bigvgan(d: &Dims<'_>) -> Block {
    let mut channels = d.n(&["upsample_initial_channel"]);
    let blocks = d.sizes("resblock_kernel_sizes");
    let mut whole = convolution(7, d.n(&["mel_dim"]), channels);
    for kernel in d.sizes("upsample_kernel_sizes") {
        let half = channels / 2;
        whole += convolution(kernel, channels, half);
        whole += blocks.iter().map(|&kernel| (convolution(kernel, half, half) + vector(2 * half)).times(6)).sum();
        channels = half;
    }
    whole + vector(2 * channels) + weight(7, channels)
}

/// Qwen3-Omni's vocoder: a transformer, steps that keep the width, steps that halve it.
fn code2wav(d: &Dims<'_>) -> Block {
    let (hidden, head) = (d.hidden(), d.head());
    let biases = Biases::all(d.flag("attention_bias"));
    let each = attention(hidden, d.heads() * head, d.kv_heads() * head, biases)
        + mlp(hidden, d.n(&["intermediate_size"]), true, false)
        + vector(4 * hidden);
    let codes = weight(d.n(&["codebook_size"]) * d.n(&["num_quantizers"]), hidden);
    let mut whole = each.times(d.layers()) + vector(hidden) + codes;
    for factor in d.sizes("upsampling_ratios") {
        // A transposed convolution, and a block of ConvNeXt.
        whole += convolution(factor, hidden, hidden)
            + weight(7, hidden)
            + vector(hidden)
            + layer_norm(hidden)
            + mlp(hidden, 4 * hidden, false, true)
            + vector(hidden);
    }
    let mut width = d.n(&["decoder_dim"]);
    whole += convolution(7, hidden, width);
    for rate in d.sizes("upsample_rates") {
        let half = width / 2;
        let residual = vector(4 * half) + convolution(7, half, half) + convolution(1, half, half);
        whole += vector(2 * width) + convolution(2 * rate, width, half) + residual.times(3);
        width = half;
    }
    whole + vector(2 * width) + convolution(7, width, 1)
}
