//! [`Convention`]: which tool's way to count bytes per parameter.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choices::{Precision, ZeroStage};
use super::names::{ParseNameError, named};
use super::rate::Rate;
use super::source::Source;
use plimsoll_memory::bytes::ByteSize;

named! {
    /// Which tool's way to count. Bytes per parameter are for Adam in mixed precision.
    Convention, "convention" {
        /// Hugging Face's anatomy: weights 6 (2 and their fp32 master), gradients 4, optimizer 8: 18. ZeRO-1 is
        /// 10 + 8/N, ZeRO-2 6 + 12/N, ZeRO-3 18/N.
        Hf = "hf",
        /// The ZeRO paper: weights 2, gradients 2, optimizer 12 (the fp32 master with it): 16. ZeRO-1 is 4 + 12/N,
        /// ZeRO-2 2 + 14/N, ZeRO-3 16/N.
        ZeroPaper = "zero-paper",
        /// DeepSpeed's estimators: weights 2, gradients 2 and 4, master 4, optimizer 8: 20. ZeRO-2 is 2 + 18/N, ZeRO-3
        /// 18/N and 4 per parameter of the largest layer; the host needs 1.5 times as much.
        Deepspeed = "deepspeed",
        /// Megatron's theoretical footprint: weights 2, gradients 4, master 4, optimizer 8: 18; with the distributed
        /// optimizer (stage 1) 6 + 12/DP.
        Megatron = "megatron",
    }
}

/// Bytes per trained parameter, by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) weights: Rate,
    pub(super) master: Rate,
    pub(super) gradients: Rate,
    /// Gradients in 16 bits, in addition to those in `gradients`.
    pub(super) gradients16: Rate,
    pub(super) optimizer: Rate,
}

impl Pieces {
    /// Their sum as a number.
    pub(super) fn total(&self) -> f64 {
        let pieces = [self.weights, self.master, self.gradients, self.gradients16, self.optimizer];
        pieces.iter().map(|piece| piece.value()).sum()
    }
}

impl Convention {
    /// Bytes of weights that have no master, and of their gradients: everything is in fp32, or in bf16, which exists in
    /// Hugging Face's convention alone.
    pub(super) fn without_master(self, precision: Precision) -> Option<u64> {
        let alone = precision == Precision::Fp32 || (precision == Precision::Bf16 && self == Self::Hf);
        alone.then_some(precision.element())
    }

    /// Bytes per trained parameter; `optimizer` are those of the optimizer's state.
    pub(super) fn pieces(self, precision: Precision, optimizer: Rate) -> Pieces {
        if let Some(each) = self.without_master(precision).map(Rate::whole) {
            return Pieces { weights: each, master: Rate::ZERO, gradients: each, gradients16: Rate::ZERO, optimizer };
        }
        let (gradients, gradients16) = match self {
            Self::Hf | Self::Megatron => (Rate::whole(4), Rate::ZERO),
            Self::ZeroPaper => (Rate::whole(2), Rate::ZERO),
            Self::Deepspeed => (Rate::whole(4), Rate::whole(2)),
        };
        Pieces { weights: Rate::whole(2), master: Rate::whole(4), gradients, gradients16, optimizer }
    }

    /// The lowest stage that shards the master weights: with the weights in Hugging Face's split, otherwise with the
    /// optimizer.
    pub(super) const fn master_stage(self) -> ZeroStage {
        if matches!(self, Self::Hf) { ZeroStage::Three } else { ZeroStage::One }
    }

    /// The source of its bytes per parameter.
    pub const fn source(self) -> Source {
        match self {
            Self::Hf => Source::HfAnatomy,
            Self::ZeroPaper => Source::ZeroPaper,
            Self::Deepspeed => Source::DeepspeedCode,
            Self::Megatron => Source::MegatronCode,
        }
    }
}

/// The fixed state of the whole model on one GPU by one convention, for comparison with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConventionFigure {
    /// The convention.
    pub convention: Convention,
    /// Bytes per parameter, unsharded.
    pub bytes_per_parameter: f64,
    /// Fixed state on each GPU in this setup; absent if the convention has no formula for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<ByteSize>,
    /// Fixed state and loading on each node in this setup; absent if the convention has no formula for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ByteSize>,
}

/// The figure that `accelerate estimate-memory` prints for training with Adam: the largest of model, gradients,
/// optimizer and step, not their sum; 16 B per parameter in fp32 and 8 in 16 bits. This is not the peak of a training.
/// Saturates at 16 EiB.
pub fn accelerate_training(parameters: u64, precision: Precision) -> ByteSize {
    // Model, gradients, optimizer, step: in multiples of a quarter of the model's fp32 bytes.
    let stages: [u64; 4] = if precision == Precision::Fp32 { [4, 4, 8, 16] } else { [4, 6, 8, 8] };
    let most = stages.into_iter().max().unwrap_or(0);
    ByteSize::new(parameters.saturating_mul(most))
}
