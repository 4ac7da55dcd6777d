//! [`Summary`]: summary statistics of a sample.

use super::median::quantile;

/// Summary statistics of a sample; all but the count have the sample's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of figures.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (divisor n - 1); `None` for a single figure.
    pub deviation: Option<f64>,
    /// The smallest figure.
    pub min: f64,
    /// The largest figure.
    pub max: f64,
    /// The 95th percentile, by [`quantile`].
    pub p95: f64,
}

impl Summary {
    /// Summarizes `figures` in any order; `None` for empty input, or if a figure is not finite.
    ///
    /// The result does not depend on the order of the figures, to the last digit.
    pub fn of(figures: &[f64]) -> Option<Self> {
        if figures.is_empty() || figures.iter().any(|figure| !figure.is_finite()) {
            return None;
        }
        let mut sorted = figures.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        // Summed in ascending order, so that the input order does not affect the last digit.
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|figure| (figure - mean) * (figure - mean)).sum();
        Some(Self {
            count,
            median: quantile(&sorted, 0.5)?,
            mean,
            deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min: sorted[0],
            max: sorted[count - 1],
            p95: quantile(&sorted, 0.95)?,
        })
    }

    /// The [`relative_error`] of the mean; `None` for a single figure.
    pub fn relative_error(&self) -> Option<f64> {
        Some(relative_error(self.mean, self.deviation?, self.count as u64))
    }
}

/// The relative standard error of a mean: the sample standard deviation divided by the mean and by the square root of
/// the count. A share of the mean, without a unit; 0 if the deviation is 0, whatever the mean.
pub fn relative_error(mean: f64, deviation: f64, count: u64) -> f64 {
    if deviation == 0.0 { 0.0 } else { deviation / mean / (count as f64).sqrt() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_known_sample() {
        // numpy: median 3.0, mean 22.0, std(ddof=1) 43.6176569751, percentile(95) 80.8.
        let s = Summary::of(&[4.0, 1.0, 100.0, 2.0, 3.0]).unwrap();
        assert_eq!((s.count, s.median, s.mean, s.min, s.max), (5, 3.0, 22.0, 1.0, 100.0));
        assert!((s.deviation.unwrap() - 43.617_656_975_1).abs() < 1e-9 && (s.p95 - 80.8).abs() < 1e-9, "{s:?}");
        // scipy.stats.sem / mean.
        assert!((s.relative_error().unwrap() - 0.886_655).abs() < 1e-6, "{:?}", s.relative_error());
    }

    #[test]
    fn of_one_has_no_deviation_and_of_none_is_nothing() {
        let s = Summary::of(&[7.5]).unwrap();
        assert_eq!((s.median, s.p95, s.deviation, s.relative_error()), (7.5, 7.5, None, None));
        assert_eq!(Summary::of(&[0.0, 0.0]).unwrap().relative_error(), Some(0.0));
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), None);
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    proptest! {
        #[test]
        fn agrees_with_the_definitions(figures in prop::collection::vec(0.0f64..1e12, 1..200)) {
            let s = Summary::of(&figures).unwrap();
            let n = figures.len();
            let below = |x: f64| figures.iter().filter(|&&d| d < x).count();
            let above = |x: f64| figures.iter().filter(|&&d| d > x).count();
            prop_assert!(2 * below(s.median) <= n && 2 * above(s.median) <= n);
            let mean = figures.iter().map(|d| d / n as f64).sum::<f64>();
            prop_assert!(close(s.mean, mean));
            if n == 1 {
                prop_assert_eq!(s.deviation, None);
            } else {
                // The variance as the mean squared difference of all pairs, which needs no mean.
                let pairs: f64 = figures.iter().flat_map(|a| figures.iter().map(move |b| (a - b).powi(2))).sum();
                prop_assert!(close(s.deviation.unwrap(), (pairs / (2 * n * (n - 1)) as f64).sqrt()));
            }
            prop_assert!(figures.iter().all(|&d| s.min <= d && d <= s.max));
            prop_assert!(figures.contains(&s.min) && figures.contains(&s.max));
            // At most 5 % lie above p95 and at most 95 % below it, apart from the one interpolated rank.
            prop_assert!(above(s.p95) as f64 <= 0.05 * (n - 1) as f64 + 1.0);
            prop_assert!(below(s.p95) as f64 <= 0.95 * (n - 1) as f64 + 1.0);
        }

        #[test]
        fn order_does_not_matter((a, b) in prop::collection::vec(0.0f64..1e9, 1..50)
            .prop_flat_map(|v| (Just(v.clone()), Just(v).prop_shuffle())))
        {
            prop_assert_eq!(Summary::of(&a), Summary::of(&b));
        }

        #[test]
        fn the_relative_error_has_no_unit(figures in prop::collection::vec(1.0f64..1e9, 2..50), unit in 1e-6f64..1e6) {
            let scaled: Vec<f64> = figures.iter().map(|figure| figure * unit).collect();
            let of = |figures: &[f64]| Summary::of(figures).unwrap().relative_error().unwrap();
            prop_assert!((of(&figures) - of(&scaled)).abs() < 1e-9);
        }

        #[test]
        fn any_values_are_summarised_or_refused(values in prop::collection::vec(any::<f64>(), 0..20)) {
            prop_assert_eq!(Summary::of(&values).is_some(), !values.is_empty() && values.iter().all(|v| v.is_finite()));
        }
    }
}
