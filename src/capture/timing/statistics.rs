//! Statistics of durations and of means over entries.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a set of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// How many durations.
    pub count: u64,
    /// The middle one, or the mean of the two in the middle.
    pub median_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The sample standard deviation (divisor n - 1); absent for a single duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_ns: Option<f64>,
    /// The smallest.
    pub min_ns: f64,
    /// The largest.
    pub max_ns: f64,
    /// The 95th percentile, interpolated linearly between the two nearest ranks.
    pub p95_ns: f64,
}

impl Statistics {
    /// The summary of `durations_ns`, in any order; `None` where there are none or one of them is not finite.
    ///
    /// The same function serves the launches of one entry and, as KernelForge does, the means of all entries.
    pub fn of(durations_ns: &[f64]) -> Option<Self> {
        if durations_ns.is_empty() || durations_ns.iter().any(|d| !d.is_finite()) {
            return None;
        }
        let mut sorted = durations_ns.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len();
        // Summed from the smallest up, so that the order in which launches came does not reach the last digit.
        let mean_ns = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|d| (d - mean_ns) * (d - mean_ns)).sum();
        Some(Self {
            count: count as u64,
            median_ns: quantile(&sorted, 0.5),
            mean_ns,
            std_ns: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            min_ns: sorted[0],
            max_ns: sorted[count - 1],
            p95_ns: quantile(&sorted, 0.95),
        })
    }

    /// The relative standard error of the mean: the standard deviation over the mean and the square root of the count.
    /// `None` of a single duration; 0 where none took any time.
    pub fn relative_error(&self) -> Option<f64> {
        let std = self.std_ns?;
        Some(if std == 0.0 { 0.0 } else { std / self.mean_ns / (self.count as f64).sqrt() })
    }

    /// The median as a [`Duration`].
    pub fn median(&self) -> Duration {
        Duration::from_secs_f64(self.median_ns / 1e9)
    }
}

/// The `q`-quantile of `sorted`, interpolated linearly between the two nearest ranks (the default of `numpy.quantile`).
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = q * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    below + (above - below) * rank.fract()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_known_set() {
        // numpy: median 3.0, mean 22.0, std(ddof=1) 43.6176569751, percentile(95) 80.8.
        let s = Statistics::of(&[4.0, 1.0, 100.0, 2.0, 3.0]).unwrap();
        assert_eq!((s.count, s.median_ns, s.mean_ns, s.min_ns, s.max_ns), (5, 3.0, 22.0, 1.0, 100.0));
        assert!((s.std_ns.unwrap() - 43.617_656_975_1).abs() < 1e-9 && (s.p95_ns - 80.8).abs() < 1e-9, "{s:?}");
        assert_eq!(s.median(), Duration::from_nanos(3));
        // scipy.stats.sem / mean.
        assert!((s.relative_error().unwrap() - 0.886_655).abs() < 1e-6, "{:?}", s.relative_error());
    }

    #[test]
    fn of_one_has_no_deviation_and_of_none_is_nothing() {
        let s = Statistics::of(&[7.5]).unwrap();
        assert_eq!((s.median_ns, s.p95_ns, s.std_ns, s.relative_error()), (7.5, 7.5, None, None));
        assert_eq!(Statistics::of(&[0.0, 0.0]).unwrap().relative_error(), Some(0.0));
        assert_eq!(Statistics::of(&[]), None);
        assert_eq!(Statistics::of(&[1.0, f64::NAN]), None);
        assert_eq!(Statistics::of(&[1.0, f64::INFINITY]), None);
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    proptest! {
        #[test]
        fn agrees_with_the_definitions(durations in prop::collection::vec(0.0f64..1e12, 1..200)) {
            let s = Statistics::of(&durations).unwrap();
            let n = durations.len();
            let below = |x: f64| durations.iter().filter(|&&d| d < x).count();
            let above = |x: f64| durations.iter().filter(|&&d| d > x).count();
            prop_assert!(2 * below(s.median_ns) <= n && 2 * above(s.median_ns) <= n);
            let mean = durations.iter().map(|d| d / n as f64).sum::<f64>();
            prop_assert!(close(s.mean_ns, mean));
            if n == 1 {
                prop_assert_eq!(s.std_ns, None);
            } else {
                // The variance as the mean squared difference of all pairs, without a mean in it.
                let pairs: f64 = durations.iter().flat_map(|a| durations.iter().map(move |b| (a - b).powi(2))).sum();
                prop_assert!(close(s.std_ns.unwrap(), (pairs / (2 * n * (n - 1)) as f64).sqrt()));
            }
            prop_assert!(durations.iter().all(|&d| s.min_ns <= d && d <= s.max_ns));
            prop_assert!(durations.contains(&s.min_ns) && durations.contains(&s.max_ns));
            // At most 5 % lie above p95 and at most 95 % below it, but for the one rank that is interpolated.
            prop_assert!(above(s.p95_ns) as f64 <= 0.05 * (n - 1) as f64 + 1.0);
            prop_assert!(below(s.p95_ns) as f64 <= 0.95 * (n - 1) as f64 + 1.0);
        }

        #[test]
        fn order_does_not_matter((a, b) in prop::collection::vec(0.0f64..1e9, 1..50)
            .prop_flat_map(|v| (Just(v.clone()), Just(v).prop_shuffle())))
        {
            prop_assert_eq!(Statistics::of(&a), Statistics::of(&b));
        }

        #[test]
        fn any_values_are_summarised_or_refused(values in prop::collection::vec(any::<f64>(), 0..20)) {
            prop_assert_eq!(Statistics::of(&values).is_some(), !values.is_empty() && values.iter().all(|v| v.is_finite()));
        }
    }
}
