//! The choices in a setup: precision, ZeRO stage, offload, attention, trained parameters.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{ParseNameError, named};

named! {
    /// The precision of training.
    Precision, "precision" {
        /// Computation in bfloat16, fp32 master weights; no loss scaling.
        Bf16Mixed = "bf16-mixed",
        /// Computation in float16, fp32 master weights; needs loss scaling.
        Fp16Mixed = "fp16-mixed",
        /// Everything in fp32.
        Fp32 = "fp32",
        /// Weights, gradients and the optimizer's state in bfloat16; no master weights.
        Bf16 = "bf16",
    }
}

impl Precision {
    /// Bytes of an element of weights and activations during computation.
    pub const fn element(self) -> u64 {
        if matches!(self, Self::Fp32) { 4 } else { 2 }
    }
}

named! {
    /// Where offloaded state is kept.
    Offload, "place" {
        /// On the device.
        None = "none",
        /// In the host memory of the node.
        Cpu = "cpu",
        /// On the NVMe of the node; ZeRO-3 only.
        Nvme = "nvme",
    }
}

named! {
    /// How attention is computed.
    Attention, "attention" {
        /// scaled_dot_product_attention or FlashAttention: no matrix of scores is kept.
        Sdpa = "sdpa",
        /// The matrix of scores is kept: batch x heads x sequence squared.
        Eager = "eager",
    }
}

/// What ZeRO or FSDP shards; a number in JSON and on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "u8", try_from = "u8")]
pub enum ZeroStage {
    /// Nothing is sharded.
    Zero,
    /// The optimizer state is sharded.
    One,
    /// The optimizer state and the gradients are sharded.
    Two,
    /// The optimizer state, the gradients and the weights are sharded.
    Three,
}

impl From<ZeroStage> for u8 {
    fn from(stage: ZeroStage) -> Self {
        stage as Self
    }
}

impl TryFrom<u8> for ZeroStage {
    type Error = ParseNameError;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        let stages = [Self::Zero, Self::One, Self::Two, Self::Three];
        let found = stages.get(usize::from(number)).copied();
        found.ok_or_else(|| {
            ParseNameError::new(
                "ZeRO stage",
                &number.to_string(),
                ["0", "1", "2", "3", "NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD"].into_iter(),
            )
        })
    }
}

impl ZeroStage {
    /// The stage named by `text` in the terms of FSDP, PyTorch and Accelerate: `FULL_SHARD`, `SHARD_GRAD_OP`,
    /// `NO_SHARD`, `DDP`. `HYBRID_SHARD` is not a stage: it shards within each node only.
    pub fn named(text: &str) -> Option<Self> {
        let upper = text.trim().to_ascii_uppercase().replace('-', "_");
        Some(match upper.rsplit('.').next().unwrap_or("").trim_start_matches('_') {
            "NO_SHARD" | "DDP" | "ZERO0" | "ZERO_0" => Self::Zero,
            "ZERO1" | "ZERO_1" => Self::One,
            "SHARD_GRAD_OP" | "ZERO2" | "ZERO_2" => Self::Two,
            "FULL_SHARD" | "FSDP" | "FSDP2" | "ZERO3" | "ZERO_3" => Self::Three,
            _ => return None,
        })
    }

    /// The stage of FSDP's strategies that shard within each node and keep a copy on each: `HYBRID_SHARD`,
    /// `HYBRID_SHARD_ZERO2`.
    pub fn hybrid(text: &str) -> Option<Self> {
        let upper = text.trim().to_ascii_uppercase().replace('-', "_");
        match upper.rsplit('.').next().unwrap_or("").trim_start_matches('_') {
            "HYBRID_SHARD" | "HSDP" => Some(Self::Three),
            "HYBRID_SHARD_ZERO2" => Some(Self::Two),
            _ => None,
        }
    }
}

impl FromStr for ZeroStage {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().parse::<u8>().unwrap_or(u8::MAX);
        Self::named(text).map_or_else(|| Self::try_from(number), Ok).map_err(|mut error| {
            error.given = text.to_owned();
            if Self::hybrid(text).is_some() {
                error
                    .known
                    .push_str("; it keeps a copy on each node, which is FULL_SHARD or SHARD_GRAD_OP with --nodes 1");
            }
            error
        })
    }
}

/// Which parameters are trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Tuning {
    /// All parameters.
    #[default]
    Full,
    /// An adapter of this rank on every linear layer; the base model is in 16 bits.
    Lora {
        /// The rank.
        rank: u64,
    },
    /// An adapter of this rank on every linear layer; the base model is in 4 bits.
    Qlora {
        /// The rank.
        rank: u64,
    },
}
