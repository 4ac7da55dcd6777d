//! The median and other quantiles.

/// The median of `figures`, in any order; for an even number, the mean of the middle two. `None` for empty input.
///
/// Figures are ordered by [`f64::total_cmp`]. The time is proportional to their number.
pub fn median(mut figures: Vec<f64>) -> Option<f64> {
    if figures.is_empty() {
        return None;
    }
    let (half, odd) = (figures.len() / 2, figures.len() % 2 == 1);
    // A long series has many slopes: selection takes a fraction of the time of sorting.
    let (below, middle, _) = figures.select_nth_unstable_by(half, f64::total_cmp);
    let middle = *middle;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| !odd).map_or(middle, |lower| f64::midpoint(lower, middle)))
}

/// The median of the distances of `figures` from their median (MAD), not scaled to a standard deviation. `None` for
/// empty input.
pub fn median_absolute_deviation(figures: &[f64]) -> Option<f64> {
    let middle = median(figures.to_vec())?;
    median(figures.iter().map(|figure| (figure - middle).abs()).collect())
}

/// The `q`-quantile of `sorted`, interpolated linearly between the two nearest ranks: type 7 of Hyndman and Fan (1996),
/// the default of `numpy.quantile`. `None` for empty input and if `q` is not between 0 and 1.
///
/// `sorted` must be in ascending order; otherwise the result is meaningless.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let rank = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    Some(below + (above - below) * rank.fract())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_an_odd_number_it_is_the_one_in_the_middle_and_of_an_even_the_mean_of_two() {
        assert_eq!(median(vec![9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(vec![f64::MAX, f64::MAX]), Some(f64::MAX), "it does not overflow");
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn nothing_has_no_quantile_and_no_deviation() {
        assert_eq!((quantile(&[], 0.5), median_absolute_deviation(&[])), (None, None));
        assert!([-0.1, 1.1, f64::NAN].iter().all(|q| quantile(&[1.0], *q).is_none()));
        assert_eq!((quantile(&[7.0], 0.95), median_absolute_deviation(&[7.0])), (Some(7.0), Some(0.0)));
    }

    proptest! {
        #[test]
        fn the_median_is_in_the_middle_of_the_sorted(figures in prop::collection::vec(any::<f64>(), 1..40)) {
            let mut sorted = figures.clone();
            sorted.sort_by(f64::total_cmp);
            let naive = match figures.len() % 2 {
                1 => sorted[figures.len() / 2],
                _ => f64::midpoint(sorted[figures.len() / 2 - 1], sorted[figures.len() / 2]),
            };
            prop_assert_eq!(median(figures).unwrap().to_bits(), naive.to_bits());
        }

        #[test]
        fn quantiles_go_from_the_least_to_the_most_through_the_median(
            mut figures in prop::collection::vec(-1e9f64..1e9, 1..40), q in 0.0f64..=1.0, more in 0.0f64..=1.0,
        ) {
            figures.sort_by(f64::total_cmp);
            let at = |q| quantile(&figures, q).unwrap();
            prop_assert_eq!((at(0.0), at(1.0)), (figures[0], figures[figures.len() - 1]));
            prop_assert!((at(0.5) - median(figures.clone()).unwrap()).abs() <= 1e-6);
            prop_assert!(at(q) <= at(q + (1.0 - q) * more) + 1e-6);
        }

        #[test]
        fn the_deviation_does_not_move_with_the_figures_and_grows_with_their_scale(
            figures in prop::collection::vec(-1000i32..1000, 1..40), by in -1000i32..1000,
        ) {
            let of = |map: &dyn Fn(i32) -> i32| {
                median_absolute_deviation(&figures.iter().map(|x| f64::from(map(*x))).collect::<Vec<_>>()).unwrap()
            };
            let found = of(&|x| x);
            prop_assert_eq!(of(&|x| x + by), found);
            prop_assert_eq!(of(&|x| -4 * x), 4.0 * found);
        }
    }
}
