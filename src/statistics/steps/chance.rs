//! The figures that evidence and wandering are both judged by.

use crate::normal::ln_upper_tail;

/// The logarithm of the probability of a t at least as large with this many degrees of freedom, by the normal variable
/// that is as unlikely (Wallace 1959).
pub(super) fn ln_of_t(t: f64, free: f64) -> f64 {
    ln_upper_tail((8.0 * free + 1.0) / (8.0 * free + 3.0) * (free * (t * t / free).ln_1p()).sqrt())
}

pub(super) fn mean(points: &[f64]) -> f64 {
    points.iter().sum::<f64>() / points.len() as f64
}
