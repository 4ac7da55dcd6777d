//! [`speedup`]: how many times faster one of two programs is, from times taken in pairs.

use plimsoll_statistics::{Interval, signed_rank};

use super::interval::Method;
use crate::record::{Speedup, SpeedupInterval};

/// The speedup of the first time of each pair over the second, which is the second divided by the first. `None` without
/// pairs, or if a time is not finite and positive.
///
/// Disturbances and gains multiply times rather than add to them, so the shift of the logarithms within pairs is
/// estimated, with Wilcoxon's signed-rank test as in [`judge_pairs`](super::judge_pairs). Swapping the two gives the
/// reciprocal.
pub fn speedup(times: &[[f64; 2]], confidence: f64) -> Option<Speedup> {
    let found = signed_rank::ratio(times, confidence)?;
    Some(Speedup {
        ratio: found.estimate,
        interval: found.interval.map(|Interval { low, high, confidence }| SpeedupInterval { low, high, confidence }),
        pairs: times.len() as u64,
        method: format!("{}, of logarithms", Method::of_pairs(&found)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_that_takes_half_the_time_is_twice_as_fast() {
        let times: Vec<[f64; 2]> = (1..=10).map(|n| [f64::from(n) * 100.0, f64::from(n) * 200.0]).collect();
        let found = speedup(&times, 0.99).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.ratio - 2.0).abs() < 1e-12 && interval.high - interval.low < 1e-12, "{found:?}");
        assert_eq!(found.pairs, 10);
        assert_eq!(found.method, "shift within pairs, exact Wilcoxon signed-rank interval, of logarithms");
    }

    #[test]
    fn few_pairs_have_no_interval_and_none_no_speedup() {
        assert_eq!(speedup(&[[1.0, 2.0]; 7], 0.99).unwrap().interval, None);
        assert!(speedup(&[[1.0, 2.0]; 8], 0.99).unwrap().interval.is_some());
        assert_eq!(speedup(&[], 0.99), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(speedup(&[[1.0, 2.0], [bad, 1.0]], 0.99), None);
        }
    }

    proptest! {
        #[test]
        fn swapped_it_is_the_reciprocal(times in prop::collection::vec([1.0f64..1e9, 1.0f64..1e9], 1..60)) {
            let swapped: Vec<[f64; 2]> = times.iter().map(|[one, other]| [*other, *one]).collect();
            let (one, other) = (speedup(&times, 0.99).unwrap(), speedup(&swapped, 0.99).unwrap());
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            prop_assert!(close(one.ratio, 1.0 / other.ratio));
            if let (Some(one_in), Some(other_in)) = (one.interval, other.interval) {
                prop_assert!(close(one_in.low, 1.0 / other_in.high) && close(one_in.high, 1.0 / other_in.low));
                prop_assert!(one_in.low <= one.ratio * (1.0 + 1e-12) && one.ratio <= one_in.high * (1.0 + 1e-12));
            }
        }
    }
}
