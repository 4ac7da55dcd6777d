//! [`Model`]: the number of parameters, and their layout if it is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache::Cache;
use super::error::EstimateError;
use super::family::{Family, known};
use super::matrices::{Matrices, Sums};
use super::stored::Stored;

/// The most GPUs, and the largest batch, sequence or width, that an estimate covers.
pub const MAX_WORLD: u64 = 1 << 32;

/// The most parameters that an estimate covers.
const MAX_PARAMETERS: u64 = 1_000_000_000_000_000;

/// The layers of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// Number of layers.
    pub layers: u64,
    /// The width of the residual stream.
    pub hidden: u64,
    /// Attention heads; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<u64>,
    /// The width of the keys, and of the values, all heads together; the hidden width without grouped queries.
    pub key_value: u64,
    /// The width of the queries, all heads together; usually the hidden width.
    pub query: u64,
    /// The width inside the MLP.
    pub ffn: u64,
    /// Whether the MLP is gated: three matrices instead of two.
    pub gated: bool,
    /// Rows of the embedding; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
    /// Whether the output layer has its own matrix.
    pub untied: bool,
    /// Whether no output layer gives a value for each token of the vocabulary: a classifier, or a bare model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_logits: bool,
    /// Whether the widths were assumed from the number of parameters.
    pub assumed: bool,
    /// The family, if it was measured what its layers keep for the backward pass.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Experts that a token passes through; absent without experts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u64>,
}

impl Shape {
    /// A decoder with `layers` layers of width `hidden`: an MLP of four times the width, no grouped queries, no
    /// vocabulary.
    pub const fn new(layers: u64, hidden: u64) -> Self {
        Self {
            layers,
            hidden,
            heads: None,
            key_value: hidden,
            query: hidden,
            ffn: hidden.saturating_mul(4),
            gated: false,
            vocabulary: None,
            untied: false,
            no_logits: false,
            assumed: false,
            family: None,
            active: None,
        }
    }

    /// The usual shape of a decoder with `parameters` parameters: twelve parameters per layer and squared width, and a
    /// width of 128 times the number of layers, as from GPT-3 to LLaMA.
    fn assumed(parameters: u64) -> Self {
        let hidden = (parameters as f64 * 128.0 / 12.0).cbrt().max(64.0);
        let hidden = (hidden / 64.0).round() as u64 * 64;
        Self { assumed: true, ..Self::new((hidden / 128).max(1), hidden) }
    }

    /// The number of heads of a layer if it is unknown: each 128 wide.
    pub(super) fn assumed_heads(&self) -> u64 {
        self.hidden.div_ceil(128)
    }

    /// The numbers in a formula of activations.
    pub(super) fn given(&self, batch: u64, sequence: u64) -> String {
        let heads = self.heads.unwrap_or_else(|| self.assumed_heads());
        let mut text = format!("s = {sequence}, b = {batch}, h = {}, ffn = {}, a = {heads}", self.hidden, self.ffn);
        if self.family.is_some() {
            text.push_str(&format!(", q = {}, kv = {}", self.query, self.key_value));
            text.push_str(&self.active.map_or(String::new(), |active| format!(", k = {active}")));
        }
        if let Some(vocabulary) = self.vocabulary {
            text.push_str(&format!(", V = {vocabulary}"));
        }
        text
    }

    /// The values that the output layer gives for each token; absent if there are none, or if the vocabulary is unknown.
    pub(super) fn logits(&self) -> Option<u64> {
        self.vocabulary.filter(|_| !self.no_logits)
    }

    /// The inputs and outputs of every matrix of a layer.
    fn matrices(&self) -> impl Iterator<Item = (u64, u64)> {
        let Self { hidden, query, key_value, ffn, gated, .. } = *self;
        let attention = [(hidden, query), (hidden, key_value), (hidden, key_value), (query, hidden)];
        let mlp = [(hidden, ffn), (ffn, hidden), (hidden, ffn)];
        attention.into_iter().chain(mlp.into_iter().take(if gated { 3 } else { 2 }))
    }

    /// Parameters of one layer's matrices and two norms, saturating.
    fn layer_parameters(&self) -> u64 {
        let matrices =
            self.matrices().fold(0u64, |sum, (inputs, outputs)| sum.saturating_add(inputs.saturating_mul(outputs)));
        matrices.saturating_add(self.hidden.saturating_mul(2))
    }

    /// Parameters of the embedding, saturating; 0 without a vocabulary.
    pub(super) fn embedding_parameters(&self) -> u64 {
        self.vocabulary.unwrap_or(0).saturating_mul(self.hidden)
    }

    /// Parameters of the whole model, saturating: layers, embedding, output layer, final norm. Biases are not counted.
    pub fn parameters(&self) -> u64 {
        let embedding = self.embedding_parameters();
        let output = if self.untied { embedding } else { 0 };
        let layers = self.layers.saturating_mul(self.layer_parameters());
        layers.saturating_add(embedding).saturating_add(output).saturating_add(self.hidden)
    }

    /// Parameters of an adapter of `rank` on every linear layer, saturating: rank x (inputs + outputs) per matrix.
    fn adapter_parameters(&self, rank: u64) -> u64 {
        let sides =
            self.matrices().fold(0u64, |sum, (inputs, outputs)| sum.saturating_add(inputs).saturating_add(outputs));
        sides.saturating_mul(rank).saturating_mul(self.layers)
    }

    /// The largest matrix: of the embedding or of the MLP, saturating.
    fn largest_matrix(&self) -> u64 {
        self.embedding_parameters().max(self.hidden.saturating_mul(self.ffn.max(self.query)))
    }

    /// The sizes of all matrices.
    fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (inputs, outputs) in self.matrices() {
            sums.add(self.layers.into(), inputs.into(), outputs.into());
        }
        for _ in 0..if self.untied { 2 } else { 1 } {
            sums.add_table(self.vocabulary.unwrap_or(0).into(), self.hidden.into());
        }
        sums
    }
}

/// The model to be trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Total number of parameters.
    pub parameters: u64,
    /// The layers; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Parameters of the largest layer, which ZeRO-3 gathers; absent if it is derived from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_layer: Option<u64>,
    /// Total inputs and outputs of the layers with an adapter; absent if they are derived from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter_sides: Option<u64>,
    /// Parameters that an adapter trains whatever its rank is, such as layers that are trained as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter_whole: Option<u64>,
    /// The sizes of the matrices; absent if they are derived from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrices: Option<Matrices>,
    /// What the model keeps per token while it generates; absent if it is derived from the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// How the weights are stored; absent if all of them are in the precision of the setup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Stored>,
}

impl Model {
    /// A model with `parameters` parameters, of which nothing else is known.
    pub const fn new(parameters: u64) -> Self {
        Self {
            parameters,
            shape: None,
            largest_layer: None,
            adapter_sides: None,
            adapter_whole: None,
            matrices: None,
            cache: None,
            stored: None,
        }
    }

    /// A model with a known shape; its parameters are counted from it.
    pub fn of_shape(shape: Shape) -> Self {
        Self { shape: Some(shape), ..Self::new(shape.parameters()) }
    }

    /// The shape, or the usual one of a decoder of this size.
    pub(super) fn shape_or_assumed(&self) -> Shape {
        self.shape.unwrap_or_else(|| Shape::assumed(self.parameters))
    }

    /// Parameters of the largest layer, and whether it was assumed.
    pub(super) fn gathered(&self) -> (u64, bool) {
        let shape = self.shape_or_assumed();
        match self.largest_layer {
            Some(parameters) => (parameters.min(self.parameters), false),
            None => (shape.largest_matrix().min(self.parameters), shape.assumed),
        }
    }

    /// Inputs and outputs of the layers with an adapter, saturating: of every linear layer unless it is known.
    pub(super) fn sides(&self) -> u64 {
        self.adapter_sides.unwrap_or_else(|| self.shape_or_assumed().adapter_parameters(1))
    }

    /// Parameters that an adapter of `rank` trains, saturating.
    pub(super) fn adapter_parameters(&self, rank: u64) -> u64 {
        self.sides().saturating_mul(rank).saturating_add(self.adapter_whole.unwrap_or(0))
    }

    /// What is kept per token: as the family keeps it, otherwise keys and values of every layer.
    pub(super) fn kept(&self) -> Cache {
        let shape = self.shape_or_assumed();
        let full = shape.layers.saturating_mul(2).saturating_mul(shape.key_value);
        self.cache.unwrap_or(Cache { full, ..Cache::default() })
    }

    /// The largest matrix of a layer, if the shape is known.
    pub(super) fn largest_linear(&self) -> Option<u64> {
        self.shape.map(|shape| shape.hidden.saturating_mul(shape.ffn.max(shape.query)))
    }

    /// The sizes of the matrices, or those of the shape.
    pub(super) fn matrices_or_assumed(&self) -> Matrices {
        self.matrices.unwrap_or_else(|| self.shape_or_assumed().sums().of(self.parameters))
    }

    /// Refuses impossible values.
    pub(super) fn check(&self) -> Result<(), EstimateError> {
        let shape = self.shape.unwrap_or(Shape::new(1, 1));
        if self.parameters == 0 {
            return Err(EstimateError::NoParameters);
        }
        let counts = [
            ("--params", Some(self.parameters), MAX_PARAMETERS),
            ("--largest-layer", self.largest_layer, MAX_PARAMETERS),
            ("--layers", Some(shape.layers), MAX_WORLD),
            ("--hidden", Some(shape.hidden), MAX_WORLD),
            ("--heads", shape.heads, MAX_WORLD),
            ("--ffn", Some(shape.ffn), MAX_WORLD),
            ("--vocab", shape.vocabulary, MAX_WORLD),
            ("the experts of a token", shape.active, MAX_WORLD),
            ("the width of queries", Some(shape.query), MAX_WORLD),
            ("the width of keys and values", Some(shape.key_value), MAX_WORLD),
        ];
        for (what, given, most) in counts {
            match given {
                Some(0) => return Err(EstimateError::Zero { what }),
                Some(given) if given > most => return Err(EstimateError::TooMany { what, given, most }),
                _ => {}
            }
        }
        Ok(())
    }
}
