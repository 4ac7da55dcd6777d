//! What the layers of a measured family keep for the backward pass, in a shape and a setup.

use super::arithmetic::{bytes, product, sum};
use super::choices::{Attention, Precision, Tuning, ZeroStage};
use super::convention::Convention;
use super::error::EstimateError;
use super::family::{Kept, Widths};
use super::model::Shape;
use super::setup::Setup;
use plimsoll_memory::bytes::ByteSize;

const WHAT: &str = "the activations";

impl Widths {
    /// Each factor with its name, its width in `shape`, and how often it is there for a token.
    fn terms(&self, shape: &Shape) -> [(f64, &'static str, u64); 6] {
        [
            (self.h, "h", shape.hidden),
            (self.ffn, "ffn", shape.ffn),
            (self.q, "q", shape.query),
            (self.kv, "kv", shape.key_value),
            (self.kh, "k h", shape.hidden.saturating_mul(shape.active.unwrap_or(0))),
            (self.v, "V", shape.logits().unwrap_or(0)),
        ]
    }

    /// The bytes of `batch` x `sequence` tokens in `layers` layers, without attention scores.
    pub(super) fn of(&self, shape: &Shape, [batch, sequence, layers]: [u64; 3]) -> Result<ByteSize, EstimateError> {
        let terms = self
            .terms(shape)
            .map(|(factor, _, width)| product(WHAT, &[batch, sequence, layers, width, halves(factor)]));
        let terms = terms.into_iter().collect::<Result<Vec<_>, _>>()?;
        bytes(WHAT, sum(WHAT, &terms)?, 2)
    }

    /// What embedding and last norm keep, and what the logits do.
    pub(super) fn apart(self) -> (Self, Self) {
        (Self { v: 0.0, ..self }, Self { v: self.v, ..Self::default() })
    }

    /// The bytes of the attention scores; `None` if none are kept.
    pub(super) fn scores(
        &self,
        shape: &Shape,
        [batch, sequence, layers]: [u64; 3],
    ) -> Result<Option<ByteSize>, EstimateError> {
        if self.scores == 0.0 {
            return Ok(None);
        }
        let heads = shape.heads.unwrap_or_else(|| shape.assumed_heads());
        let amount = product(WHAT, &[batch, heads, sequence, sequence, layers, halves(self.scores)])?;
        bytes(WHAT, amount, 2).map(Some)
    }

    /// The bytes of the mask, which all layers share; `None` if none is kept.
    pub(super) fn mask(&self, [batch, sequence]: [u64; 2]) -> Result<Option<ByteSize>, EstimateError> {
        let amount = product(WHAT, &[batch, sequence, sequence, halves(self.s)])?;
        bytes(WHAT, amount, 2).map(|amount| (amount > ByteSize::ZERO).then_some(amount))
    }

    /// `26 h + 8 ffn + 4 q`.
    pub(super) fn words(&self, shape: &Shape) -> String {
        let there = self.terms(shape).into_iter().filter(|(factor, _, width)| *factor > 0.0 && *width > 0);
        there.map(|(factor, name, _)| format!("{factor} {name}")).collect::<Vec<_>>().join(" + ")
    }

    /// `4 b s^2`.
    pub(super) fn mask_words(&self) -> String {
        format!("{} b s^2", self.s)
    }

    /// `4 b a s^2`.
    pub(super) fn score_words(&self) -> String {
        format!("{} b a s^2", self.scores)
    }
}

/// The factors are multiples of one half.
fn halves(factor: f64) -> u64 {
    (factor * 2.0).round() as u64
}

impl Kept {
    /// What the layers of `shape` keep in `setup`; `None` if it was not measured.
    pub(super) fn of(shape: &Shape, setup: &Setup) -> Option<&'static Self> {
        if setup.convention == Convention::Megatron {
            return None;
        }
        let ways = shape.family?.ways(computed(setup))?;
        let found = match setup.attention {
            Attention::Eager => None,
            // Only equal numbers of heads have a kernel for fp32 that keeps no scores.
            Attention::Sdpa if shape.query == shape.key_value => {
                ways.get("sdpa-ungrouped").or_else(|| ways.get("sdpa"))
            }
            Attention::Sdpa => ways.get("sdpa"),
        };
        // A family without the kernel computes its scores.
        found.or_else(|| ways.get("eager"))
    }
}

/// How layers compute: in fp32, with weights in 16 bits, or by autocast, which converts weights in fp32.
fn computed(setup: &Setup) -> &'static str {
    let sharded = setup.zero > ZeroStage::Zero || setup.convention != Convention::Hf;
    match setup.precision {
        Precision::Fp32 => "fp32",
        Precision::Bf16Mixed | Precision::Fp16Mixed if !sharded && setup.tuning == Tuning::Full => "mixed",
        Precision::Bf16Mixed | Precision::Fp16Mixed | Precision::Bf16 => "bf16",
    }
}
