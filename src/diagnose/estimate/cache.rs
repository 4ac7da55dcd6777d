//! [`Cache`]: what a model keeps per token while it generates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Elements that a model keeps while it generates: keys and values, or their replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Elements per token, over the layers that attend to every token: keys and values of the key-value heads, or the
    /// compressed latent of multi-head latent attention.
    pub full: u64,
    /// Elements per token, over the layers that attend to a window.
    pub windowed: u64,
    /// Size of the window in tokens.
    pub window: u64,
    /// Elements per sequence of any length, over the layers that keep a state: linear attention, state spaces.
    pub fixed: u64,
}

impl Cache {
    /// Elements for `batch` sequences of `sequence` tokens; `None` beyond 128 bits.
    pub(super) fn elements(&self, batch: u64, sequence: u64) -> Option<u128> {
        let of = |elements: u64, tokens: u64| u128::from(elements).checked_mul(u128::from(tokens));
        let each = of(self.full, sequence)?.checked_add(of(self.windowed, sequence.min(self.window))?)?;
        each.checked_add(u128::from(self.fixed))?.checked_mul(u128::from(batch))
    }
}
