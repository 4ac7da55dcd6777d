//! Statistics of ranks: pairwise differences, the null distribution of Mann-Whitney's U, dependence of neighbours.

use std::cmp::Ordering;

/// The `k`-th smallest (from 1) of all differences `a - b`, both sorted upwards, finite and not negative.
///
/// The differences are never made: their value is found by halving the range of the floating-point numbers, each step
/// counting in one walk along both, so that it takes time in proportion to their lengths.
pub(super) fn kth_difference(a: &[f64], b: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (key(a[0] - b[b.len() - 1]), key(a[a.len() - 1] - b[0]));
    while low < high {
        let middle = low + (high - low) / 2;
        if differences_up_to(a, b, from_key(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // Zero has two keys, of which the negative one is met first.
    from_key(low) + 0.0
}

/// How many differences are at most `limit`.
fn differences_up_to(a: &[f64], b: &[f64], limit: f64) -> u64 {
    let mut from = 0;
    let mut count = 0;
    for x in a {
        while from < b.len() && x - b[from] > limit {
            from += 1;
        }
        count += (b.len() - from) as u64;
    }
    count
}

/// The `k`-th smallest (from 1) of the means of every two of `sorted`, each with itself as well: its Walsh averages. They
/// are found as [`kth_difference`] finds differences.
pub(super) fn kth_walsh(sorted: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (key(sorted[0]), key(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low + (high - low) / 2;
        if averages_up_to(sorted, from_key(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_key(low) + 0.0
}

/// How many Walsh averages are at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> u64 {
    let mut to = sorted.len();
    let mut count = 0;
    for (from, x) in sorted.iter().enumerate() {
        while to > from && f64::midpoint(*x, sorted[to - 1]) > limit {
            to -= 1;
        }
        count += to.saturating_sub(from) as u64;
    }
    count
}

/// An integer that orders as the number does, widened so that two of them can be subtracted.
fn key(x: f64) -> i128 {
    let bits = x.to_bits() as i64;
    i128::from(if bits < 0 { i64::MIN - bits - 1 } else { bits })
}

fn from_key(key: i128) -> f64 {
    let key = key as i64;
    f64::from_bits(if key < 0 { i64::MIN - key - 1 } else { key } as u64)
}

/// The largest `k` with P(U < k) <= `tail` for Mann-Whitney's U of `n` and `m` figures without ties, from its exact
/// distribution: the coefficients of the Gaussian binomial. Both are at most [`EXACT`].
pub(super) fn exact_critical(n: usize, m: usize, tail: f64) -> u64 {
    // Of the product over i of (1 - q^(m+i)) / (1 - q^i); every coefficient is a whole number below 2^53.
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

/// Up to so many figures on each side the exact distribution is used.
pub(super) const EXACT: usize = 25;

/// The same from the normal approximation with continuity correction, where `n` and `m` figures are worth as much as
/// `n_effective` and `m_effective` independent ones.
pub(super) fn normal_critical(n: usize, m: usize, n_effective: f64, m_effective: f64, tail: f64) -> u64 {
    let pairs = n as f64 * m as f64;
    // For independent figures this is the square root of nm(n + m + 1) / 12.
    let deviation = pairs * ((1.0 / n_effective + 1.0 / m_effective + 1.0 / pairs) / 12.0).sqrt();
    // Negative saturates to 0.
    (pairs / 2.0 + 0.5 + normal_quantile(tail) * deviation).floor() as u64
}

/// The quantile of the standard normal distribution for `p` in (0, 0.5), by P. J. Acklam's rational approximation (2003),
/// whose relative error is below 1.2e-9.
pub(super) fn normal_quantile(p: f64) -> f64 {
    let horner = |x: f64, coefficients: &[f64]| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        let over = [
            -7.784_894_002_430_293e-3,
            -3.223_964_580_411_365e-1,
            -2.400_758_277_161_838,
            -2.549_732_539_343_734,
            4.374_664_141_464_968,
            2.938_163_982_698_783,
        ];
        let under =
            [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416, 1.0];
        return horner(q, &over) / horner(q, &under);
    }
    let q = p - 0.5;
    let over = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    let under = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    q * horner(q * q, &over) / horner(q * q, &under)
}

/// No set of figures counts as fewer independent ones than this. A set that drifts steadily is worth hardly one by its
/// correlation, and a drift, however small beside a shift, could then never be told from it. The simulations chose the
/// number: the smallest with which ten per cent more are found in 99 of 100 comparisons of figures that drift by 3 %.
const LEAST_EFFECTIVE: f64 = 8.0;

/// How many independent figures these are worth, in the order in which they were taken: `n (1 - r) / (1 + r)` with `r`
/// the correlation of the ranks of neighbours (the effective size of a first-order autoregressive series), where `r` is
/// larger than chance explains. Ranks, so that an outlier does not hide a drift.
pub(super) fn effective(figures: &[f64]) -> f64 {
    let n = figures.len() as f64;
    if figures.len() < 20 {
        // A correlation of so few is hardly told from chance.
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
    // One-sided at 5 %: without correlation, r is near normal with a deviation of 1 / sqrt(n).
    if correlation <= 1.645 / n.sqrt() {
        return n;
    }
    (n * (1.0 - correlation) / (1.0 + correlation)).max(LEAST_EFFECTIVE)
}

/// The ranks from 0; equal figures share the mean of theirs.
pub(super) fn middle_ranks(figures: &[f64]) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Tables of the Mann-Whitney test, two-sided 5 %: reject for U at most this; k is one more.
        for (n, m, table) in [(4, 4, 0), (5, 5, 2), (6, 6, 5), (10, 10, 23), (20, 20, 127), (5, 10, 8), (3, 20, 8)] {
            assert_eq!(exact_critical(n, m, 0.025), table + 1, "{n} and {m}");
            assert_eq!(exact_critical(m, n, 0.025), table + 1, "{m} and {n}");
        }
        // Two-sided 1 %.
        for (n, m, table) in [(5, 5, 0), (10, 10, 16), (20, 20, 105)] {
            assert_eq!(exact_critical(n, m, 0.005), table + 1, "{n} and {m}");
        }
        assert_eq!(exact_critical(3, 3, 0.025), 0);
        assert_eq!(exact_critical(1, 1, 0.005), 0);
    }

    #[test]
    fn the_approximation_is_close_to_the_exact_distribution() {
        for (n, m) in [(15, 20), (20, 20), (25, 25)] {
            let exact = exact_critical(n, m, 0.005);
            let normal = normal_critical(n, m, n as f64, m as f64, 0.005);
            assert!(exact.abs_diff(normal) <= 2, "{n} and {m}: {exact} and {normal}");
        }
        assert!(normal_critical(25, 25, 5.0, 5.0, 0.005) > 0, "five independent figures on each side still tell");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in
            [(0.025, -1.959_963_985), (0.005, -2.575_829_304), (0.0005, -3.290_526_731), (0.25, -0.674_489_750)]
        {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}");
        }
    }

    #[test]
    fn figures_that_drift_count_as_fewer() {
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(effective(&drift), LEAST_EFFECTIVE);
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(effective(&alternating), 100.0);
        assert_eq!(effective(&[7.0; 100]), 100.0);
        assert_eq!(effective(&drift[..19]), 19.0);
    }

    proptest! {
        #[test]
        fn the_kth_difference_is_that_of_the_sorted_list(
            mut a in prop::collection::vec(prop_oneof![0.0f64..1e12, (0u8..4).prop_map(f64::from)], 1..20),
            mut b in prop::collection::vec(prop_oneof![0.0f64..1e12, (0u8..4).prop_map(f64::from)], 1..20),
            k: prop::sample::Index,
        ) {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
            let mut all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            all.sort_by(f64::total_cmp);
            let k = k.index(all.len());
            prop_assert_eq!(kth_difference(&a, &b, k as u64 + 1).to_bits(), all[k].to_bits());
        }
    }
}
