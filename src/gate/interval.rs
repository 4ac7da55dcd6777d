//! The shift between two sets of figures, with its confidence interval.

use std::fmt;

use plimsoll_statistics::{Shift, mann_whitney, signed_rank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A confidence interval of a shift, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end, in the figures' unit.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence level: at least this share of such intervals contains the true shift (0.99 for 99 in 100).
    pub confidence: f64,
}

/// The method by which a shift and its interval were computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Method {
    /// The Hodges-Lehmann estimate, with order statistics of all pairwise differences by the exact distribution of
    /// Mann-Whitney's U.
    Exact,
    /// The Mann-Whitney interval in normal approximation, for more than 25 figures per side or for autocorrelated
    /// figures.
    Normal {
        /// The number of independent figures that the baseline's are worth.
        baseline_effective: f64,
        /// The number of independent figures that the current ones are worth.
        current_effective: f64,
    },
    /// The median of the Walsh averages of the differences within pairs, with their order statistics by Wilcoxon's
    /// signed-rank test.
    SignedRank {
        /// Whether the exact distribution was used; more than 50 pairs use the normal approximation.
        exact: bool,
    },
    /// Criterion's own comparison: the bootstrap of the ratio of the two medians.
    CriterionBootstrap,
    /// The difference of two exact counts, which has no interval.
    Counted,
    /// The difference of the medians, from the least to the greatest difference that the fastest and slowest samples
    /// allow: this contains the Mann-Whitney interval of samples that are not known one by one.
    Ranges,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("Hodges-Lehmann shift, exact Mann-Whitney interval"),
            Self::Normal { .. } => f.write_str("Hodges-Lehmann shift, Mann-Whitney interval by normal approximation"),
            Self::SignedRank { exact: true } => f.write_str("shift within pairs, exact Wilcoxon signed-rank interval"),
            Self::SignedRank { exact: false } => {
                f.write_str("shift within pairs, Wilcoxon signed-rank interval by normal approximation")
            }
            Self::CriterionBootstrap => f.write_str("criterion's bootstrap of the ratio of medians"),
            Self::Counted => f.write_str("exact counts"),
            Self::Ranges => f.write_str("medians, with the whole ranges of both sides as interval"),
        }
    }
}

impl From<plimsoll_statistics::Interval> for Interval {
    fn from(interval: plimsoll_statistics::Interval) -> Self {
        let plimsoll_statistics::Interval { low, high, confidence } = interval;
        Self { low, high, confidence }
    }
}

impl Method {
    /// The method behind a result of [`mann_whitney::shift`].
    fn of_sets(shift: &Shift) -> Self {
        if shift.exact {
            return Self::Exact;
        }
        Self::Normal { baseline_effective: shift.baseline_size, current_effective: shift.current_size }
    }

    /// The method behind a result of [`signed_rank::shift`] or [`signed_rank::ratio`].
    pub(super) const fn of_pairs(shift: &Shift) -> Self {
        Self::SignedRank { exact: shift.exact }
    }
}

/// A shift, its interval if there are enough figures for one, and the method.
pub(super) type Found = (f64, Option<Interval>, Method);

/// Computes the shift from `baseline` to `current`, both in the order in which they were taken. `None` if either is
/// empty or has a value that is not finite.
pub(super) fn shift(baseline: &[f64], current: &[f64], confidence: f64) -> Option<Found> {
    let found = mann_whitney::shift(baseline, current, confidence)?;
    Some((found.estimate, found.interval.map(Interval::from), Method::of_sets(&found)))
}

/// Computes the shift from the first to the second of each pair. `None` without pairs, or if a difference is not
/// finite.
pub(super) fn shift_of_pairs(before: &[f64], after: &[f64], confidence: f64) -> Option<Found> {
    let found = signed_rank::shift(before, after, confidence)?;
    Some((found.estimate, found.interval.map(Interval::from), Method::of_pairs(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_says_which_distribution_the_interval_is_of() {
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        let method = |baseline: &[f64], current: &[f64]| shift(baseline, current, 0.99).unwrap().2;
        assert_eq!(method(&drift[..5], &drift[..6]), Method::Exact);
        assert_eq!(method(&drift, &drift[..10]), Method::Normal { baseline_effective: 8.0, current_effective: 10.0 });
        let of_pairs = |n: usize| shift_of_pairs(&drift[..n], &drift[..n], 0.99).unwrap().2;
        assert_eq!(of_pairs(50), Method::SignedRank { exact: true });
        assert_eq!(of_pairs(51), Method::SignedRank { exact: false });
        assert_eq!((shift(&[], &[1.0], 0.99), shift_of_pairs(&[], &[1.0], 0.99)), (None, None));
    }
}
