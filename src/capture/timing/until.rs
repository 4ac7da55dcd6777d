//! When a measurement of unknown length ends: once its mean is known well enough, or its time is over.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::relative_error::RelativeError;
use super::statistics::Statistics;

/// The most launches that are timed, whatever else is asked for: a record keeps every sample.
pub const MOST_LAUNCHES: u32 = 10_000;

/// What ended a measurement by [`Protocol::Until`](super::Protocol::Until).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The relative standard error of the mean was reached.
    RelativeError,
    /// The timed launches had taken the time that they may.
    Time,
    /// There were 10000 launches.
    Launches,
}

/// What a measurement goes on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// So many more launches, then to look again.
    Launches(u32),
    /// Nothing.
    Stop(Stop),
}

/// When to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// The launches that the error is taken of, at least.
    pub fewest: u32,
    /// The error to reach: the sample standard deviation over the mean and the square root of the number of launches.
    pub relative_error: RelativeError,
    /// The most time that the timed launches together may take, as far as whole launches allow.
    pub time: Duration,
}

impl Until {
    /// What comes after the launches of `durations_ns`.
    ///
    /// Launches are timed in rounds, as nothing is worked out between two of them: how many more the error needs is
    /// foretold from the deviation until now, the first round is one launch, and no round is longer than all before it
    /// or than the time that is left.
    pub fn next(self, durations_ns: &[f64]) -> Next {
        let Some(statistics) = Statistics::of(durations_ns) else { return Next::Launches(1) };
        let launches = durations_ns.len() as u32;
        let enough = launches >= self.fewest.min(MOST_LAUNCHES);
        if enough && statistics.relative_error().is_some_and(|error| error <= self.relative_error.get()) {
            return Next::Stop(Stop::RelativeError);
        }
        let left = self.time.as_nanos() as f64 - statistics.mean_ns * f64::from(launches);
        if left <= 0.0 {
            return Next::Stop(Stop::Time);
        }
        if launches >= MOST_LAUNCHES {
            return Next::Stop(Stop::Launches);
        }
        // Casts saturate; a mean of 0 leaves time for any number.
        let in_time = (left / statistics.mean_ns) as u32;
        let foretold = match statistics.std_ns {
            Some(std) if enough => (std / statistics.mean_ns / self.relative_error.get()).powi(2).ceil() as u32,
            _ => self.fewest,
        };
        let more = foretold.saturating_sub(launches).clamp(launches / 8, launches);
        Next::Launches(more.min(in_time).min(MOST_LAUNCHES - launches).max(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn until(fewest: u32, relative_error: f64, time: Duration) -> Until {
        Until { fewest, relative_error: RelativeError::new(relative_error).unwrap(), time }
    }

    /// All durations of a measurement, launch `n` (from 0) taking `takes(n)`, and what ended it.
    fn run(rule: Until, takes: impl Fn(usize) -> f64) -> (Vec<f64>, Stop) {
        let mut durations = Vec::new();
        loop {
            match rule.next(&durations) {
                Next::Launches(more) => durations.extend((durations.len()..).take(more as usize).map(&takes)),
                Next::Stop(stop) => return (durations, stop),
            }
        }
    }

    #[test]
    fn launches_that_do_not_vary_end_with_the_fewest() {
        let (durations, stop) = run(until(100, 0.005, Duration::from_secs(2)), |_| 1000.0);
        assert_eq!((durations.len(), stop), (100, Stop::RelativeError));
    }

    #[test]
    fn as_many_are_taken_as_the_error_needs() {
        // Half take 900 and half 1100 ns: a deviation of a tenth, which 1 % needs 100 of, and 0.5 % four times as many.
        let takes = |n| if n % 2 == 0 { 900.0 } else { 1100.0 };
        for (error, needed) in [(0.01, 100), (0.005, 400)] {
            let (durations, stop) = run(until(10, error, Duration::from_secs(2)), takes);
            assert_eq!(stop, Stop::RelativeError);
            assert!((needed..needed * 5 / 4).contains(&durations.len()), "{} for {error}", durations.len());
        }
    }

    #[test]
    fn time_and_the_number_of_launches_end_what_varies_too_much() {
        let takes = |n| if n % 2 == 0 { 1e6 } else { 9e6 };
        let (durations, stop) = run(until(10, 1e-6, Duration::from_millis(100)), takes);
        assert_eq!(stop, Stop::Time);
        assert!((20..=22).contains(&durations.len()), "{}", durations.len());
        let (durations, stop) = run(until(100, 0.005, Duration::from_secs(2)), |_| 10e9);
        assert_eq!((durations.len(), stop), (1, Stop::Time), "a launch that takes all the time is the only one");
        let (durations, stop) = run(until(10, 1e-6, Duration::from_secs(2)), |n| (n % 2) as f64);
        assert_eq!((durations.len() as u32, stop), (MOST_LAUNCHES, Stop::Launches));
    }

    proptest! {
        #[test]
        fn every_measurement_ends_as_it_says(
            fewest in 1u32..300,
            error in 1e-4f64..0.5,
            micros in 0u64..100_000,
            pattern in prop::collection::vec(0.0f64..1e6, 1..20),
        ) {
            let rule = until(fewest, error, Duration::from_micros(micros));
            let (durations, stop) = run(rule, |n| pattern[n % pattern.len()]);
            let statistics = Statistics::of(&durations).unwrap();
            let time: f64 = durations.iter().sum();
            let longest = pattern.iter().copied().fold(0.0, f64::max);
            match stop {
                Stop::RelativeError => {
                    prop_assert!(statistics.relative_error().unwrap() <= error && durations.len() >= fewest as usize);
                }
                Stop::Time => prop_assert!(time >= micros as f64 * 1e3 * (1.0 - 1e-9)),
                Stop::Launches => prop_assert_eq!(durations.len() as u32, MOST_LAUNCHES),
            }
            prop_assert!(durations.len() as u32 <= MOST_LAUNCHES);
            // A round is planned by the mean so far, and never has more launches than all before it.
            prop_assert!(time <= micros as f64 * 1e3 + longest * (durations.len() as f64 / 2.0 + 1.0));
        }
    }
}
