//! [`SwapScope`]: the scope of swap readings.

/// Whose swap [`Metric::SwapGrowth`](super::Metric::SwapGrowth) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum SwapScope {
    /// The whole system: includes shared memory, and whatever other programs swap.
    #[default]
    System,
    /// The swap of the tree's own processes (`VmSwap`): other programs cause no false alarm, but swapped shared memory
    /// belongs to no process and is not counted.
    Tree,
}
