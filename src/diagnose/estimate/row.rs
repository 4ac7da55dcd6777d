//! [`Row`]: one amount of an estimate, with its formula and the source of the formula.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::places::Places;
use super::source::Source;

/// The three parts of memory in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Weights, gradients, optimizer: independent of the batch.
    Fixed,
    /// What the forward pass keeps for the backward pass: grows with batch x sequence x layers x hidden.
    Activations,
    /// Memory that exists only for a moment.
    Temporaries,
}

/// The content of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The weights used by the forward and backward pass.
    Weights,
    /// The weights of a base model that is not trained.
    BaseWeights,
    /// The fp32 weights that the optimizer updates.
    MasterWeights,
    /// Gradients.
    Gradients,
    /// Gradients in 16 bits, in addition to those in fp32.
    #[serde(rename = "gradients_16bit")]
    Gradients16,
    /// The optimizer state.
    Optimizer,
    /// The layer that ZeRO-3 has gathered, with its gradients.
    GatheredLayer,
    /// What layers keep for the backward pass, without attention scores.
    Layers,
    /// Attention scores: batch x heads x sequence squared.
    AttentionScores,
    /// The embedding's output and dropout.
    Embedding,
    /// Logits and the input of the output layer.
    Logits,
    /// One layer, computed again during the backward pass.
    RecomputedLayer,
    /// The gradient of the logits.
    LogitsGradient,
    /// Copies of the model while it is loaded.
    Loading,
    /// Host buffers in addition to the state.
    HostBuffers,
    /// Buckets of gradients and parameters in transit between GPUs.
    Buckets,
    /// A base matrix, converted from 4 bits.
    Dequantized,
    /// Keys and values of earlier tokens, or their replacement.
    Cache,
    /// Memory for computing one layer of a prompt.
    Prefill,
}

impl Item {
    /// The name of the item in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::BaseWeights => "base weights",
            Self::MasterWeights => "master weights (fp32)",
            Self::Gradients => "gradients",
            Self::Gradients16 => "gradients (16 bit)",
            Self::Optimizer => "optimizer state",
            Self::GatheredLayer => "gathered layer",
            Self::Layers => "layers",
            Self::AttentionScores => "attention scores",
            Self::Embedding => "embedding",
            Self::Logits => "logits and loss",
            Self::RecomputedLayer => "recomputed layer",
            Self::LogitsGradient => "gradient of the logits",
            Self::Loading => "loading the model",
            Self::HostBuffers => "host buffers",
            Self::Buckets => "communication buckets",
            Self::Dequantized => "dequantised matrix",
            Self::Cache => "KV cache",
            Self::Prefill => "one layer of the prompt",
        }
    }
}

/// One amount of an estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The group of the item.
    pub group: Group,
    /// The content of the memory.
    pub item: Item,
    /// The most memory in any phase.
    #[serde(flatten)]
    pub peak: Places,
    /// The memory in each phase, in order.
    pub phases: [Places; 5],
    /// The parameters that the fixed state belongs to: of the base model, or the trained ones; absent for other items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// The formula, with its numbers.
    pub formula: String,
    /// The source of the formula.
    pub source: Source,
}

impl Row {
    /// A row with `places` in each of `phases`.
    pub(super) fn new(
        group: Group,
        item: Item,
        places: Places,
        phases: &[Phase],
        formula: String,
        source: Source,
    ) -> Self {
        let mut row =
            Self { group, item, peak: Places::NONE, phases: [Places::NONE; 5], parameters: None, formula, source };
        for &phase in phases {
            row.set(phase, places);
        }
        row
    }

    /// Sets the memory in `phase`.
    pub(super) fn set(&mut self, phase: Phase, places: Places) {
        self.phases[phase.index()] = places;
        self.peak = self.phases.iter().fold(Places::NONE, |peak, &places| peak.max(places));
    }
}
