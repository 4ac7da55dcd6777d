//! Decides on which side of a change a commit is.

use plimsoll_statistics::mann_whitney;
use plimsoll_statistics::signed_rank;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::interval::{shift, shift_of_pairs};
use crate::gate::{FigureVerdict, GateReport, Outcome};
use crate::record::{Direction, Unit};
use plimsoll_memory::meter::Source;

/// The figure that separates the two ends of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bisected {
    /// Its name, such as `peak_rss`.
    pub name: String,
    /// The unit.
    pub unit: Unit,
    /// Whether more or less is better.
    pub direction: Direction,
    /// The median at the first end.
    pub before: f64,
    /// The change up to the other end.
    pub change: f64,
}

impl Bisected {
    /// The figure that best separates the two ends in `report`. Candidates got worse by more than their limit, or if
    /// none did, better. The one with the largest change relative to its interval is chosen; a sampled figure only if
    /// there is no other. `None` if no figure qualifies.
    pub fn between(report: &GateReport) -> Option<Self> {
        let figures = || report.subjects.iter().flat_map(|subject| &subject.figures);
        let of = |outcome| {
            let changed = || figures().filter(move |figure| figure.outcome == outcome);
            let sampled = |figure: &&FigureVerdict| matches!(figure.source, Some(Source::Sampled { .. }));
            surest(changed().filter(|figure| !sampled(figure))).or_else(|| surest(changed()))
        };
        of(Outcome::Fail).or_else(|| of(Outcome::Improved))
    }

    /// Whether commits are run in turns with the first end: other load on the machine affects times, but not memory.
    pub fn in_turns(&self) -> bool {
        self.unit == Unit::Nanoseconds
    }

    /// Whether the figure got worse.
    pub fn is_worse(&self) -> bool {
        self.direction.is_worse(self.before, self.before + self.change)
    }
}

fn surest<'a>(figures: impl Iterator<Item = &'a FigureVerdict>) -> Option<Bisected> {
    let known = figures.filter_map(|figure| {
        let comparison = figure.comparison.as_ref()?;
        let (change, interval) = (comparison.shift?, comparison.interval?);
        let certainty = change.abs() / (interval.high - interval.low);
        let (name, before) = (figure.name.clone(), comparison.baseline?.median);
        Some((certainty, Bisected { name, unit: figure.unit, direction: figure.direction, before, change }))
    });
    // Ties go to the first figure in report order.
    known.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, figure)| figure)
}

/// How often a commit is run, and how confident each look at its runs must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The maximum number of runs.
    pub most: usize,
    /// The confidence level of one look.
    pub confidence: f64,
}

/// The minimum number of runs for a look.
const FEWEST: usize = 5;
/// The maximum number of looks at a commit's runs; each look doubles the number of runs.
const LOOKS: f64 = 4.0;

impl Effort {
    /// The effort of a search among `commits` for an overall confidence, with at most `most` runs per commit.
    pub fn of(commits: usize, confidence: f64, most: usize) -> Self {
        // One decision per bisection step, plus one each for a merge base and an untried parent.
        let decisions = f64::from(usize::BITS - commits.leading_zeros()) + 2.0;
        Self { most, confidence: 1.0 - (1.0 - confidence) / (decisions * LOOKS) }
    }

    /// The number of runs for the first look, against `before` runs of the first end, or as many if run `in_turns`.
    pub fn first(self, before: usize, in_turns: bool) -> usize {
        let tail = (1.0 - self.confidence) / 2.0;
        let fewest = match in_turns {
            true => signed_rank::fewest(self.confidence),
            false => (FEWEST..mann_whitney::EXACT)
                .find(|&now| mann_whitney::critical_exact(now, before.min(mann_whitney::EXACT), tail) > 0)
                .unwrap_or(mann_whitney::EXACT),
        };
        fewest.clamp(FEWEST.min(self.most), self.most)
    }

    /// The number of runs for the look after one at `now` runs; `None` if that was the last.
    pub fn next(self, now: usize) -> Option<usize> {
        (now < self.most).then(|| (2 * now).min(self.most))
    }
}

/// Computes the shift of `now` from the first end, `before`, and whether the change is in: yes if the interval of the
/// shift lies beyond half of `change`, no if it lies below, `None` if undecided. `pairs` means that both were run in
/// turns.
pub fn side(before: &[f64], now: &[f64], change: f64, confidence: f64, pairs: bool) -> Option<(f64, Option<bool>)> {
    let pairs = pairs && before.len() == now.len();
    let (by, interval, _) =
        if pairs { shift_of_pairs(before, now, confidence) } else { shift(before, now, confidence) }?;
    let half = change.abs() / 2.0;
    let changed = interval.and_then(|interval| {
        let (low, high) = if change < 0.0 { (-interval.high, -interval.low) } else { (interval.low, interval.high) };
        if low > half { Some(true) } else { (high < half).then_some(false) }
    });
    Some((by, changed))
}

#[cfg(test)]
mod tests {
    use plimsoll_statistics::random::SplitMix64;
    use proptest::prelude::*;

    use super::*;
    use crate::gate::sample_gate;

    #[test]
    fn the_figure_that_got_worse_for_certain_is_gone_by() {
        let report = sample_gate();
        let figure = Bisected::between(&report).unwrap();
        let mut named =
            report.subjects.iter().flat_map(|subject| &subject.figures).filter(|one| one.name == figure.name);
        assert!(figure.is_worse() && named.any(|one| one.outcome == Outcome::Fail), "{figure:?}");
        let none = GateReport { subjects: Vec::new(), ..report };
        assert_eq!(Bisected::between(&none), None);
    }

    #[test]
    fn runs_are_doubled_from_the_fewest_that_can_decide() {
        let effort = Effort::of(1000, 0.99, 40);
        // 0.01 over 12 decisions and 4 looks, and 2 of the 19,448 orders of 10 and 7 runs.
        assert_eq!(effort.first(10, false), 7);
        assert_eq!((effort.next(7), effort.next(28), effort.next(40)), (Some(14), Some(40), None));
        assert!(effort.first(10, true) > 12, "pairs say less");
        assert_eq!(Effort::of(2, 0.9, 3).first(10, false), 3, "no more than may be");
    }

    #[test]
    fn a_level_on_either_side_is_found_and_one_in_the_middle_is_not() {
        let around = |level: f64| (0..10).map(|i| level + f64::from(i * 7 % 10) / 10.0).collect::<Vec<_>>();
        let before = around(100.0);
        let side =
            |before: &[f64], now: &[f64], change, confidence, pairs| side(before, now, change, confidence, pairs)?.1;
        for (level, found) in [(100.0, Some(false)), (120.0, Some(true)), (110.0, None), (140.0, Some(true))] {
            assert_eq!(side(&before, &around(level), 20.0, 0.999, false), found, "{level}");
            assert_eq!(side(&before, &around(level), 20.0, 0.99, true), found, "{level} in turns");
        }
        // A search for an improvement works in the other direction.
        assert_eq!(side(&around(120.0), &around(100.0), -20.0, 0.999, false), Some(true));
        assert_eq!(side(&around(120.0), &around(120.0), -20.0, 0.999, false), Some(false));
        assert_eq!(side(&before, &before[..3], 20.0, 0.999, false), None, "too few");
        assert_eq!(side(&[], &before, 20.0, 0.999, false), None);
    }

    #[test]
    fn a_search_in_noise_as_large_as_the_change_is_seldom_wrong() {
        let mut random = SplitMix64::new(7);
        let mut unit = || (random.word() >> 11) as f64 / (1u64 << 53) as f64;
        let mut noise = |level: f64| level + (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let effort = Effort::of(100, 0.99, 160);
        let (mut wrong, mut undecided) = (0, 0);
        for number in 0..400 {
            let level = f64::from(number % 2);
            let before: Vec<f64> = (0..40).map(|_| noise(0.0)).collect();
            let mut now = Vec::new();
            let mut wanted = Some(effort.first(before.len(), false));
            let mut found = None;
            while let Some(runs) = wanted.filter(|_| found.is_none()) {
                now.resize_with(runs, || noise(level));
                found = side(&before, &now, 1.0, effort.confidence, false).and_then(|(_, found)| found);
                wanted = effort.next(runs);
            }
            wrong += usize::from(found.is_some_and(|found| found != (level > 0.5)));
            undecided += usize::from(found.is_none());
        }
        assert!(wrong == 0 && undecided < 400, "{wrong} wrong, {undecided} undecided");
    }

    proptest! {
        #[test]
        fn any_figures_have_a_side_or_none(
            before in prop::collection::vec(any::<f64>(), 0..12), now in prop::collection::vec(any::<f64>(), 0..12),
            change: f64, pairs: bool,
        ) {
            let _ = side(&before, &now, change, 0.99, pairs);
        }
    }
}
