//! Paired samples, taken side by side so that drift moves both.

use super::normal;
use super::order::kth_walsh;
use super::shift::{Interval, Shift, tail};

/// Up to this many pairs, the exact distribution is used.
pub const EXACT: usize = 50;

/// The shift from the first to the second of each pair: `before[0]` is paired with `after[0]`, and so on, as far as
/// both have figures. `None` without pairs, or if a difference is not finite.
///
/// The estimate is the pseudo-median of the differences: the median of their Walsh averages, the means of every two
/// differences (Hodges and Lehmann 1963). The interval consists of those order statistics of the Walsh averages that
/// Wilcoxon's signed-rank test does not reject (Hollander and Wolfe 1973), exact for up to [`EXACT`] pairs, by the
/// normal approximation beyond. The test assumes that a difference is as likely above the shift as below it. A random
/// order within each pair guarantees this when nothing changed.
///
/// After sorting the differences, the time is proportional to the number of pairs.
pub fn shift(before: &[f64], after: &[f64], confidence: f64) -> Option<Shift> {
    let mut differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let n = differences.len();
    let averages = n as u64 * (n as u64 + 1) / 2;
    let at = |k| kth_walsh(&differences, k);
    let estimate = f64::midpoint(at(averages.div_ceil(2)), at(averages / 2 + 1));
    let k = tail(confidence).map_or(0, |tail| critical(n, tail));
    let interval = (k > 0).then(|| Interval { low: at(k), high: at(averages + 1 - k), confidence });
    Some(Shift { estimate, interval, exact: n <= EXACT, baseline_size: n as f64, current_size: n as f64 })
}

/// The ratio of the second of each pair to the first: [`shift`] of their logarithms, so it has no unit. `None` without
/// pairs, or if a figure is not finite and positive.
///
/// Effects and disturbances multiply times. Swapping the two gives the reciprocal.
pub fn ratio(pairs: &[[f64; 2]], confidence: f64) -> Option<Shift> {
    if pairs.iter().flatten().any(|figure| !(figure.is_finite() && *figure > 0.0)) {
        return None;
    }
    let logarithms = |of: usize| pairs.iter().map(|pair| pair[of].ln()).collect::<Vec<f64>>();
    let found = shift(&logarithms(0), &logarithms(1), confidence)?;
    let interval = found.interval.map(|interval| Interval {
        low: interval.low.exp(),
        high: interval.high.exp(),
        confidence: interval.confidence,
    });
    Some(Shift { estimate: found.estimate.exp(), interval, ..found })
}

/// The fewest pairs that give an interval of this confidence. At most [`EXACT`], even if those are too few.
pub fn fewest(confidence: f64) -> usize {
    (1..=EXACT).find(|&n| critical(n, (1.0 - confidence) / 2.0) > 0).unwrap_or(EXACT)
}

/// The largest `k` with P(W < k) <= `tail` for Wilcoxon's signed-rank statistic W of `n` differences without ties
/// (Wilcoxon 1945): from its exact distribution for up to [`EXACT`] differences, from the normal approximation with
/// continuity correction beyond. 0 if there are too few.
pub fn critical(n: usize, tail: f64) -> u64 {
    if n > EXACT {
        let n = n as f64;
        let all = n * (n + 1.0) / 2.0;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        // Negative saturates to 0.
        return (all / 2.0 + 0.5 + normal::quantile(tail) * deviation).floor() as u64;
    }
    // The share of all equally likely sets of ranks whose sum is w; shares, so that no number grows too large.
    let mut shares = vec![0.0; n * (n + 1) / 2 + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..shares.len()).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (shares[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let mut k = 0;
    for share in shares {
        below += share;
        if below > tail {
            break;
        }
        k += 1;
    }
    k
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Tables of Wilcoxon's signed-rank test, two-sided 5 % and 1 %: reject for W at most this; k is one more.
        for (n, five, one) in [(8, 3, 0), (10, 8, 3), (15, 25, 15), (20, 52, 37), (25, 89, 68)] {
            assert_eq!((critical(n, 0.025), critical(n, 0.005)), (five + 1, one + 1), "{n}");
        }
        assert_eq!((fewest(0.95), fewest(0.99)), (6, 8));
        assert!(
            critical(50, 0.005).abs_diff(critical(51, 0.005)) < 20,
            "the approximation goes on where the table ends"
        );
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "a score of the example, not pi")]
    fn of_a_published_case() {
        // Depression scores, Hollander and Wolfe (1973), the example of R's wilcox.test: V = 40 of 9 pairs, and with
        // conf.int the pseudo-median -0.46 and the interval -0.786 to -0.01.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let found = shift(&before, &after, 0.95).unwrap();
        let interval = found.interval.unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            close(found.estimate, -0.46) && close(interval.low, -0.786) && close(interval.high, -0.01),
            "{found:?}"
        );
        assert_eq!((found.exact, found.baseline_size, found.current_size), (true, 9.0, 9.0));
    }

    #[test]
    fn what_drifts_moves_both() {
        let before: Vec<f64> = (0..10).map(|i| f64::from(i * i) * 1000.0).collect();
        let after: Vec<f64> = before.iter().map(|figure| figure + 5.0).collect();
        let found = shift(&before, &after, 0.99).unwrap();
        assert_eq!(
            (found.estimate, found.interval.map(|interval| (interval.low, interval.high))),
            (5.0, Some((5.0, 5.0)))
        );
    }

    #[test]
    fn no_pairs_and_figures_that_cannot_be_used_have_no_shift() {
        assert_eq!(shift(&[], &[1.0], 0.99), None);
        assert_eq!(shift(&[f64::NAN], &[1.0], 0.99), None);
        assert_eq!(shift(&[-f64::MAX], &[f64::MAX], 0.99), None);
        assert_eq!(ratio(&[], 0.99), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ratio(&[[1.0, 2.0], [bad, 1.0]], 0.99), None);
        }
        assert_eq!(shift(&[1.0; 60], &[2.0; 60], 1.0).unwrap().interval, None);
    }

    proptest! {
        #[test]
        fn the_critical_value_is_that_of_all_signs(n in 1usize..11, tail in 0.0f64..0.5) {
            let sum = |set: u32| (0..n).filter(|rank| set >> rank & 1 == 1).map(|rank| rank as u64 + 1).sum::<u64>();
            let all: Vec<u64> = (0u32..1 << n).map(sum).collect();
            let share = |k: u64| all.iter().filter(|w| **w < k).count() as f64 / all.len() as f64;
            let k = critical(n, tail);
            prop_assert!(share(k) <= tail && share(k + 1) > tail);
        }

        #[test]
        fn the_interval_is_of_walsh_averages(differences in prop::collection::vec(-1000i32..1000, 1..40)) {
            let after: Vec<f64> = differences.iter().copied().map(f64::from).collect();
            let mut averages: Vec<f64> = Vec::new();
            for (i, one) in after.iter().enumerate() {
                averages.extend(after[i..].iter().map(|other| f64::midpoint(*one, *other)));
            }
            averages.sort_by(f64::total_cmp);
            let found = shift(&vec![0.0; after.len()], &after, 0.99).unwrap();
            let middle = f64::midpoint(averages[(averages.len() - 1) / 2], averages[averages.len() / 2]);
            prop_assert_eq!(found.estimate, middle);
            if let Some(interval) = found.interval {
                let k = critical(after.len(), 0.005) as usize;
                prop_assert_eq!((interval.low, interval.high), (averages[k - 1], averages[averages.len() - k]));
            }
        }

        #[test]
        fn the_order_of_pairs_and_what_moves_both_do_not_matter(
            pairs in prop::collection::vec((-1000i32..1000, -1000i32..1000), 1..70), drift in -1000i32..1000,
        ) {
            let split = |pairs: &[(i32, i32)], drift: i32| {
                let drift = |at: usize| f64::from(drift) * at as f64;
                let of = |pick: fn(&(i32, i32)) -> i32| {
                    pairs.iter().enumerate().map(|(at, pair)| f64::from(pick(pair)) + drift(at)).collect::<Vec<f64>>()
                };
                shift(&of(|pair| pair.0), &of(|pair| pair.1), 0.95)
            };
            let found = split(&pairs, 0);
            prop_assert_eq!(split(&pairs, drift), found);
            let back: Vec<_> = pairs.iter().rev().copied().collect();
            prop_assert_eq!(split(&back, 0), found);
        }

        #[test]
        fn a_swapped_ratio_is_the_reciprocal(pairs in prop::collection::vec([1.0f64..1e9, 1.0f64..1e9], 1..60)) {
            let swapped: Vec<[f64; 2]> = pairs.iter().map(|[one, other]| [*other, *one]).collect();
            let (one, other) = (ratio(&pairs, 0.99).unwrap(), ratio(&swapped, 0.99).unwrap());
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            prop_assert!(close(one.estimate, 1.0 / other.estimate));
            if let (Some(one), Some(other)) = (one.interval, other.interval) {
                prop_assert!(close(one.low, 1.0 / other.high) && close(one.high, 1.0 / other.low));
            }
        }

        #[test]
        fn any_figures_give_a_shift_or_none(
            pairs in prop::collection::vec([any::<f64>(), any::<f64>()], 0..8), confidence: f64,
        ) {
            let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().map(|pair| (pair[0], pair[1])).unzip();
            if let Some(found) = shift(&before, &after, confidence) {
                prop_assert!(found.estimate.is_finite());
            }
            let _ = (ratio(&pairs, confidence), fewest(confidence), critical(60, confidence));
        }
    }
}
