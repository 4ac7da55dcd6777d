//! [`SwapScope`]: the scope of swap readings.

use serde::{Deserialize, Serialize};

/// Whose swap [`Metric::SwapGrowth`](super::Metric::SwapGrowth) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SwapScope {
    /// The whole system: includes shared memory, and whatever other programs swap.
    #[default]
    System,
    /// The swap of the tree's own processes (`VmSwap`): other programs cause no false alarm, but swapped shared memory
    /// belongs to no process and is not counted.
    Tree,
}
