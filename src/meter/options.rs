//! [`MeterOptions`]: what to meter, and how closely.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::watch::Watch;

/// Whose swap [`Metric::SwapGrowth`](super::Metric::SwapGrowth) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwapScope {
    /// The whole system's: it counts shared memory too, and whatever other programs swap.
    #[default]
    System,
    /// That of the tree's own processes (`VmSwap`): a neighbour raises no false alarm, but shared memory that is
    /// swapped belongs to no process and is not counted.
    Tree,
}

/// What to meter, and how closely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterOptions {
    /// The process whose tree is metered, itself included.
    pub root: u32,
    /// The time between two samples.
    pub interval: Duration,
    /// Whether the proportional set is read: exact, but slow (some 9 ms a GiB), so at most every 100 ms, for at most
    /// 2 % of the time, and only when memory moved.
    pub pss: bool,
    /// Whose swap counts as `swap_growth`.
    pub swap: SwapScope,
    /// Limits to look at in every sample.
    pub watches: Vec<Watch>,
}

impl Default for MeterOptions {
    /// This process and its children, every 10 ms, with the proportional set.
    fn default() -> Self {
        Self {
            root: std::process::id(),
            interval: Duration::from_millis(10),
            pss: true,
            swap: SwapScope::System,
            watches: Vec::new(),
        }
    }
}
