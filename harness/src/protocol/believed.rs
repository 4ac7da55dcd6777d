//! Checks an answer before anything else reads it.

use plimsoll::timing::Samples;

use super::{Outcome, Request};

impl Request {
    /// The most times that an answer may have.
    pub fn launches(&self) -> usize {
        match self {
            Self::Profile { protocol, .. } => protocol.launches().get() as usize,
            // Each has a start and a duration.
            Self::Region { launches, .. } | Self::Idle { launches, .. } => 2 * launches.len(),
            _ => 0,
        }
    }
}

impl Outcome {
    /// Checks that outputs are inside `size` bytes of shared memory and as long as their shapes require, and that only
    /// arguments of `params` are named.
    ///
    /// # Errors
    /// What cannot be.
    pub fn check(&self, size: u64, params: &[String]) -> Result<(), String> {
        for output in &self.outputs {
            let Some(placed) = output.tensor() else { continue };
            let end = (placed.offset as u64).checked_add(placed.bytes as u64);
            if placed.spec.bytes() != Some(placed.bytes as u64) || end.is_none_or(|end| end > size) {
                return Err(format!("an output `{}` that does not lie in the shared memory", front(&output.path)));
            }
        }
        check_names(&self.mutated, params)
    }
}

/// Checks that the arguments which a kernel is said to have changed are among `params`.
///
/// # Errors
/// A name that is not.
pub fn check_names(names: &[String], params: &[String]) -> Result<(), String> {
    match names.iter().find(|name| !params.contains(name)) {
        Some(name) => Err(format!("an argument `{}` that the call does not have", front(name))),
        None => Ok(()),
    }
}

/// The time by the system's monotonic clock, which worker and supervisor share: Python's `perf_counter_ns` reads it, too.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Checks that there are times and that none is negative.
///
/// # Errors
/// What cannot be.
pub fn check_samples(samples: &Samples) -> Result<(), String> {
    let possible = |ns: &f64| ns.is_finite() && *ns >= 0.0;
    if samples.durations_ns.is_empty() || samples.launches_per_sample == 0 {
        return Err("no times".to_owned());
    }
    match samples.durations_ns.iter().find(|ns| !possible(ns)) {
        Some(ns) => Err(format!("a time of {ns} ns")),
        None => Ok(()),
    }
}

/// The front of a name, as much as fits in a message.
fn front(name: &str) -> String {
    name.chars().take(80).collect()
}
