//! [`steps`]: the places at which a series changed its level. Points in, steps out.

use super::median::median;
use super::random::SplitMix64;
use super::rank::middle_ranks;

/// How unlikely a change has to be by chance.
const SIGNIFICANCE: f64 = 0.01;

/// The orders that a series is held against. One more than the multiple that the significance is of, itself counted.
const PERMUTATIONS: u32 = 999;

/// No part of a series is shorter: of fewer points a level is hardly told.
const SHORTEST_PART: usize = 3;

/// A place at which a series changed its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The index of the first point of the new level.
    pub at: usize,
    /// The median before, back to the step before it, in the unit of the series.
    pub before: f64,
    /// The median after, up to the next step, in the unit of the series.
    pub after: f64,
    /// How often chance alone gives as much: the share of permutations with a statistic as large.
    pub p: f64,
}

/// The places at which `series` changed its level, in order. None for empty input and for fewer than some ten points.
///
/// A series is divided at the place and up to the end at which the mean ranks of the two sides differ most for their
/// lengths, if fewer than 1 in 100 random orders of the same points differ as much anywhere; then each part in turn.
/// This is E-divisive (Matteson and James 2014; for benchmarks Daly and others 2020) with ranks for distances, as
/// Pettitt (1979) has them: blind to how figures are distributed and to single outliers, and a level that comes back is
/// told from one that stays. The orders are those of a seed: the same series has the same steps. A step takes some ten
/// points: five and five that differ are so by chance once in 126. The time is at most a thousand times the square of
/// the length, and less the clearer a step is, or that there is none.
pub fn steps(series: &[f64]) -> Vec<Step> {
    let mut places: Vec<(usize, f64)> = Vec::new();
    let mut parts = vec![(0, series.len())];
    while let Some((from, to)) = parts.pop() {
        let Some((at, p)) = divide(&series[from..to]) else { continue };
        places.push((from + at, p));
        parts.extend([(from, from + at), (from + at, to)]);
    }
    places.sort_by_key(|(at, _)| *at);
    let ends: Vec<usize> = [0].into_iter().chain(places.iter().map(|(at, _)| *at)).chain([series.len()]).collect();
    let level = |part: usize| median(series[ends[part]..ends[part + 1]].to_vec());
    let step = |(number, (at, p)): (usize, (usize, f64))| {
        Some(Step { at, before: level(number)?, after: level(number + 1)?, p })
    };
    places.into_iter().enumerate().filter_map(step).collect()
}

/// Where a part is best divided and how likely that is by chance; `None` where it need not be.
fn divide(part: &[f64]) -> Option<(usize, f64)> {
    if part.len() < 2 * SHORTEST_PART {
        return None;
    }
    let mut ranks = ranks(part);
    let (at, largest) = best(&ranks);
    if largest <= 0.0 {
        return None;
    }
    let mut random = SplitMix64::new(part.len() as u64);
    let p = |as_large: u32| f64::from(as_large) / f64::from(PERMUTATIONS + 1);
    let mut as_large = 1;
    for _ in 0..PERMUTATIONS {
        for last in (1..ranks.len()).rev() {
            ranks.swap(last, random.below(last + 1));
        }
        as_large += u32::from(reaches(&ranks, largest));
        // The orders that are left could only make it likelier.
        if p(as_large) > SIGNIFICANCE {
            return None;
        }
    }
    Some((at, p(as_large)))
}

/// The place at which a part is best divided, and its score there; over every end that the right side may have.
fn best(ranks: &[f64]) -> (usize, f64) {
    let sums = sums(ranks);
    let mut best = (0, 0.0);
    for end in 2 * SHORTEST_PART..=ranks.len() {
        for at in SHORTEST_PART..=end - SHORTEST_PART {
            let score = score(&sums, at, end);
            // Equal but for rounding is equal: of such places the first counts.
            if score > best.1 * (1.0 + 1e-12) {
                best = (at, score);
            }
        }
    }
    best
}

/// Whether some place, for some end, has a score of `largest`, which is above 0.
///
/// A score is the distance of the sum up to the place from the line that leads to the sum up to the end, over the root
/// of `left * right / (left + right)`. The distance is no larger than the sums spread about the line of all, so the
/// root must not be either, and it is small where one of the sides is short: no other place need be looked at.
fn reaches(ranks: &[f64], largest: f64) -> bool {
    let sums = sums(ranks);
    let mean = sums[ranks.len()] / ranks.len() as f64;
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for (count, sum) in sums.iter().enumerate() {
        let off = sum - mean * count as f64;
        (low, high) = (low.min(off), high.max(off));
    }
    // Two sides count for half of the shorter at least. A little more, for rounding.
    let short = 2.0 * ((high - low) / largest).powi(2) * (1.0 + 1e-9);
    let short = (short as usize).min(ranks.len());
    (2 * SHORTEST_PART..=ranks.len()).any(|end| {
        let last = end - SHORTEST_PART;
        let (to, from) = (short.min(last), end.saturating_sub(short).max(short + 1).max(SHORTEST_PART));
        (SHORTEST_PART..=to).chain(from..=last).any(|at| score(&sums, at, end) >= largest)
    })
}

/// How much the mean ranks before `at` and from there to `end` differ, by what chance makes of as many points: the
/// variance of ranks is the same in every order.
fn score(sums: &[f64], at: usize, end: usize) -> f64 {
    let (left, right) = (at as f64, (end - at) as f64);
    let apart = (sums[at] / left - (sums[end] - sums[at]) / right).abs();
    apart * (left * right / (left + right)).sqrt()
}

/// The sums of the first ranks, from none to all.
fn sums(ranks: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    sums.extend(ranks.iter().scan(0.0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    sums
}

/// The ranks from 1; equal figures share the mean of theirs.
fn ranks(figures: &[f64]) -> Vec<f64> {
    middle_ranks(figures).into_iter().map(|rank| rank + 1.0).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Levels, each for so many points, which scatter a little, in no order.
    fn series(levels: &[(f64, usize)]) -> Vec<f64> {
        let points = levels.iter().flat_map(|(level, count)| vec![*level; *count]);
        points.enumerate().map(|(i, level)| level + (i * 37 % 11) as f64 / 10.0).collect()
    }

    #[test]
    fn a_change_of_level_is_found_where_it_is() {
        let found = steps(&series(&[(100.0, 15), (110.0, 12)]));
        let [step] = &found[..] else { panic!("{found:?}") };
        assert_eq!(step.at, 15);
        assert!(step.before < 101.1 && step.after > 110.0 && step.p <= 0.01, "{step:?}");
    }

    #[test]
    fn up_and_down_again_are_two() {
        let places: Vec<usize> =
            steps(&series(&[(100.0, 14), (120.0, 14), (100.0, 14)])).iter().map(|step| step.at).collect();
        assert_eq!(places, [14, 28]);
    }

    #[test]
    fn what_stays_has_no_step_and_neither_has_an_outlier_nor_too_little() {
        assert_eq!(steps(&series(&[(100.0, 40)])), []);
        assert_eq!(steps(&[7.0; 40]), []);
        let mut outlier = series(&[(100.0, 40)]);
        outlier[20] = 1e6;
        assert_eq!(steps(&outlier), []);
        assert_eq!(steps(&series(&[(100.0, 4), (200.0, 4)])), []);
        assert_eq!(steps(&[]), []);
    }

    #[test]
    fn chance_makes_a_step_about_as_often_as_it_may() {
        let mut random = SplitMix64::new(7);
        let noise = |random: &mut SplitMix64| (0..30).map(|_| random.below(1000) as f64).collect::<Vec<_>>();
        let with_steps = (0..200).filter(|_| !steps(&noise(&mut random)).is_empty()).count();
        assert!(with_steps <= 8, "{with_steps} of 200 series of noise");
    }

    proptest! {
        #[test]
        fn a_score_is_reached_where_the_best_is_as_large(
            values in prop::collection::vec(0.0f64..8.0, 6..40), jump in 0.0f64..16.0, share in 0.5f64..1.5,
        ) {
            let half = values.len() / 2;
            let moved = values.iter().enumerate().map(|(at, value)| if at < half { *value } else { (value + jump).round() });
            let ranks = ranks(&moved.collect::<Vec<_>>());
            let largest = best(&ranks).1;
            prop_assume!(largest > 0.0);
            prop_assert!(reaches(&ranks, largest));
            prop_assert_eq!(reaches(&ranks, largest * share), share <= 1.0, "{}", share);
        }
    }

    /// Steps as their definition has them: every place of every part of every order is scored.
    fn naive(series: &[f64], from: usize, found: &mut Vec<(usize, f64)>) {
        let ends = |count: usize| {
            (2 * SHORTEST_PART..=count).flat_map(|end| (SHORTEST_PART..=end - SHORTEST_PART).map(move |at| (at, end)))
        };
        let scores = |ranks: &[f64]| {
            let sums = sums(ranks);
            ends(ranks.len()).map(|(at, end)| (at, score(&sums, at, end))).collect::<Vec<_>>()
        };
        // Of places that are equal but for rounding the first counts.
        let first =
            |found: (usize, f64), next: (usize, f64)| if next.1 > found.1 * (1.0 + 1e-12) { next } else { found };
        let mut ranks = ranks(series);
        let (at, largest) = scores(&ranks).into_iter().fold((0, 0.0), first);
        if largest == 0.0 {
            return;
        }
        let mut random = SplitMix64::new(series.len() as u64);
        let mut as_large = 1;
        for _ in 0..PERMUTATIONS {
            for last in (1..ranks.len()).rev() {
                ranks.swap(last, random.below(last + 1));
            }
            as_large += u32::from(scores(&ranks).into_iter().any(|(_, score)| score >= largest));
        }
        let p = f64::from(as_large) / 1000.0;
        if p <= SIGNIFICANCE {
            naive(&series[..at], from, found);
            found.push((from + at, p));
            naive(&series[at..], from + at, found);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn steps_are_those_of_the_definition(
            values in prop::collection::vec(0u8..9, 0..32), jump in 0u8..20, at: prop::sample::Index,
        ) {
            let at = at.index(values.len().max(1));
            let value = |(i, value): (usize, &u8)| f64::from(*value) + if i < at { 0.0 } else { f64::from(jump) };
            let series: Vec<f64> = values.iter().enumerate().map(value).collect();
            let mut expected = Vec::new();
            naive(&series, 0, &mut expected);
            let found = steps(&series);
            let found = found.into_iter().map(|step| (step.at, step.p)).collect::<Vec<_>>();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_step_depends_on_ranks_alone(series in prop::collection::vec(0u8..40, 0..24), jump in 0u8..60) {
            let series: Vec<f64> = series
                .iter()
                .enumerate()
                .map(|(at, value)| f64::from(*value) + if at < series.len() / 2 { 0.0 } else { f64::from(jump) })
                .collect();
            let places = |map: fn(f64) -> f64| {
                let series: Vec<f64> = series.iter().map(|x| map(*x)).collect();
                steps(&series).into_iter().map(|step| (step.at, step.p)).collect::<Vec<_>>()
            };
            let found = places(|x| x);
            prop_assert_eq!(places(|x| 4096.0 * x + 1e9), found.clone());
            prop_assert_eq!(places(|x| x.powi(3)), found);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn steps_are_in_order_and_within(series in prop::collection::vec(0.0f64..1e12, 0..40)) {
            let found = steps(&series);
            prop_assert!(found.is_sorted_by(|a, b| a.at + SHORTEST_PART <= b.at));
            prop_assert!(found.iter().all(|step| step.at >= SHORTEST_PART && step.at + SHORTEST_PART <= series.len()));
        }
    }
}
