//! [`SwapScope`]: whose swap is counted.

/// Whose swap [`Metric::SwapGrowth`](super::Metric::SwapGrowth) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum SwapScope {
    /// The whole system's: it counts shared memory too, and whatever other programs swap.
    #[default]
    System,
    /// The swap of the tree's own processes (`VmSwap`): a neighbour raises no false alarm, but shared memory that is
    /// swapped belongs to no process and is not counted.
    Tree,
}
