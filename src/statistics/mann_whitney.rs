//! Two samples: the shift between them, with the interval of the Mann-Whitney test.

use super::normal;
use super::order::kth_difference;
use super::rank::effective_size;
use super::shift::{Interval, Shift, tail};

/// Up to this many figures per side, the exact distribution is used.
pub const EXACT: usize = 25;

/// The shift from `baseline` to `current`, each in the order in which it was taken. `None` if either is empty or has a
/// figure that is not finite, or if a difference overflows.
///
/// The estimate is that of Hodges and Lehmann: the median of all differences between a current figure and one of the
/// baseline. The interval consists of those order statistics of the differences that the Mann-Whitney test does not
/// reject (Hollander and Wolfe 1973): exact for up to [`EXACT`] figures per side that do not depend on their
/// neighbours, by the normal approximation beyond. With ties it is conservative.
///
/// After sorting, the time is proportional to the number of figures.
pub fn shift(baseline: &[f64], current: &[f64], confidence: f64) -> Option<Shift> {
    let (n, m) = (current.len(), baseline.len());
    if n == 0 || m == 0 || baseline.iter().chain(current).any(|figure| !figure.is_finite()) {
        return None;
    }
    let (n_effective, m_effective) = (effective_size(current), effective_size(baseline));
    let independent = n_effective == n as f64 && m_effective == m as f64;
    let exact = independent && n <= EXACT && m <= EXACT;
    let k = tail(confidence).map_or(0, |tail| {
        if exact { critical_exact(n, m, tail) } else { critical_normal(n, m, n_effective, m_effective, tail) }
    });
    let sorted = |figures: &[f64]| {
        let mut figures = figures.to_vec();
        figures.sort_unstable_by(f64::total_cmp);
        figures
    };
    let (baseline, current) = (sorted(baseline), sorted(current));
    if !(current[0] - baseline[m - 1]).is_finite() || !(current[n - 1] - baseline[0]).is_finite() {
        return None;
    }
    let pairs = n as u64 * m as u64;
    let at = |k| kth_difference(&current, &baseline, k);
    let estimate = f64::midpoint(at(pairs.div_ceil(2)), at(pairs / 2 + 1));
    let interval = (k > 0).then(|| Interval { low: at(k), high: at(pairs + 1 - k), confidence });
    Some(Shift { estimate, interval, exact, baseline_size: m_effective, current_size: n_effective })
}

/// The fewest figures per side that give an interval of this confidence. At most [`EXACT`], even if those are too few.
pub fn fewest(confidence: f64) -> usize {
    (1..=EXACT).find(|&n| critical_exact(n, n, (1.0 - confidence) / 2.0) > 0).unwrap_or(EXACT)
}

/// The largest `k` with P(U < k) <= `tail` for Mann-Whitney's U of `n` and `m` figures without ties, from its exact
/// distribution: the coefficients of the Gaussian binomial (Mann and Whitney 1947). 0 if there are too few figures.
///
/// Exact only while both are at most [`EXACT`]: beyond, the counts do not fit an `f64` without rounding, and time and
/// memory grow with `n * m`. Use [`critical_normal`] there.
pub fn critical_exact(n: usize, m: usize, tail: f64) -> u64 {
    // The coefficients of the product over i of (1 - q^(m+i)) / (1 - q^i), all whole numbers below 2^53.
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..ways.len()).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let mut k = 0;
    for count in ways {
        below += count;
        if below > tail * all {
            break;
        }
        k += 1;
    }
    k
}

/// The result of [`critical_exact`] in normal approximation with continuity correction (Mann and Whitney 1947), for `n`
/// and `m` figures worth `n_effective` and `m_effective` independent ones. 0 if there are too few figures.
pub fn critical_normal(n: usize, m: usize, n_effective: f64, m_effective: f64, tail: f64) -> u64 {
    let pairs = n as f64 * m as f64;
    // For independent figures this is the square root of nm(n + m + 1) / 12.
    let deviation = pairs * ((1.0 / n_effective + 1.0 / m_effective + 1.0 / pairs) / 12.0).sqrt();
    // Negative saturates to 0.
    (pairs / 2.0 + 0.5 + normal::quantile(tail) * deviation).floor() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Tables of the Mann-Whitney test, two-sided 5 %: reject for U at most this; k is one more.
        for (n, m, table) in [(4, 4, 0), (5, 5, 2), (6, 6, 5), (10, 10, 23), (20, 20, 127), (5, 10, 8), (3, 20, 8)] {
            assert_eq!(critical_exact(n, m, 0.025), table + 1, "{n} and {m}");
            assert_eq!(critical_exact(m, n, 0.025), table + 1, "{m} and {n}");
        }
        // Two-sided 1 %.
        for (n, m, table) in [(5, 5, 0), (10, 10, 16), (20, 20, 105)] {
            assert_eq!(critical_exact(n, m, 0.005), table + 1, "{n} and {m}");
        }
        assert_eq!(critical_exact(3, 3, 0.025), 0);
        assert_eq!(critical_exact(1, 1, 0.005), 0);
    }

    #[test]
    fn the_approximation_is_close_to_the_exact_distribution() {
        for (n, m) in [(15, 20), (20, 20), (25, 25)] {
            let exact = critical_exact(n, m, 0.005);
            let normal = critical_normal(n, m, n as f64, m as f64, 0.005);
            assert!(exact.abs_diff(normal) <= 2, "{n} and {m}: {exact} and {normal}");
        }
        assert!(critical_normal(25, 25, 5.0, 5.0, 0.005) > 0, "five independent figures on each side still suffice");
    }

    #[test]
    fn of_a_published_case() {
        // Permeability constants, Hollander and Wolfe (1973), the example of R's wilcox.test, which gives 0.305 and the
        // interval -0.15 to 0.76.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks_12_to_26 = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = shift(&weeks_12_to_26, &term, 0.95).unwrap();
        let interval = found.interval.unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(found.estimate, 0.305) && close(interval.low, -0.15) && close(interval.high, 0.76), "{found:?}");
        assert_eq!((found.exact, found.baseline_size, found.current_size), (true, 5.0, 10.0));
    }

    #[test]
    fn few_figures_have_no_interval() {
        let interval =
            |baseline: &[f64], current: &[f64], confidence| shift(baseline, current, confidence).unwrap().interval;
        assert_eq!(interval(&[1.0], &[2.0], 0.99), None);
        assert_eq!(interval(&[1.0; 4], &[2.0; 4], 0.99), None);
        assert_eq!((fewest(0.95), fewest(0.99), fewest(0.999)), (4, 5, 7));
        let of_five = interval(&[1.0; 5], &[2.0; 5], 0.99).unwrap();
        assert_eq!((of_five.low, of_five.high), (1.0, 1.0), "figures that do not vary have an interval of one point");
        for confidence in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(interval(&[1.0; 30], &[2.0; 30], confidence), None, "{confidence}");
        }
    }

    #[test]
    fn figures_that_cannot_be_used_have_no_shift() {
        for (baseline, current) in [
            (&[][..], &[1.0][..]),
            (&[1.0], &[]),
            (&[f64::NAN], &[1.0]),
            (&[1.0], &[f64::INFINITY]),
            (&[-f64::MAX], &[f64::MAX]),
        ] {
            assert_eq!(shift(baseline, current, 0.99), None, "{baseline:?} and {current:?}");
        }
    }

    /// U by definition for every choice of `n` of `n + m` ranks: the number of pairs in which the chosen one is larger.
    fn all_u(n: usize, m: usize) -> Vec<u64> {
        let chosen = (0u32..1 << (n + m)).filter(|set| set.count_ones() as usize == n);
        let u = |set: u32| {
            let has = |rank: usize| set >> rank & 1 == 1;
            (0..n + m).filter(|&a| has(a)).map(|a| (0..a).filter(|&b| !has(b)).count() as u64).sum()
        };
        chosen.map(u).collect()
    }

    proptest! {
        #[test]
        fn the_exact_critical_value_is_that_of_all_orders(n in 1usize..6, m in 1usize..6, tail in 0.0f64..0.5) {
            let all = all_u(n, m);
            let share = |k: u64| all.iter().filter(|u| **u < k).count() as f64 / all.len() as f64;
            let k = critical_exact(n, m, tail);
            prop_assert!(share(k) <= tail && share(k + 1) > tail);
        }

        #[test]
        fn estimate_and_interval_are_order_statistics_of_the_differences(
            baseline in prop::collection::vec(-1e6f64..1e6, 1..26),
            current in prop::collection::vec(-1e6f64..1e6, 1..26),
        ) {
            let mut all: Vec<f64> = current.iter().flat_map(|x| baseline.iter().map(move |y| x - y)).collect();
            all.sort_by(f64::total_cmp);
            let found = shift(&baseline, &current, 0.9).unwrap();
            prop_assert_eq!(found.estimate, f64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2]));
            if found.exact {
                let k = critical_exact(current.len(), baseline.len(), (1.0 - 0.9) / 2.0) as usize;
                let ends = found.interval.map(|interval| (interval.low, interval.high));
                prop_assert_eq!(ends, (k > 0).then(|| (all[k - 1], all[all.len() - k])));
            }
        }

        #[test]
        fn a_shift_is_found_whatever_the_figures(
            baseline in prop::collection::vec((0u32..1000).prop_map(|n| f64::from(n) * 4096.0), 1..40),
            current in prop::collection::vec((0u32..1000).prop_map(|n| f64::from(n) * 4096.0), 1..40),
            by in (0u32..1000).prop_map(|n| f64::from(n) * 4096.0),
        ) {
            let found = shift(&baseline, &current, 0.99).unwrap();
            let moved: Vec<f64> = current.iter().map(|x| x + by).collect();
            let after = shift(&baseline, &moved, 0.99).unwrap();
            prop_assert_eq!(after.estimate, found.estimate + by);
            let back = shift(&current, &baseline, 0.99).unwrap();
            prop_assert_eq!(back.estimate, 0.0 - found.estimate + 0.0);
            if let (Some(interval), Some(moved)) = (found.interval, after.interval) {
                prop_assert!(interval.low <= found.estimate && found.estimate <= interval.high);
                prop_assert_eq!((moved.low, moved.high), (interval.low + by, interval.high + by));
            }
        }

        #[test]
        fn more_confidence_takes_a_wider_interval(
            figures in prop::collection::vec((-1e6f64..1e6, -1e6f64..1e6), 1..60), confidence in 0.5f64..0.99,
        ) {
            let (baseline, current): (Vec<f64>, Vec<f64>) = figures.into_iter().unzip();
            let narrow = shift(&baseline, &current, confidence).unwrap();
            let wide = shift(&baseline, &current, confidence + 0.009).unwrap();
            if let Some(outer) = wide.interval {
                let inner = narrow.interval.unwrap();
                prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
            }
        }

        #[test]
        fn any_figures_give_a_shift_or_none(
            baseline in prop::collection::vec(any::<f64>(), 0..8), current in prop::collection::vec(any::<f64>(), 0..8),
            confidence: f64,
        ) {
            if let Some(found) = shift(&baseline, &current, confidence) {
                prop_assert!(found.estimate.is_finite());
            }
            let _ = (fewest(confidence), critical_exact(3, 4, confidence));
            let _ = critical_normal(30, 40, 30.0, 40.0, confidence);
        }
    }
}
