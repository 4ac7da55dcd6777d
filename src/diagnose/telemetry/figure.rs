//! [`Figure`]: an amount with its rounding.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::bytes::ByteSize;

/// An amount of bytes, and how far the rounding in the text may have moved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The amount.
    pub bytes: ByteSize,
    /// The largest error that the rounding in the text can cause.
    pub resolution: ByteSize,
}

impl Figure {
    /// `value` units of `unit` bytes, rounded to `step` units; `None` if it is negative or exceeds 64 bits.
    pub(super) fn rounded(value: f64, unit: u64, step: f64) -> Option<Self> {
        let unit = unit as f64;
        Some(Self { bytes: size(value * unit)?, resolution: size(step.abs() / 2.0 * unit)? })
    }

    /// The amount as a number.
    pub fn value(self) -> f64 {
        self.bytes.bytes() as f64
    }
}

/// `bytes` if a machine could have this amount: 2^60 and more come from a broken counter.
fn size(bytes: f64) -> Option<ByteSize> {
    (0.0..1.152_921_504_606_847e18).contains(&bytes).then(|| ByteSize::new(bytes.round() as u64))
}
