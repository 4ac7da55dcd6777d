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
    /// The Muon optimizer of PyTorch.
    MuonCode,
    /// The GaLore paper.
    GalorePaper,
    /// The APOLLO paper.
    ApolloPaper,
    /// The SOAP paper.
    SoapPaper,
    /// The CAME paper.
    CamePaper,
    /// The Adam-mini paper.
    AdamMiniPaper,
    /// The code of the optimizer itself.
    OptimizerCode,
    /// A count of what the layers of the family keep.
    OwnCount,
    /// A measurement of what PyTorch keeps.
    Autograd,
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
            Self::MuonCode => "torch.optim.Muon: one fp32 momentum for matrices; AdamW for embeddings and vectors",
            Self::GalorePaper => "Zhao et al., GaLore: m r + 2 n r numbers for an m x n matrix, m the shorter side",
            Self::ApolloPaper => {
                "Zhu et al., APOLLO: 2 n r numbers for an m x n matrix; its code keeps the m r projection"
            }
            Self::SoapPaper => "Vyas et al., SOAP: 2 m n + 2 m^2 + 2 n^2 numbers; sides beyond 10,000 are left out",
            Self::CamePaper => "Luo et al., CAME: m n + 2 (m + n) numbers for an m x n matrix",
            Self::AdamMiniPaper => "Zhang et al., Adam-mini: one moment, and one number a block of parameters",
            Self::OptimizerCode => "the optimizer's own code: one fp32 value a parameter for each state that it keeps",
            Self::OwnCount => "the model's own layers: key-value heads, latents, windows and states of its config.json",
            Self::Autograd => {
                "measured: the tensors that PyTorch keeps in transformers' own layers (tests/python/activation_bytes.py)"
            }
            Self::HfDeepspeedGuide => {
                "Hugging Face Transformers, DeepSpeed guide: buckets of 2 B, 4.5 times with overlap_comm"
            }
        }
    }
}
