//! The shift between two sets of figures, and how well it is known.

use std::fmt;

use plimsoll_statistics::{Shift, mann_whitney, signed_rank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a shift lies with a stated confidence; both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end, in the unit of the figures.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How often such an interval holds the true shift, at least: 0.99 for 99 in 100.
    pub confidence: f64,
}

/// How a shift and its interval were found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Method {
    /// The Hodges-Lehmann estimate and the order statistics of all pairwise differences, by the exact distribution of
    /// Mann-Whitney's U.
    Exact,
    /// The Mann-Whitney interval by the normal approximation: there are more than 25 figures on a side, or those of
    /// one depend on their neighbours.
    Normal {
        /// How many independent figures the baseline's are worth.
        baseline_effective: f64,
        /// How many independent figures the current ones count as.
        current_effective: f64,
    },
    /// The median of the Walsh averages of the differences within pairs, and their order statistics, by Wilcoxon's
    /// signed-rank test.
    SignedRank {
        /// Whether by its exact distribution; of more than 50 pairs by the normal approximation.
        exact: bool,
    },
    /// Criterion's own comparison: the bootstrap of the ratio of the two medians.
    CriterionBootstrap,
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
    /// How the shift of two sets of figures was found by [`mann_whitney::shift`].
    fn of_sets(shift: &Shift) -> Self {
        if shift.exact {
            return Self::Exact;
        }
        Self::Normal { baseline_effective: shift.baseline_size, current_effective: shift.current_size }
    }

    /// How the shift of pairs was found by [`signed_rank::shift`] or [`signed_rank::ratio`].
    pub(super) const fn of_pairs(shift: &Shift) -> Self {
        Self::SignedRank { exact: shift.exact }
    }
}

/// A shift, its interval if there are enough figures for one, and how they were found.
pub(super) type Found = (f64, Option<Interval>, Method);

/// The shift from `baseline` to `current`, both in the order in which they were taken. `None` if one of them has no
/// figures, or some that are not finite.
pub(super) fn shift(baseline: &[f64], current: &[f64], confidence: f64) -> Option<Found> {
    let found = mann_whitney::shift(baseline, current, confidence)?;
    Some((found.estimate, found.interval.map(Interval::from), Method::of_sets(&found)))
}

/// The shift from the first of each pair to the second. `None` if there is no pair, or if a difference is not finite.
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
