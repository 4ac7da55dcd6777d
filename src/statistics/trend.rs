//! Trends of a series: slopes and tests that are robust against outliers.

use super::median::median;
use super::normal::upper_tail;

/// The result of the Mann-Kendall test on a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Kendall's S: the number of rising pairs minus the number of falling ones.
    pub s: i64,
    /// The variance of S among random orders of the same figures.
    pub variance: f64,
    /// The one-sided p: how likely chance produces as many rising pairs.
    pub p: f64,
}

/// The slope of a series by Theil (1950) and Sen (1968): the median slope over all pairs of `points` (x, y) with
/// different x. In units of y per unit of x; 0 if no two x differ, and for empty input.
///
/// Time and memory are proportional to the square of the number of points.
pub fn theil_sen(points: &[(f64, f64)]) -> f64 {
    let pairs = points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
    let slopes = pairs
        .filter(|(a, b)| b.0.partial_cmp(&a.0).is_some_and(std::cmp::Ordering::is_ne))
        .map(|(a, b)| (b.1 - a.1) / (b.0 - a.0));
    median(slopes.collect()).unwrap_or(0.0)
}

/// Tests whether a series rises, by Mann (1945) and Kendall (1975), with the normal approximation and corrections for
/// ties and continuity. `figures` are in order. The p is 1 if they do not differ, and for empty input.
///
/// The time is proportional to the square of the number of figures.
pub fn mann_kendall(figures: &[f64]) -> MannKendall {
    let sign = |a: f64, b: f64| i64::from(b > a) - i64::from(b < a);
    let s: i64 =
        figures.iter().enumerate().flat_map(|(at, &a)| figures[at + 1..].iter().map(move |&b| sign(a, b))).sum();
    let n = figures.len() as f64;
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tie| term(tie.len() as f64)).sum();
    let variance = (term(n) - ties) / 18.0;
    if variance <= 0.0 {
        return MannKendall { s, variance: 0.0, p: 1.0 };
    }
    let z = (s - s.signum()) as f64 / variance.sqrt();
    MannKendall { s, variance, p: upper_tail(z) }
}

/// Where a series starts and ends: the medians of its first and last fifth, at least one figure each. `None` for empty
/// input.
pub fn ends(figures: &[f64]) -> Option<(f64, f64)> {
    let window = (figures.len() / 5).max(1).min(figures.len());
    Some((median(figures[..window].to_vec())?, median(figures[figures.len() - window..].to_vec())?))
}

/// The distance between the largest and the smallest figure. Minus infinity for empty input, which is below any
/// distance.
pub fn extent(figures: &[f64]) -> f64 {
    let (low, high) = figures.iter().fold((f64::MAX, f64::MIN), |(low, high), &y| (low.min(y), high.max(y)));
    high - low
}

/// Whether a series that rose by `rise` over all `points` has levelled off: its second half, at least five points,
/// extrapolates to a quarter of that rise or less. `points` are in order of x. False for fewer than five points.
pub fn levels_off(points: &[(f64, f64)], rise: f64) -> bool {
    if points.len() < 5 {
        return false;
    }
    let tail = &points[points.len() - (points.len() / 2).max(5)..];
    let span = points[points.len() - 1].0 - points[0].0;
    theil_sen(tail) * span <= rise / 4.0
}

/// As [`rises_evenly`], or the medians of as many neighbours do: for figures that are many and go up and down.
pub fn rises_throughout(figures: &[f64], least: usize) -> bool {
    const MOST: usize = 8;
    let parts = (figures.len() / 2).min(MOST);
    let part = |at: usize| &figures[at * figures.len() / parts..(at + 1) * figures.len() / parts];
    let medians = || (0..parts).filter_map(|at| median(part(at).to_vec())).collect::<Vec<_>>();
    rises_evenly(figures, least) || parts >= least && rises_evenly(&medians(), least)
}

/// Whether at least `least` figures rise in nearly every one of their steps, at the same rate to the end, and never fall by
/// half of it. `figures` are in order; false for fewer than two.
pub fn rises_evenly(figures: &[f64], least: usize) -> bool {
    let ([first, .., last], true) = (figures, figures.len() >= least) else { return false };
    let mut highest = *first;
    let deepest = figures.iter().fold(0.0, |deepest: f64, figure| {
        highest = highest.max(*figure);
        deepest.max(highest - figure)
    });
    let half = figures.len() / 2;
    // What the second half would rise by at the rate of the whole.
    let even = (last - first) * (figures.len() - 1 - half) as f64 / (figures.len() - 1) as f64;
    let rises = figures.windows(2).filter(|pair| pair[1] > pair[0]).count();
    2.0 * deepest <= last - first && last - figures[half] >= 0.8 * even && rises * 5 >= (figures.len() - 1) * 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first figures of the textbook's example: S and its variance without ties.
    #[test]
    fn four_rises_are_significant_and_noise_is_not() {
        let rises = mann_kendall(&[1.0, 2.0, 3.0, 4.0]);
        assert!(rises.p < 0.05);
        assert_eq!((rises.s, rises.variance), (6, 4.0 * 3.0 * 13.0 / 18.0));
        assert!(mann_kendall(&[3.0, 1.0, 4.0, 1.0, 5.0]).p > 0.05);
        for still in [&[2.0; 9][..], &[1.0], &[]] {
            assert_eq!(mann_kendall(still), MannKendall { s: 0, variance: 0.0, p: 1.0 });
        }
    }

    #[test]
    fn an_outlier_does_not_move_the_slope() {
        let mut points: Vec<_> = (0..21).map(|step| (f64::from(step), 100.0 + 3.0 * f64::from(step))).collect();
        points[7].1 = 1e9;
        assert!((theil_sen(&points) - 3.0).abs() < 1e-9);
        assert_eq!((theil_sen(&[]), theil_sen(&[(1.0, 2.0)]), theil_sen(&[(1.0, 2.0), (1.0, 9.0)])), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_series_that_rises_and_stays_levels_off_and_one_that_goes_on_does_not() {
        let points = |y: &dyn Fn(i32) -> i32| (0..20).map(|x| (f64::from(x), f64::from(y(x)))).collect::<Vec<_>>();
        assert!(levels_off(&points(&|x| x.min(8)), 8.0));
        assert!(!levels_off(&points(&|x| x), 19.0));
        assert!(!levels_off(&points(&|_| 1)[..4], 1.0) && !levels_off(&[], 1.0));
    }

    #[test]
    fn ends_are_the_medians_of_a_fifth() {
        let figures = [9.0, 1.0, 2.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 30.0, 10.0, 20.0];
        assert_eq!(ends(&figures), Some((2.0, 20.0)));
        assert_eq!((ends(&[3.0, 4.0]), ends(&[3.0]), ends(&[])), (Some((3.0, 4.0)), Some((3.0, 3.0)), None));
        assert_eq!((extent(&figures), extent(&[4.0]), extent(&[])), (29.0, 0.0, f64::NEG_INFINITY));
    }

    /// S by definition for every order of `figures`.
    fn all_s(figures: &mut Vec<f64>, fixed: usize, all: &mut Vec<f64>) {
        if fixed == figures.len() {
            let pairs = (0..fixed).flat_map(|a| (a + 1..fixed).map(move |b| (a, b)));
            all.push(pairs.map(|(a, b)| (figures[b] - figures[a]).partial_cmp(&0.0).unwrap() as i64 as f64).sum());
        }
        for at in fixed..figures.len() {
            figures.swap(fixed, at);
            all_s(figures, fixed + 1, all);
            figures.swap(fixed, at);
        }
    }

    #[test]
    fn a_rise_throughout_goes_on_to_the_end_whatever_the_noise() {
        let figures = |of: &dyn Fn(f64) -> f64| {
            (0..40).map(|at| of(f64::from(at)) + 8.0 * f64::from(at * 7 % 5)).collect::<Vec<_>>()
        };
        assert!(rises_throughout(&figures(&|at| 10.0 * at), 6));
        assert!(!rises_throughout(&figures(&|_| 10.0), 6));
        assert!(!rises_throughout(&figures(&|at| 10.0 * at.min(15.0)), 6), "it levels off");
        assert!(!rises_throughout(&figures(&|at| 40.0 * (at % 10.0)), 6), "a saw-tooth");
        assert!(rises_throughout(&[1.0, 2.0, 3.0], 3) && !rises_throughout(&[1.0, 2.0, 3.0], 4));
        assert!(!rises_throughout(&[1.0], 1) && !rises_throughout(&[], 0));
    }

    proptest! {
        #[test]
        fn the_slope_of_a_line_is_found(from in 0.0f64..1e9, slope in -1e3f64..1e3, n in 2usize..60) {
            let points: Vec<_> = (0..n).map(|step| (step as f64, from + slope * step as f64)).collect();
            prop_assert!((theil_sen(&points) - slope).abs() < 1e-3);
        }

        #[test]
        fn the_slope_is_the_middle_of_all_and_turns_with_the_series(
            points in prop::collection::vec((0u8..20, -1000i32..1000), 0..30), turn in -8i32..8, scale in 1i32..8,
        ) {
            let of = |map: &dyn Fn((u8, i32)) -> i32| {
                points.iter().map(|(x, y)| (f64::from(*x), f64::from(map((*x, *y))))).collect::<Vec<(f64, f64)>>()
            };
            let same = of(&|(_, y)| y);
            let mut slopes = Vec::new();
            for a in &same {
                slopes.extend(same.iter().filter(|b| b.0 > a.0).map(|b| (b.1 - a.1) / (b.0 - a.0)));
            }
            slopes.sort_by(f64::total_cmp);
            let n = slopes.len();
            let naive = if n == 0 { 0.0 } else { f64::midpoint(slopes[(n - 1) / 2], slopes[n / 2]) };
            let found = theil_sen(&same);
            prop_assert_eq!(found, naive);
            let turned = theil_sen(&of(&|(x, y)| scale * y + turn * i32::from(x)));
            let expected = if n == 0 { 0.0 } else { f64::from(scale) * found + f64::from(turn) };
            prop_assert!((turned - expected).abs() < 1e-9);
            let back: Vec<_> = same.iter().rev().copied().collect();
            prop_assert_eq!(theil_sen(&back), found);
        }

        #[test]
        fn the_variance_of_s_is_that_of_all_orders(figures in prop::collection::vec(0u8..5, 1..7)) {
            let mut figures: Vec<f64> = figures.into_iter().map(f64::from).collect();
            let found = mann_kendall(&figures);
            let mut all = Vec::new();
            all_s(&mut figures, 0, &mut all);
            let naive = all.iter().map(|s| s * s).sum::<f64>() / all.len() as f64;
            prop_assert!((found.variance - naive).abs() < 1e-9);
            prop_assert_eq!(found.s as f64, all[0]);
        }

        #[test]
        fn kendall_changes_its_sign_with_the_order_and_sees_no_scale(figures in prop::collection::vec(0u8..20, 1..30)) {
            let figures: Vec<f64> = figures.into_iter().map(f64::from).collect();
            let found = mann_kendall(&figures);
            let back: Vec<f64> = figures.iter().rev().copied().collect();
            prop_assert_eq!(mann_kendall(&back).s, -found.s);
            prop_assert!((0.0..=1.0).contains(&found.p));
            prop_assert!(found.s <= 0 || found.p <= mann_kendall(&back).p);
            let bent: Vec<f64> = figures.iter().map(|x| x * x * x + 7.0).collect();
            prop_assert_eq!(mann_kendall(&bent), found);
        }

        #[test]
        fn ends_and_extent_are_within_the_figures(
            figures in prop::collection::vec(-1000i32..1000, 1..60), by in -1000i32..1000,
        ) {
            let of = |by: i32| figures.iter().map(|x| f64::from(x + by)).collect::<Vec<f64>>();
            let (start, end) = ends(&of(0)).unwrap();
            prop_assert!((start - end).abs() <= extent(&of(0)));
            prop_assert_eq!(ends(&of(by)), Some((start + f64::from(by), end + f64::from(by))));
            let back: Vec<f64> = of(0).into_iter().rev().collect();
            prop_assert_eq!(ends(&back), Some((end, start)));
            prop_assert_eq!(extent(&back), f64::from(figures.iter().max().unwrap() - figures.iter().min().unwrap()));
        }
    }
}
