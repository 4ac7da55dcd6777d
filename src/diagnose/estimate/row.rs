//! [`Row`]: one amount of an estimate, with its formula and where the formula is from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::places::Places;
use super::source::Source;

/// The three parts of memory in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Weights, gradients, optimizer: there whatever the batch.
    Fixed,
    /// What the forward keeps for the backward: grows with batch x sequence x layers x hidden.
    Activations,
    /// What is alive for a moment.
    Temporaries,
}

/// What an amount holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The weights that forward and backward use.
    Weights,
    /// The weights of a base model that is not trained.
    BaseWeights,
    /// The fp32 weights that the optimizer updates.
    MasterWeights,
    /// Gradients.
    Gradients,
    /// Gradients in 16 bits beside those in fp32.
    #[serde(rename = "gradients_16bit")]
    Gradients16,
    /// The optimizer's state.
    Optimizer,
    /// The layer that ZeRO-3 has gathered, and its gradients.
    GatheredLayer,
    /// What layers keep for the backward, attention scores apart.
    Layers,
    /// Attention scores: batch x heads x sequence squared.
    AttentionScores,
    /// The embedding's output and dropout.
    Embedding,
    /// Logits and the input of the output layer.
    Logits,
    /// One layer computed again during the backward.
    RecomputedLayer,
    /// The gradient of the logits.
    LogitsGradient,
    /// Copies of the model while it is loaded.
    Loading,
    /// What the host needs beside the state.
    HostBuffers,
    /// Buckets of gradients and parameters on their way between GPUs.
    Buckets,
    /// A base matrix taken out of 4 bits.
    Dequantized,
    /// Keys and values of the tokens so far, or what stands in for them.
    Cache,
    /// What one layer computes of a prompt.
    Prefill,
}

impl Item {
    /// The item in words.
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
    /// The part that it belongs to.
    pub group: Group,
    /// What it holds.
    pub item: Item,
    /// The most that is alive in any phase.
    #[serde(flatten)]
    pub peak: Places,
    /// What is alive in each phase, in their order.
    pub phases: [Places; 5],
    /// The parameters that fixed state is of: of the base, or those that are trained; absent for the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// The formula, with its numbers.
    pub formula: String,
    /// Where it is from.
    pub source: Source,
}

impl Row {
    /// A row of `places` in each of `phases`.
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

    /// Sets what is alive in `phase`.
    pub(super) fn set(&mut self, phase: Phase, places: Places) {
        self.phases[phase.index()] = places;
        self.peak = self.phases.iter().fold(Places::NONE, |peak, &places| peak.max(places));
    }
}
