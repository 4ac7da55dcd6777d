//! [`MeterOptions`]: what to meter, and how closely.

use std::time::Duration;

use super::watch::Watch;

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
    /// Limits to look at in every sample.
    pub watches: Vec<Watch>,
}

impl Default for MeterOptions {
    /// This process and its children, every 10 ms, with the proportional set.
    fn default() -> Self {
        Self { root: std::process::id(), interval: Duration::from_millis(10), pss: true, watches: Vec::new() }
    }
}
