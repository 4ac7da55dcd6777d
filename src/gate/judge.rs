//! [`judge`]: judges repeated figures against a baseline.

use plimsoll_statistics::{mann_whitney, signed_rank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::interval::{Found, Interval, Method, shift, shift_of_pairs};
use super::outcome::Outcome;
use super::summary::Summary;
use crate::record::{Direction, Unit};
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::ceiling::Allowance;

/// The default confidence of a verdict. When nothing changed, at most one comparison in two hundred finds growth, even
/// before the allowance is considered.
pub const DEFAULT_CONFIDENCE: f64 = 0.99;

/// The judgement of figures against those of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The outcome.
    pub outcome: Outcome,
    /// The unit of the figures.
    pub unit: Unit,
    /// The baseline's figures; absent if unusable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Summary>,
    /// The judged figures; absent if unusable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Summary>,
    /// The shift in the figures' unit: positive for growth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// The shift in percent of the baseline's median; absent if that is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The interval that contains the true shift; absent if there are too few figures, and for exact counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// The method by which shift and interval were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// The growth that is allowed.
    pub allowance: Allowance,
    /// The allowance in the figures' unit; absent if no part of it applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The judgement on one line.
    pub message: String,
}

/// Judges `current` against `baseline`, both in the order in which they were taken.
///
/// `confidence` is the confidence level of the interval, between 0.5 and 1. Use [`DEFAULT_CONFIDENCE`] unless you have
/// a reason not to.
///
/// ```
/// use plimsoll::gate::{DEFAULT_CONFIDENCE, Direction, Outcome, Unit, judge};
/// let before = [100e6, 101e6, 100e6, 102e6, 100e6, 101e6];
/// let after = before.map(|bytes| bytes * 1.1);
/// let comparison = judge(&before, &after, Unit::Bytes, Direction::Lower, "5% | 1 MiB".parse()?, DEFAULT_CONFIDENCE);
/// assert_eq!(comparison.outcome, Outcome::Fail);
/// # Ok::<(), plimsoll::gate::AllowanceError>(())
/// ```
pub fn judge(
    baseline: &[f64],
    current: &[f64],
    unit: Unit,
    direction: Direction,
    allowance: Allowance,
    confidence: f64,
) -> Comparison {
    judge_by(shift, baseline, current, (unit, direction), allowance, confidence)
}

/// Judges `current` against `baseline` like [`judge`], for runs taken in pairs: the first of one with the first of the
/// other, and so on, equally many of each. The differences within pairs are judged, so drift of the machine cancels
/// out.
pub fn judge_pairs(
    baseline: &[f64],
    current: &[f64],
    unit: Unit,
    direction: Direction,
    allowance: Allowance,
    confidence: f64,
) -> Comparison {
    judge_by(shift_of_pairs, baseline, current, (unit, direction), allowance, confidence)
}

/// The minimum number of pairs from which [`judge_pairs`] can conclude anything at this confidence.
pub fn fewest_pairs(confidence: f64) -> usize {
    signed_rank::fewest(confidence)
}

/// Computes a shift from a baseline, current figures and a confidence.
type Shift = fn(&[f64], &[f64], f64) -> Option<Found>;

fn judge_by(
    shift: Shift,
    baseline: &[f64],
    current: &[f64],
    (unit, direction): (Unit, Direction),
    allowance: Allowance,
    confidence: f64,
) -> Comparison {
    let summaries = (Summary::of(baseline), Summary::of(current));
    let found = shift(baseline, current, confidence.clamp(0.5, 1.0 - f64::EPSILON));
    let (Some(before), Some(_), Some(found)) = (summaries.0, summaries.1, found) else {
        let message = match summaries {
            (None, _) => unusable("the baseline's figures", baseline),
            _ => unusable("the figures", current),
        };
        return Comparison {
            outcome: Outcome::Inconclusive,
            unit,
            baseline: summaries.0,
            current: summaries.1,
            shift: None,
            percent: None,
            interval: None,
            method: None,
            allowance,
            margin: None,
            message,
        };
    };
    conclude(before.median, summaries, found, (unit, direction), allowance, confidence)
}

fn unusable(what: &str, figures: &[f64]) -> String {
    match figures.iter().position(|figure| !(figure.is_finite() && *figure >= 0.0)) {
        Some(at) => format!("{what} cannot be used: number {} is {}, which is not a valid figure", at + 1, figures[at]),
        None => format!("{what} are missing"),
    }
}

/// Turns a shift and its interval into a comparison; `before` is the median of the baseline.
pub(super) fn conclude(
    before: f64,
    (baseline, current): (Option<Summary>, Option<Summary>),
    (shift, interval, method): Found,
    (unit, direction): (Unit, Direction),
    allowance: Allowance,
    confidence: f64,
) -> Comparison {
    let percent = (before > 0.0).then(|| shift / before * 100.0).filter(|percent| percent.is_finite());
    let margin = allowance.margin(before, unit);
    let say = |amount: f64| amount_text(amount, before, unit);
    let (outcome, message) = match (interval, margin) {
        (_, None) => {
            let what = match unit {
                Unit::Bytes => "bytes",
                Unit::Nanoseconds => "times",
                Unit::Count => "figures that are neither bytes nor times",
            };
            (
                Outcome::Inconclusive,
                format!("the allowance {allowance} does not apply to {what}: add a share such as `5%`"),
            )
        }
        (None, Some(_)) => {
            let [of_baseline, of_current] = [baseline, current].map(|side| side.map_or(0, |side| side.count));
            let needed = match method {
                Method::SignedRank { .. } => signed_rank::fewest(confidence),
                _ => mann_whitney::fewest(confidence),
            };
            let message = format!(
                "{} by the middle of {} and {} figures, too few for a {}: repeat each at least {needed} times",
                moved(shift, &say),
                of_baseline,
                of_current,
                confidence_text(confidence)
            );
            (Outcome::Inconclusive, message)
        }
        (Some(interval), Some(margin)) => {
            let range = format!("{} to {}", say(interval.low), say(interval.high));
            // If more is better, a fall is the regression.
            let (worse, least, most) = match direction {
                Direction::Lower => (shift, interval.low, interval.high),
                Direction::Higher => (-shift, -interval.high, -interval.low),
            };
            let (outcome, why) = if least > 0.0 && worse > margin {
                (Outcome::Fail, format!("more than {allowance}"))
            } else if least <= 0.0 && most > margin {
                let count = baseline.zip(current).map_or(0, |(before, after)| before.count.min(after.count));
                let needed = match (method, figures_to_decide((worse, least, most), margin, count as f64)) {
                    (Method::Ranges, _) => format!("{} runs a side would narrow it", mann_whitney::fewest(confidence)),
                    (_, Some(needed)) => format!("about {needed} figures a side would decide"),
                    (_, None) => {
                        format!("more than {MOST_ASKED_FOR} figures a side would decide: the growth is close to it")
                    }
                };
                (Outcome::Inconclusive, format!("which contains both no change and more than {allowance}; {needed}"))
            } else if most < 0.0 && worse < -margin {
                (Outcome::Improved, format!("more than {allowance}"))
            } else {
                (Outcome::Pass, format!("within {allowance}"))
            };
            let message = if interval.low == 0.0 && interval.high == 0.0 {
                "unchanged: the figures do not differ".to_owned()
            } else if method == Method::Counted {
                format!("{}, {why}", moved(shift, &say))
            } else {
                format!("{}, {} {range}, {why}", moved(shift, &say), confidence_text(interval.confidence))
            };
            (outcome, message)
        }
    };
    Comparison {
        outcome,
        unit,
        baseline,
        current,
        shift: Some(shift),
        percent,
        interval,
        method: Some(method),
        allowance,
        margin,
        message,
    }
}

/// The most figures per side that a message asks for.
const MOST_ASKED_FOR: f64 = 1000.0;

/// Estimates how many figures per side it takes until the interval excludes either no change or more than the margin.
/// The width of an interval shrinks with the square root of their number. `None` if the number is unrealistic.
fn figures_to_decide((worse, least, most): (f64, f64, f64), margin: f64, count: f64) -> Option<u64> {
    // The width that the interval must shrink to, as a share of its present width.
    let excludes_none = worse / (worse - least);
    let excludes_more = (margin - worse) / (most - worse);
    let share = excludes_none.max(excludes_more);
    let needed = (count / share.powi(2)).ceil().max(count + 1.0);
    (share > 0.0 && needed <= MOST_ASKED_FOR).then_some(needed as u64)
}

fn moved(shift: f64, say: &dyn Fn(f64) -> String) -> String {
    if shift > 0.0 {
        format!("grew by {}", say(shift).trim_start_matches('+'))
    } else if shift < 0.0 {
        format!("fell by {}", say(shift).trim_start_matches('-'))
    } else {
        "did not move".to_owned()
    }
}

fn confidence_text(confidence: f64) -> String {
    format!("{}% interval", (confidence * 1e4).round() / 1e2)
}

/// A signed shift: in percent of the baseline, or as an amount if the baseline was zero.
fn amount_text(amount: f64, before: f64, unit: Unit) -> String {
    if before > 0.0 {
        return match amount / before * 100.0 {
            0.0 => "0 %".to_owned(),
            percent if percent.abs() < 0.095 => format!("{percent:+.1e} %"),
            percent => format!("{percent:+.1} %"),
        };
    }
    let sign = if amount < 0.0 { "-" } else { "+" };
    match unit {
        Unit::Bytes => format!("{sign}{}", ByteSize::new(amount.abs().round() as u64)),
        Unit::Nanoseconds => format!("{sign}{:.0} ns", amount.abs()),
        Unit::Count => format!("{amount:+.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn one(baseline: &[f64], current: &[f64], allowance: &str) -> Comparison {
        judge(baseline, current, Unit::Bytes, Direction::Lower, allowance.parse().unwrap(), DEFAULT_CONFIDENCE)
    }

    /// `n` figures around `mib` MiB that scatter by up to `scatter` MiB, in mixed order.
    fn around(mib: f64, scatter: f64, n: u32) -> Vec<f64> {
        (0..n).map(|i| (mib + scatter * (f64::from(i * 37 % 101) / 50.0 - 1.0)) * MIB).collect()
    }

    #[test]
    fn growth_beyond_both_parts_fails() {
        let comparison = one(&around(100.0, 1.0, 20), &around(110.0, 1.0, 20), "5% | 1 MiB");
        assert_eq!(comparison.outcome, Outcome::Fail);
        assert!(comparison.message.starts_with("grew by 10.0 %, 99% interval +9."), "{}", comparison.message);
        assert!(comparison.message.ends_with(" %, more than 5% | 1 MiB"), "{}", comparison.message);
        // One part of the allowance is not exceeded.
        assert_eq!(one(&around(100.0, 1.0, 20), &around(110.0, 1.0, 20), "5% | 16 MiB").outcome, Outcome::Pass);
        assert_eq!(one(&around(100.0, 1.0, 20), &around(110.0, 1.0, 20), "15% | 1 MiB").outcome, Outcome::Pass);
        // Figures without any scatter need no more runs than the confidence level demands.
        assert_eq!(one(&[100.0 * MIB; 5], &[110.0 * MIB; 5], "5% | 1 MiB").outcome, Outcome::Fail);
    }

    #[test]
    fn a_gain_is_reported() {
        let comparison = one(&around(110.0, 1.0, 20), &around(100.0, 1.0, 20), "5% | 1 MiB");
        assert_eq!(comparison.outcome, Outcome::Improved);
        assert!(comparison.message.starts_with("fell by 9.1 %"), "{}", comparison.message);
    }

    #[test]
    fn a_fall_fails_where_more_is_better() {
        let available = |before: f64, after: f64| {
            let [before, after] = [around(before, 1.0, 20), around(after, 1.0, 20)];
            let allowance = "5% | 1 MiB".parse().unwrap();
            judge(&before, &after, Unit::Bytes, Direction::Higher, allowance, DEFAULT_CONFIDENCE)
        };
        let fallen = available(110.0, 100.0);
        assert_eq!(fallen.outcome, Outcome::Fail);
        assert!(fallen.message.starts_with("fell by 9.1 %"), "{}", fallen.message);
        assert_eq!(available(100.0, 110.0).outcome, Outcome::Improved);
        assert_eq!(available(100.0, 102.0).outcome, Outcome::Pass);
        assert_eq!(available(100.0, 98.0).outcome, Outcome::Pass);
    }

    #[test]
    fn scatter_that_hides_the_allowance_is_inconclusive() {
        let comparison = one(&around(100.0, 60.0, 12), &around(104.0, 60.0, 12), "5% | 1 MiB");
        assert_eq!(comparison.outcome, Outcome::Inconclusive);
        assert!(
            comparison.message.contains("which contains both no change and more than 5% | 1 MiB; "),
            "{}",
            comparison.message
        );
    }

    #[test]
    fn an_interval_that_decides_nothing_says_how_many_figures_would() {
        // A shift of 30 ± 40: with 1/9 of the figures added, the lower end reaches 0.
        let figures = |shift, least, most, margin| figures_to_decide((shift, least, most), margin, 9.0);
        assert_eq!(figures(30.0, -10.0, 70.0, 5.0), Some(16));
        // A shift of 1 ± 10 with an allowance of 5: at 6.25 times the figures, the upper end reaches 5.
        assert_eq!(figures(1.0, -9.0, 11.0, 5.0), Some(57));
        // The shift is at or next to the allowance.
        assert_eq!((figures(0.05, -9.0, 11.0, 0.05), figures(0.0, -1.0, 1.0, 0.0)), (None, None));
    }

    #[test]
    fn too_few_figures_are_inconclusive_and_say_how_many_are_needed() {
        for (before, after) in [(1, 1), (1, 30), (4, 4)] {
            let comparison = one(&vec![100.0 * MIB; before], &vec![300.0 * MIB; after], "5% | 1 MiB");
            assert_eq!((comparison.outcome, comparison.interval), (Outcome::Inconclusive, None));
            assert!(comparison.message.contains("repeat each at least 5 times"), "{}", comparison.message);
        }
        assert_eq!(one(&[], &[1.0], "5%").message, "the baseline's figures are missing");
        assert_eq!(
            one(&[1.0], &[1.0, f64::NAN], "5%").message,
            "the figures cannot be used: number 2 is NaN, which is not a valid figure"
        );
    }

    #[test]
    fn equal_figures_pass_at_equality() {
        let comparison = one(&[4096.0; 10], &[4096.0; 10], "0%");
        assert_eq!(comparison.outcome, Outcome::Pass);
        assert_eq!(comparison.message, "unchanged: the figures do not differ");
        let more = one(&[4096.0; 10], &[4097.0; 10], "0%");
        assert_eq!(more.outcome, Outcome::Fail, "{}", more.message);
        let from_nothing = one(&[0.0; 10], &[4096.0; 10], "0%");
        assert_eq!(from_nothing.message, "grew by 4.00 KiB, 99% interval +4.00 KiB to +4.00 KiB, more than 0%");
    }

    #[test]
    fn an_allowance_without_a_part_for_the_unit_says_so() {
        let allowance = "1 MiB".parse().unwrap();
        let comparison =
            judge(&[1.0; 9], &[1.0; 9], Unit::Nanoseconds, Direction::Lower, allowance, DEFAULT_CONFIDENCE);
        assert_eq!(comparison.outcome, Outcome::Inconclusive);
        assert_eq!(comparison.message, "the allowance 1 MiB does not apply to times: add a share such as `5%`");
    }

    proptest! {
        #[test]
        fn any_figures_are_judged(
            baseline in prop::collection::vec(any::<f64>(), 0..12), current in prop::collection::vec(any::<f64>(), 0..12),
            percent in 0.0f64..100.0,
        ) {
            let allowance = Allowance::new(percent, ByteSize::new(1)).unwrap();
            let comparison = judge(&baseline, &current, Unit::Bytes, Direction::Lower, allowance, DEFAULT_CONFIDENCE);
            prop_assert!(!comparison.message.is_empty());
            let json = serde_json::to_string(&comparison).unwrap();
            prop_assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
        }
    }
}
