//! [`Rung`]: ways to reduce memory, cheapest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rung changes in addition to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Training computes the same result, up to rounding.
    KeepsTheMath,
    /// State moves elsewhere, such as to the host; training is slower.
    MovesState,
    /// Training sees different data or different values.
    ChangesTheScience,
    /// The model can learn less.
    ChangesCapacity,
}

impl Effect {
    /// The name of the mark in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::KeepsTheMath => "keeps the math",
            Self::MovesState => "moves state",
            Self::ChangesTheScience => "changes the science",
            Self::ChangesCapacity => "changes capacity",
        }
    }
}

/// A rung of the ladder, from the cheapest to the dearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// A smaller micro-batch, with accumulation increased to match.
    MicroBatch,
    /// bfloat16.
    Bf16,
    /// Activation checkpointing.
    Checkpointing,
    /// `expandable_segments:True`; helps against fragmentation only.
    ExpandableSegments,
    /// SDPA or FlashAttention.
    Sdpa,
    /// Shorter sequences.
    ShorterSequence,
    /// An 8-bit or paged optimizer.
    Optimizer8bit,
    /// ZeRO or FSDP.
    Sharding,
    /// Offloading to the host or to NVMe.
    Offload,
    /// LoRA or QLoRA.
    Adapter,
}

impl Rung {
    /// The whole ladder, in order.
    pub const ALL: [Self; 10] = [
        Self::MicroBatch,
        Self::Bf16,
        Self::Checkpointing,
        Self::ExpandableSegments,
        Self::Sdpa,
        Self::ShorterSequence,
        Self::Optimizer8bit,
        Self::Sharding,
        Self::Offload,
        Self::Adapter,
    ];

    /// Position on the ladder, from 1.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The name of the rung in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::MicroBatch => "smaller micro-batch",
            Self::Bf16 => "bf16",
            Self::Checkpointing => "activation checkpointing",
            Self::ExpandableSegments => "expandable_segments",
            Self::Sdpa => "SDPA or FlashAttention",
            Self::ShorterSequence => "shorter sequences",
            Self::Optimizer8bit => "8-bit optimizer",
            Self::Sharding => "ZeRO / FSDP sharding",
            Self::Offload => "CPU or NVMe offload",
            Self::Adapter => "LoRA or QLoRA",
        }
    }

    /// What the rung changes in addition to memory.
    pub const fn mark(self) -> Effect {
        match self {
            Self::MicroBatch | Self::Bf16 | Self::Checkpointing | Self::ExpandableSegments | Self::Sdpa => {
                Effect::KeepsTheMath
            }
            Self::ShorterSequence => Effect::ChangesTheScience,
            // The moments are stored in 8 bits; training follows fp32 Adam up to rounding.
            Self::Optimizer8bit => Effect::KeepsTheMath,
            Self::Sharding | Self::Offload => Effect::MovesState,
            Self::Adapter => Effect::ChangesCapacity,
        }
    }

    /// How to apply the rung, and what it costs.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::MicroBatch => {
                "per_device_train_batch_size down, gradient_accumulation_steps up by the same factor: the effective \
                 batch does not change; divide a loss per token by the tokens of all micro-batches"
            }
            Self::Bf16 => "bf16=True: half the activations of fp32, no loss scaling; needs Ampere or later",
            Self::Checkpointing => {
                "gradient_checkpointing=True with use_cache=False and use_reentrant=False: activations are computed \
                 again, which takes 20 to 30 % more time; the fixed state does not shrink"
            }
            Self::ExpandableSegments => {
                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True before start (PYTORCH_ALLOC_CONF in newer torch), or \
                 max_split_size_mb; helps only against fragmentation; clashes with vLLM's sleep mode and ncclMemAlloc"
            }
            Self::Sdpa => "attn_implementation=\"sdpa\" or \"flash_attention_2\": no matrix of scores",
            Self::ShorterSequence => "max_seq_length down: training no longer sees long contexts",
            Self::Optimizer8bit => "optim=\"paged_adamw_8bit\": 8 -> 2 B a parameter",
            Self::Sharding => "ZeRO or FSDP over the GPUs: needs at least two",
            Self::Offload => "offload_optimizer, then offload_param: host memory for device memory; slow",
            Self::Adapter => "train an adapter on a frozen base, in 4 bits with QLoRA",
        }
    }
}
