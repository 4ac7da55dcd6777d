//! [`Source`]: the source of a formula.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Hugging Face.
    HfAnatomy,
    /// The ZeRO paper.
    ZeroPaper,
    /// DeepSpeed's estimators.
    DeepspeedCode,
    /// Megatron-LM's theoretical footprint.
    MegatronCode,
    /// Korthikanti et al.
    ActivationPaper,
    /// The QLoRA paper.
    QloraPaper,
    /// The LoRA paper.
    LoraPaper,
    /// bitsandbytes.
    Bitsandbytes,
    /// The Adafactor paper.
    AdafactorPaper,
    /// Hugging Face's guide to DeepSpeed.
    HfDeepspeedGuide,
    /// The `quantization_config` of a config.json.
    QuantizationConfig,
    /// A count of what the layers of the family keep.
    OwnCount,
}

impl Source {
    /// What to look up, as a citation.
    pub const fn citation(self) -> &'static str {
        match self {
            Self::HfAnatomy => "Hugging Face Transformers, docs/source/en/model_memory_anatomy.md",
            Self::ZeroPaper => {
                "Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
            }
            Self::DeepspeedCode => "DeepSpeed, estimate_zero{2,3}_model_states_mem_needs (stage_1_and_2.py, stage3.py)",
            Self::MegatronCode => "Megatron-LM, megatron/training/theoretical_memory_usage.py",
            Self::ActivationPaper => {
                "Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models (arXiv 2205.05198), table 2"
            }
            Self::QloraPaper => "Dettmers et al., QLoRA: 4 bits + 0.127 bits of double-quantised constants a parameter",
            Self::LoraPaper => "Hu et al., LoRA: r x (inputs + outputs) parameters a matrix",
            Self::Bitsandbytes => "bitsandbytes, 8-bit optimizers: one byte each for both moments",
            Self::AdafactorPaper => "Shazeer and Stern, Adafactor: one fp32 number a row and a column",
            Self::QuantizationConfig => "quantization_config of config.json: bits a value, and constants a group",
            Self::OwnCount => "the model's own layers: key-value heads, latents, windows and states of its config.json",
            Self::HfDeepspeedGuide => {
                "Hugging Face Transformers, DeepSpeed guide: buckets of 2 B, 4.5 times with overlap_comm"
            }
        }
    }
}
