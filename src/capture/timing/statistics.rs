//! Statistics of durations and of means over entries.

use std::time::Duration;

use plimsoll_statistics::{Summary, relative_error};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Summary of a set of durations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// The number of durations.
    pub count: u64,
    /// The middle duration, or the mean of the two in the middle.
    pub median_ns: f64,
    /// The arithmetic mean.
    pub mean_ns: f64,
    /// The sample standard deviation (divisor n - 1); absent for a single duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_ns: Option<f64>,
    /// The smallest duration.
    pub min_ns: f64,
    /// The largest duration.
    pub max_ns: f64,
    /// The 95th percentile, interpolated linearly between the two nearest ranks.
    pub p95_ns: f64,
}

impl Statistics {
    /// The summary of `durations_ns`, in any order; `None` if there are none or one of them is not finite.
    ///
    /// This function serves both the launches of one entry and, as in KernelForge, the means of all entries.
    pub fn of(durations_ns: &[f64]) -> Option<Self> {
        let Summary { count, median, mean, deviation, min, max, p95 } = Summary::of(durations_ns)?;
        Some(Self {
            count: count as u64,
            median_ns: median,
            mean_ns: mean,
            std_ns: deviation,
            min_ns: min,
            max_ns: max,
            p95_ns: p95,
        })
    }

    /// The relative standard error of the mean: the standard deviation over the mean and the square root of the count.
    /// `None` for a single duration; 0 if none took any time.
    pub fn relative_error(&self) -> Option<f64> {
        Some(relative_error(self.mean_ns, self.std_ns?, self.count))
    }

    /// The median as a [`Duration`].
    pub fn median(&self) -> Duration {
        Duration::from_secs_f64(self.median_ns / 1e9)
    }
}

#[cfg(test)]
mod tests {
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
}
