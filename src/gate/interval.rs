//! The shift between two sets of figures, and how well it is known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rank::{EXACT, effective, exact_critical, kth_difference, normal_critical};

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
    /// The same by the normal approximation of that distribution: there are more than 25 figures on a side, or those of
    /// one depend on their neighbours.
    Normal {
        /// How many independent figures the baseline's are worth.
        baseline_effective: f64,
        /// The same of the current ones.
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

/// The shift from `baseline` to `current` (the median of all differences), its interval where there are enough figures
/// for one, and how it was found. Both are in the order in which they were taken, and have at least one figure, finite
/// and not negative.
pub(super) fn shift(baseline: &[f64], current: &[f64], confidence: f64) -> (f64, Option<Interval>, Method) {
    let (n, m) = (current.len(), baseline.len());
    let (n_effective, m_effective) = (effective(current), effective(baseline));
    let tail = (1.0 - confidence) / 2.0;
    let independent = n_effective == n as f64 && m_effective == m as f64;
    let (k, method) = if independent && n <= EXACT && m <= EXACT {
        (exact_critical(n, m, tail), Method::Exact)
    } else {
        let method = Method::Normal { baseline_effective: m_effective, current_effective: n_effective };
        (normal_critical(n, m, n_effective, m_effective, tail), method)
    };
    let sorted = |figures: &[f64]| {
        let mut figures = figures.to_vec();
        figures.sort_unstable_by(f64::total_cmp);
        figures
    };
    let (baseline, current) = (sorted(baseline), sorted(current));
    let pairs = n as u64 * m as u64;
    let at = |k| kth_difference(&current, &baseline, k);
    let estimate = f64::midpoint(at(pairs.div_ceil(2)), at(pairs / 2 + 1));
    let interval = (k > 0).then(|| Interval { low: at(k), high: at(pairs + 1 - k), confidence });
    (estimate, interval, method)
}

/// The fewest figures on each side that can give an interval of this confidence.
pub(super) fn fewest(confidence: f64) -> usize {
    (1..=EXACT).find(|&n| exact_critical(n, n, (1.0 - confidence) / 2.0) > 0).unwrap_or(EXACT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_published_case() {
        // Permeability constants, Hollander and Wolfe (1973), the example of R's wilcox.test, which gives 0.305 and the
        // interval -0.15 to 0.76.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks_12_to_26 = [1.15, 0.88, 0.90, 0.74, 1.21];
        let (estimate, interval, method) = shift(&weeks_12_to_26, &term, 0.95);
        let interval = interval.unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(estimate, 0.305) && close(interval.low, -0.15) && close(interval.high, 0.76), "{interval:?}");
        assert_eq!(method, Method::Exact);
    }

    #[test]
    fn few_figures_have_no_interval() {
        assert_eq!(shift(&[1.0], &[2.0], 0.99).1, None);
        assert_eq!(shift(&[1.0; 4], &[2.0; 4], 0.99).1, None);
        assert_eq!((fewest(0.95), fewest(0.99), fewest(0.999)), (4, 5, 7));
        let interval = shift(&[1.0; 5], &[2.0; 5], 0.99).1.unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 1.0), "figures that do not vary have an interval of one point");
    }

    proptest! {
        #[test]
        fn a_shift_is_found_whatever_the_figures(
            baseline in prop::collection::vec((0u32..1000).prop_map(|n| f64::from(n) * 4096.0), 1..40),
            current in prop::collection::vec((0u32..1000).prop_map(|n| f64::from(n) * 4096.0), 1..40),
            by in (0u32..1000).prop_map(|n| f64::from(n) * 4096.0),
        ) {
            let (estimate, interval, _) = shift(&baseline, &current, 0.99);
            let moved: Vec<f64> = current.iter().map(|x| x + by).collect();
            let (after, moved, _) = shift(&baseline, &moved, 0.99);
            prop_assert_eq!(after, estimate + by);
            let (back, _, _) = shift(&current, &baseline, 0.99);
            prop_assert_eq!(back, 0.0 - estimate + 0.0);
            if let (Some(interval), Some(moved)) = (interval, moved) {
                prop_assert!(interval.low <= estimate && estimate <= interval.high);
                prop_assert_eq!((moved.low, moved.high), (interval.low + by, interval.high + by));
            }
        }
    }
}
