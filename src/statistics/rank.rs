//! Ranks, and the autocorrelation of a series.

use std::cmp::Ordering;

/// A sample never counts as fewer independent figures than this, unless it has fewer.
///
/// By its correlation, a steadily drifting sample is worth hardly one figure, so that even a small drift could hide a
/// large shift. The number comes from simulations of the gate: it is the smallest with which growth of ten percent is
/// found in 99 of 100 comparisons of figures that drift by 3 %.
pub const LEAST_EFFECTIVE: f64 = 8.0;

/// The ranks of `figures`, from 0, in the order of the input. Equal figures share the mean of their ranks.
///
/// Figures are ordered by [`f64::total_cmp`]. Empty for empty input.
pub fn middle_ranks(figures: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..figures.len()).collect();
    order.sort_by(|&a, &b| figures[a].total_cmp(&figures[b]));
    let mut ranks = vec![0.0; figures.len()];
    let mut at = 0;
    for run in order.chunk_by(|&a, &b| figures[a].total_cmp(&figures[b]) == Ordering::Equal) {
        let rank = at as f64 + (run.len() - 1) as f64 / 2.0;
        run.iter().for_each(|&index| ranks[index] = rank);
        at += run.len();
    }
    ranks
}

/// The number of independent figures that these are worth, given in the order in which they were taken; 0 for empty
/// input.
///
/// `n (1 - r) / (1 + r)`, the effective size of a first-order autoregressive series, where `r` is the correlation of
/// the ranks of neighbours (Bartlett 1935; ranks, so that an outlier does not hide a drift). The count itself if `r` is
/// no larger than chance explains (one-sided, 5 %), and for fewer than 20 figures, whose `r` says little. Never less
/// than [`LEAST_EFFECTIVE`].
pub fn effective_size(figures: &[f64]) -> f64 {
    let n = figures.len() as f64;
    if figures.len() < 20 {
        return n;
    }
    let ranks = middle_ranks(figures);
    let mean = (n - 1.0) / 2.0;
    let variance: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    if variance == 0.0 {
        return n;
    }
    let together: f64 = ranks.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = together / variance;
    // Without correlation, r is near normal with a deviation of 1 / sqrt(n).
    if correlation <= 1.645 / n.sqrt() {
        return n;
    }
    (n * (1.0 - correlation) / (1.0 + correlation)).max(LEAST_EFFECTIVE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn figures_that_drift_count_as_fewer() {
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(effective_size(&drift), LEAST_EFFECTIVE);
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(effective_size(&alternating), 100.0);
        assert_eq!(effective_size(&[7.0; 100]), 100.0);
        assert_eq!(effective_size(&drift[..19]), 19.0);
        assert_eq!(effective_size(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn a_rank_counts_the_smaller_and_half_of_the_equal(figures in prop::collection::vec(0u8..12, 0..40)) {
            let figures: Vec<f64> = figures.into_iter().map(f64::from).collect();
            let naive = figures.iter().map(|x| {
                let smaller = figures.iter().filter(|y| *y < x).count();
                let equal = figures.iter().filter(|y| *y == x).count();
                smaller as f64 + (equal - 1) as f64 / 2.0
            });
            prop_assert_eq!(middle_ranks(&figures), naive.collect::<Vec<_>>());
        }

        #[test]
        fn the_effective_size_depends_on_ranks_alone_and_never_exceeds_the_count(
            steps in prop::collection::vec(-3i32..4, 0..80), wander: bool,
        ) {
            let figures: Vec<f64> = steps
                .iter()
                .scan(0, |level, step| { *level = if wander { *level + step } else { *step }; Some(f64::from(*level)) })
                .collect();
            let size = effective_size(&figures);
            prop_assert!(size <= figures.len() as f64 && size >= LEAST_EFFECTIVE.min(figures.len() as f64));
            let bent: Vec<f64> = figures.iter().map(|x| (x / 50.0).exp()).collect();
            prop_assert_eq!(effective_size(&bent), size);
            let back: Vec<f64> = figures.iter().rev().copied().collect();
            prop_assert!((effective_size(&back) - size).abs() < 1e-9);
        }
    }
}
