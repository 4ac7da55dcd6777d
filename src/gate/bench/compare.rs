//! Comparisons of figures that are not samples: exact counts, and ranges of samples.

use plimsoll_statistics::mann_whitney;

use crate::gate::judge::conclude;
use crate::gate::{Allowance, Comparison, Direction, Interval, Method, Summary, Unit};

/// Compares two exact counts. An interval would say nothing: any growth beyond the allowance is a regression.
pub(super) fn counted(
    [before, now]: [f64; 2],
    unit: Unit,
    direction: Direction,
    allowance: Allowance,
    confidence: f64,
) -> Comparison {
    let shift = now - before;
    let exact = Interval { low: shift, high: shift, confidence: 1.0 };
    let summaries = (Summary::of(&[before]), Summary::of(&[now]));
    let found = (shift, Some(exact), Method::Counted);
    Comparison { interval: None, ..conclude(before, summaries, found, (unit, direction), allowance, confidence) }
}

/// Compares times of which only the medians and ranges are known; `None` if either side has too few samples for an
/// interval of this confidence.
///
/// Each difference between a sample of one side and one of the other lies between `now.min - before.max` and
/// `now.max - before.min`. The ends of the Mann-Whitney interval are such differences, so that it lies within these
/// bounds, whatever the samples in between are.
pub(super) fn ranges(before: Summary, now: Summary, allowance: Allowance, confidence: f64) -> Option<Comparison> {
    if before.count.min(now.count) < mann_whitney::fewest(confidence) as u64 {
        return None;
    }
    let widest = Interval { low: now.min - before.max, high: now.max - before.min, confidence };
    let found = (now.median - before.median, Some(widest), Method::Ranges);
    let of = (Unit::Nanoseconds, Direction::Lower);
    Some(conclude(before.median, (Some(before), Some(now)), found, of, allowance, confidence))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::{DEFAULT_CONFIDENCE, Outcome, judge};

    fn count(before: f64, now: f64, allowance: &str) -> Comparison {
        counted([before, now], Unit::Count, Direction::Lower, allowance.parse().unwrap(), DEFAULT_CONFIDENCE)
    }

    #[test]
    fn one_count_a_side_decides() {
        for (before, now, allowance, outcome, says) in [
            (100.0, 100.0, "0%", Outcome::Pass, "unchanged: the figures do not differ"),
            (100.0, 101.0, "0%", Outcome::Fail, "grew by 1.0 %, more than 0%"),
            (100.0, 101.0, "5%", Outcome::Pass, "grew by 1.0 %, within 5%"),
            (100.0, 90.0, "5%", Outcome::Improved, "fell by 10.0 %, more than 5%"),
            (0.0, 1.0, "5%", Outcome::Fail, "grew by 1.000e0, more than 5%"),
        ] {
            let comparison = count(before, now, allowance);
            assert_eq!((comparison.outcome, &*comparison.message, comparison.interval), (outcome, says, None));
        }
        assert_eq!(count(1.0, 2.0, "1 MiB").outcome, Outcome::Inconclusive);
    }

    #[test]
    fn ranges_decide_once_they_do_not_overlap() {
        let side = |min, median, max| Summary { count: 20, median, min, max };
        let one = |now| ranges(side(100.0, 110.0, 120.0), now, "5%".parse().unwrap(), DEFAULT_CONFIDENCE).unwrap();
        assert_eq!(one(side(130.0, 140.0, 150.0)).outcome, Outcome::Fail);
        assert_eq!(one(side(115.0, 140.0, 150.0)).outcome, Outcome::Inconclusive);
        assert!(one(side(115.0, 140.0, 150.0)).message.ends_with("; 5 runs a side would narrow it"));
        assert_eq!(one(side(50.0, 60.0, 70.0)).outcome, Outcome::Improved);
        let few = Summary { count: 4, ..side(130.0, 140.0, 150.0) };
        assert_eq!(ranges(few, few, "5%".parse().unwrap(), DEFAULT_CONFIDENCE), None);
    }

    proptest! {
        #[test]
        fn ranges_contain_the_interval_of_the_samples(
            before in prop::collection::vec(1.0f64..1e6, 5..30), now in prop::collection::vec(1.0f64..1e6, 5..30),
        ) {
            let allowance = "5%".parse().unwrap();
            let known = judge(&before, &now, Unit::Nanoseconds, Direction::Lower, allowance, DEFAULT_CONFIDENCE);
            let [before, now] = [before, now].map(|samples| Summary::of(&samples).unwrap());
            let widest = ranges(before, now, allowance, DEFAULT_CONFIDENCE).unwrap().interval.unwrap();
            // Figures that depend on each other may leave too few for an interval.
            if let Some(interval) = known.interval {
                prop_assert!(widest.low <= interval.low && interval.high <= widest.high);
            }
        }
    }
}
