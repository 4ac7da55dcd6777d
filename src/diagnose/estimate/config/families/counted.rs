//! [`Counted`]: the result of counting a model's parameters.

use super::block::Block;
use super::dims::Dims;
use crate::estimate::cache::Cache;

/// The parameters of a model, its widths, and what it keeps per token.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) whole: Block,
    pub(super) layers: u128,
    pub(super) hidden: u128,
    pub(super) heads: u128,
    /// The width of the queries, all heads together.
    pub(super) query: u128,
    pub(super) key_value: u128,
    /// The inner width of the MLP that a token passes through.
    pub(super) ffn: u128,
    pub(super) gated: bool,
    /// Experts that a token passes through; 0 without experts.
    pub(super) active: u128,
    pub(super) vocabulary: Option<u128>,
    pub(super) untied: bool,
    /// Whether an output layer gives a value for each token of the vocabulary.
    pub(super) words: bool,
    /// The width that the output layer reads: mostly `hidden`.
    pub(super) read: u128,
    /// The bias of the output layer.
    pub(super) output_bias: Block,
    /// Parameters of the matrices of vision and audio towers, and of what joins them to the decoder.
    pub(super) towers: u128,
    pub(super) cache: Option<Cache>,
}

/// Numbers of layers by how far back they attend.
#[derive(Clone, Copy, Default)]
pub(super) struct Looks {
    pub(super) full: u128,
    pub(super) windowed: u128,
    pub(super) window: u128,
}

impl Looks {
    /// Keys and values of `width` per token and layer.
    pub(super) fn cache(self, width: u128) -> Cache {
        let narrow = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Cache {
            full: narrow(self.full.saturating_mul(width)),
            windowed: narrow(self.windowed.saturating_mul(width)),
            window: narrow(self.window),
            fixed: 0,
        }
    }

    /// The layers of a decoder: as in `layer_types`, otherwise by the family's rule.
    pub(super) fn of(d: &Dims<'_>) -> Self {
        let layers = d.layers();
        let window = d.opt(&["sliding_window", "attention_chunk_size", "attention_window_size"]).filter(|&w| w > 0);
        let all = Self { full: layers, ..Self::default() };
        let Some(window) = window else { return all };
        if let Some(kinds) = d.texts(&["layer_types"]) {
            let of = |word: &str| kinds.iter().filter(|kind| kind.contains(word)).count() as u128;
            return Self { full: of("full"), windowed: of("sliding") + of("chunked"), window };
        }
        // How often a layer attends to everything.
        let every = match d.family {
            "gemma2" | "gpt_oss" => Some(2),
            "gemma3_text" | "gemma4_text" => Some(d.opt(&["sliding_window_pattern"]).unwrap_or(6)),
            "gemma3n_text" => Some(5),
            "llama4_text" => Some(d.opt(&["no_rope_layer_interval"]).unwrap_or(4)),
            "cohere2" | "olmo3" | "exaone4" => Some(d.opt(&["sliding_window_pattern"]).unwrap_or(4)),
            "mistral" | "mixtral" | "starcoder2" | "phi3" | "phimoe" => None,
            "qwen2" | "qwen3" | "qwen2_moe" | "qwen3_moe" if d.flag("use_sliding_window") => {
                let full = d.opt(&["max_window_layers"]).unwrap_or(layers).min(layers);
                return Self { full, windowed: layers - full, window };
            }
            _ => return all,
        };
        let full = every.map_or(0, |every| layers / every.max(1));
        Self { full, windowed: layers - full, window }
    }
}
