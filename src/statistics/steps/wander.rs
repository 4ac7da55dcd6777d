//! What a series does although no level changed: neighbouring points depend on each other.

use super::chance::{ln_of_t, mean};
use crate::MAD_TO_DEVIATION;
use crate::median::{median, median_absolute_deviation};

/// The maximum probability that a wandering series has such a step anywhere.
pub(super) const CHANCE: f64 = 0.01;

/// The chance that is allowed if the series has another step, and thus does more than wander: as likely as not.
pub(super) const CHANCE_BESIDE_ANOTHER: f64 = 0.5;

/// Keeps the number of independent points above zero.
const LARGEST_CORRELATION: f64 = 0.99;

/// How far from its level a point may be and count for the correlation, in standard deviations.
const CLAMP: f64 = 3.0;

/// How many points before and after a step its change is compared with.
const REACH: usize = 200;

/// The numbers of points whose mean is compared with that of as many before: a sharp change shows in few.
const NEIGHBOURS: [usize; 3] = [1, 3, 6];

/// The correlation of neighbours among points around their levels, of which the first `left` are before a step. A
/// standard error is added, because too small an estimate makes steps out of noise.
pub(super) fn correlation(off: &[f64], left: usize) -> f64 {
    let farthest = CLAMP * MAD_TO_DEVIATION * median_absolute_deviation(off).unwrap_or_default();
    let off: Vec<f64> = off.iter().map(|off| off.clamp(-farthest, farthest)).collect();
    let (before, after) = off.split_at(left);
    let (mut products, mut squares) = (0.0, 0.0);
    for side in [before, after] {
        let mean = mean(side);
        products += side.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += side.iter().map(|off| (off - mean).powi(2)).sum::<f64>();
    }
    if squares == 0.0 {
        return 0.0;
    }
    let count = off.len() as f64;
    // The levels were estimated from the same points, which makes the estimate too small (Kendall 1954): by one and
    // three times the correlation for each of the two sides.
    let unbiased = ((products / squares * count + 2.0) / (count - 6.0).max(1.0)).clamp(0.0, LARGEST_CORRELATION);
    let error = ((1.0 - unbiased * unbiased) / count).sqrt();
    (unbiased + error).min(LARGEST_CORRELATION)
}

/// The logarithm of the probability that a change as sharp as that at `at` occurs somewhere in `series`, judged by the
/// changes at other places: the median of their sizes estimates the deviation.
pub(super) fn ln_chance_of_change(series: &[f64], at: usize) -> f64 {
    let (first, last) = (at.saturating_sub(REACH), (at + REACH).min(series.len()));
    let of = |count: usize| {
        let change = |at: usize| (mean(&series[at..at + count]) - mean(&series[at - count..at])).abs();
        if at < first + count || at + count > last {
            return 0.0;
        }
        let elsewhere: Vec<f64> =
            (first + count..=last - count).filter(|place| place.abs_diff(at) >= count).map(change).collect();
        // Changes at neighbouring places share points.
        let free = elsewhere.len() as f64 / (3 * count) as f64;
        let rounding = 1e-9 * series[at].abs();
        let deviation = (MAD_TO_DEVIATION * median(elsewhere).unwrap_or_default()).max(rounding);
        ln_of_t(change(at) / deviation.max(f64::MIN_POSITIVE), free.max(1.0)) + (2.0 * series.len() as f64).ln()
    };
    NEIGHBOURS.into_iter().map(of).fold(0.0, f64::min)
}
