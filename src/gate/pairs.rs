//! The shift of pairs: figures that were taken side by side, so that what drifts moves both.

use super::interval::{Interval, Method};
use super::rank::{kth_walsh, normal_quantile};

/// Up to so many pairs the exact distribution is used.
const EXACT: usize = 50;

/// The shift from the first of each pair to the second (the pseudo-median of the differences), its interval where there
/// are enough pairs for one, and how it was found. There is at least one pair, and all figures are finite.
///
/// The interval is made of the order statistics of the Walsh averages, the means of every two differences, that
/// Wilcoxon's signed-rank test does not reject. It asks that a difference is as likely to be above the shift as below it:
/// which of a pair is taken first is drawn by lot, so that of equals it is.
pub(super) fn shift(before: &[f64], after: &[f64], confidence: f64) -> (f64, Option<Interval>, Method) {
    let mut differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let n = differences.len();
    let averages = n as u64 * (n as u64 + 1) / 2;
    let at = |k| kth_walsh(&differences, k);
    let estimate = f64::midpoint(at(averages.div_ceil(2)), at(averages / 2 + 1));
    let k = critical(n, (1.0 - confidence) / 2.0);
    let interval = (k > 0).then(|| Interval { low: at(k), high: at(averages + 1 - k), confidence });
    (estimate, interval, Method::SignedRank { exact: n <= EXACT })
}

/// The fewest pairs that can give an interval of this confidence.
pub(super) fn fewest(confidence: f64) -> usize {
    (1..=EXACT).find(|&n| critical(n, (1.0 - confidence) / 2.0) > 0).unwrap_or(EXACT)
}

/// The largest `k` with P(W < k) <= `tail` for the signed-rank statistic of `n` differences.
fn critical(n: usize, tail: f64) -> u64 {
    let all = (n * (n + 1) / 2) as f64;
    if n > EXACT {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        // Negative saturates to 0.
        return (all / 2.0 + 0.5 + normal_quantile(tail) * deviation).floor() as u64;
    }
    // Of the sets of ranks, each as likely as the other, those with a sum of w; as shares, so that none grows too large.
    let mut shares = vec![0.0; all as usize + 1];
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
        let (estimate, interval, method) = shift(&before, &after, 0.95);
        let interval = interval.unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            close(estimate, -0.46) && close(interval.low, -0.786) && close(interval.high, -0.01),
            "{estimate} {interval:?}"
        );
        assert_eq!(method, Method::SignedRank { exact: true });
    }

    #[test]
    fn what_drifts_moves_both() {
        let before: Vec<f64> = (0..10).map(|i| f64::from(i * i) * 1000.0).collect();
        let after: Vec<f64> = before.iter().map(|figure| figure + 5.0).collect();
        let (estimate, interval, _) = shift(&before, &after, 0.99);
        assert_eq!((estimate, interval.map(|interval| (interval.low, interval.high))), (5.0, Some((5.0, 5.0))));
    }

    proptest! {
        #[test]
        fn the_interval_is_of_walsh_averages(differences in prop::collection::vec(-1000i32..1000, 1..40)) {
            let after: Vec<f64> = differences.iter().copied().map(f64::from).collect();
            let mut averages: Vec<f64> = Vec::new();
            for (i, one) in after.iter().enumerate() {
                averages.extend(after[i..].iter().map(|other| f64::midpoint(*one, *other)));
            }
            averages.sort_by(f64::total_cmp);
            let (estimate, interval, _) = shift(&vec![0.0; after.len()], &after, 0.99);
            let middle = f64::midpoint(averages[(averages.len() - 1) / 2], averages[averages.len() / 2]);
            prop_assert_eq!(estimate, middle);
            if let Some(interval) = interval {
                let k = critical(after.len(), 0.005) as usize;
                prop_assert_eq!((interval.low, interval.high), (averages[k - 1], averages[averages.len() - k]));
            }
        }
    }
}
