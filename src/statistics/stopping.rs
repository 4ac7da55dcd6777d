//! When to end a measurement of unknown length: once its mean is precise enough, or its time is up.

use super::summary::Summary;

/// When to stop measuring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The minimum number of samples for judging the error.
    pub fewest: u32,
    /// The maximum number of samples, whatever the error.
    pub most: u32,
    /// The relative standard error of the mean to reach; see [`relative_error`](crate::relative_error).
    pub relative_error: f64,
    /// The maximum sum of all samples, in their unit, as far as whole samples allow.
    pub time: f64,
}

/// How a measurement continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Take this many more samples, then ask again. Never 0.
    Samples(u32),
    /// Stop.
    Stop(Reason),
}

/// Why a measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The mean has reached the relative standard error.
    RelativeError,
    /// The samples add up to the time limit.
    Time,
    /// The maximum number of samples has been taken.
    Most,
}

impl Rule {
    /// Decides what follows `samples`, which are durations in any unit. Empty input asks for one sample, unless none
    /// are allowed.
    ///
    /// Samples come in rounds, because nothing is computed between two samples of a round. The number still needed is
    /// predicted from the deviation so far (the square of deviation over mean and error). The first round is one
    /// sample, and no round is longer than all before it or than the time left.
    pub fn next(self, samples: &[f64]) -> Next {
        let taken = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        let Some(summary) = Summary::of(samples) else {
            // Samples that are not finite reveal nothing, but still count.
            return if taken >= self.most { Next::Stop(Reason::Most) } else { Next::Samples(1) };
        };
        let enough = taken >= self.fewest.min(self.most);
        if enough && summary.relative_error().is_some_and(|error| error <= self.relative_error) {
            return Next::Stop(Reason::RelativeError);
        }
        let left = self.time - summary.mean * f64::from(taken);
        if left <= 0.0 {
            return Next::Stop(Reason::Time);
        }
        if taken >= self.most {
            return Next::Stop(Reason::Most);
        }
        // The cast saturates: with a mean of 0 there is time for any number.
        let in_time = (left / summary.mean) as u32;
        let predicted = match summary.deviation {
            Some(deviation) if enough => (deviation / summary.mean / self.relative_error).powi(2).ceil() as u32,
            _ => self.fewest,
        };
        let more = predicted.saturating_sub(taken).clamp(taken / 8, taken);
        Next::Samples(more.min(in_time).min(self.most - taken).max(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST_SAMPLES: u32 = 10_000;

    fn rule(fewest: u32, relative_error: f64, time: f64) -> Rule {
        Rule { fewest, most: MOST_SAMPLES, relative_error, time }
    }

    /// Runs a measurement whose sample number `n` (from 0) is `takes(n)`, and returns the samples and the reason for
    /// stopping.
    fn run(rule: Rule, takes: impl Fn(usize) -> f64) -> (Vec<f64>, Reason) {
        let mut samples = Vec::new();
        loop {
            match rule.next(&samples) {
                Next::Samples(more) => samples.extend((samples.len()..).take(more as usize).map(&takes)),
                Next::Stop(reason) => return (samples, reason),
            }
        }
    }

    #[test]
    fn samples_that_do_not_vary_end_with_the_fewest() {
        let (samples, reason) = run(rule(100, 0.005, 2e9), |_| 1000.0);
        assert_eq!((samples.len(), reason), (100, Reason::RelativeError));
    }

    #[test]
    fn as_many_are_taken_as_the_error_needs() {
        // Half take 900 and half 1100 ns: a deviation of a tenth, for which 1 % needs 100 samples and 0.5 % four times
        // as many.
        let takes = |n| if n % 2 == 0 { 900.0 } else { 1100.0 };
        for (error, needed) in [(0.01, 100), (0.005, 400)] {
            let (samples, reason) = run(rule(10, error, 2e9), takes);
            assert_eq!(reason, Reason::RelativeError);
            assert!((needed..needed * 5 / 4).contains(&samples.len()), "{} for {error}", samples.len());
        }
    }

    #[test]
    fn time_and_the_number_of_samples_end_what_varies_too_much() {
        let takes = |n| if n % 2 == 0 { 1e6 } else { 9e6 };
        let (samples, reason) = run(rule(10, 1e-6, 100e6), takes);
        assert_eq!(reason, Reason::Time);
        assert!((20..=22).contains(&samples.len()), "{}", samples.len());
        let (samples, reason) = run(rule(100, 0.005, 2e9), |_| 10e9);
        assert_eq!((samples.len(), reason), (1, Reason::Time), "a sample that takes all the time is the only one");
        let (samples, reason) = run(rule(10, 1e-6, 2e9), |n| (n % 2) as f64);
        assert_eq!((samples.len() as u32, reason), (MOST_SAMPLES, Reason::Most));
    }

    #[test]
    fn samples_that_are_not_finite_end_with_the_most_and_none_may_be_taken_of_none() {
        let (samples, reason) = run(rule(10, 0.005, 2e9), |_| f64::NAN);
        assert_eq!((samples.len() as u32, reason), (MOST_SAMPLES, Reason::Most));
        assert_eq!(Rule { most: 0, ..rule(10, 0.005, 2e9) }.next(&[]), Next::Stop(Reason::Most));
        assert_eq!(rule(10, 0.005, 2e9).next(&[]), Next::Samples(1));
    }

    proptest! {
        #[test]
        fn every_measurement_ends_as_it_says(
            fewest in 1u32..300,
            error in 1e-4f64..0.5,
            micros in 0u64..100_000,
            pattern in prop::collection::vec(0.0f64..1e6, 1..20),
        ) {
            let (samples, reason) = run(rule(fewest, error, micros as f64 * 1e3), |n| pattern[n % pattern.len()]);
            let summary = Summary::of(&samples).unwrap();
            let time: f64 = samples.iter().sum();
            let longest = pattern.iter().copied().fold(0.0, f64::max);
            match reason {
                Reason::RelativeError => {
                    prop_assert!(summary.relative_error().unwrap() <= error && samples.len() >= fewest as usize);
                }
                Reason::Time => prop_assert!(time >= micros as f64 * 1e3 * (1.0 - 1e-9)),
                Reason::Most => prop_assert_eq!(samples.len() as u32, MOST_SAMPLES),
            }
            prop_assert!(samples.len() as u32 <= MOST_SAMPLES);
            // A round is planned with the mean so far, and never has more samples than all before it.
            prop_assert!(time <= micros as f64 * 1e3 + longest * (samples.len() as f64 / 2.0 + 1.0));
        }

        #[test]
        fn any_rule_and_samples_have_a_next(
            fewest: u32, most: u32, relative_error: f64, time: f64,
            samples in prop::collection::vec(any::<f64>(), 0..20),
        ) {
            let next = Rule { fewest, most, relative_error, time }.next(&samples);
            prop_assert!(next != Next::Samples(0));
        }
    }
}
