//! [`steps`]: finds the places where a series changed its level.

mod candidates;
mod chance;
mod despike;
mod evidence;
mod wander;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use self::candidates::candidates;
use self::despike::despiked;
use self::evidence::{Evidence, Points, REACH};
use super::median::median;
use crate::MAD_TO_DEVIATION;

/// The minimum length of a part: a step is recognized from its third point on, and fewer points count as spikes.
const SHORTEST_PART: usize = 3;

/// A change that reverts within this many points is an excursion: neither its start nor its end is a step.
const LONGEST_EXCURSION: usize = 6;

/// A place where a series changed its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The index of the first point of the new level.
    pub at: usize,
    /// The median before it, back to the previous step, in the unit of the series.
    pub before: f64,
    /// The median after it, up to the next step, in the unit of the series.
    pub after: f64,
    /// The probability that chance alone produces such a step anywhere in the series; at most 1 in 1,000.
    pub p: f64,
}

/// The places where `series` changed its level, in order. Figures that are not finite are skipped.
///
/// - Spikes are removed: points far from the median of the seven around them (Hampel 1974).
/// - Candidates come from the best division into parts of constant level (FPOP, Maidstone and others 2017).
/// - The weakest candidate is dropped and its neighbours are reconsidered, until each remaining one is a step. Among
///   the 22 or the 100 points before and after it, chance must produce such a step in fewer than 1 of 1,000 series of
///   independent points (a t-test, times the number of places). The step must also be half a percent of the level and
///   4 percent of the range of the series (points more than 30 percent away from its median count as that far), must
///   keep 30 percent of its size if the points have a slope, and must explain them better than a line does. The size,
///   the evidence and the length of the levels must together be what people mark as a step.
/// - Wandering must produce such a step in fewer than 1 of 100 series: points that are correlated count as fewer
///   independent ones. A change that is sharper than those elsewhere in the series needs no such evidence.
/// - Of two opposite steps within six points, the weaker is dropped: an excursion is not a new level.
/// - If a step remains, all candidates are judged once more, and less is required of them: a series that changed
///   once is likely to have changed more often, and does more than wander.
/// - Each step is placed by the raw values: where the points change from one level to the other.
///
/// Thus noise, temporary levels, drift and single outliers are not steps, and the size of a jump matters. A clear step
/// is recognized from its third point on. Nothing is random: equal series have equal steps. The time is nearly linear
/// in the length.
pub fn steps(series: &[f64]) -> Vec<Step> {
    let (indices, finite): (Vec<usize>, Vec<f64>) =
        series.iter().copied().enumerate().filter(|(_, value)| value.is_finite()).unzip();
    let largest = finite.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if finite.len() < 2 * SHORTEST_PART || largest == 0.0 {
        return Vec::new();
    }
    // Avoids infinite squares of very large figures.
    let raw: Vec<f64> = finite.iter().map(|value| value / largest).collect();
    let despiked = despiked(&raw);
    let mut evidence = Evidence::new(&raw, &despiked);
    let candidates = candidates(&despiked, penalty(&despiked));
    let mut places = Parts::new(&evidence, &candidates, raw.len()).steps();
    if !places.is_empty() {
        evidence.changed = true;
        places = Parts::new(&evidence, &candidates, raw.len()).steps();
    }
    let ends: Vec<usize> = [0].into_iter().chain(places.iter().copied()).chain([raw.len()]).collect();
    let level = |part: usize| median(finite[ends[part]..ends[part + 1]].to_vec());
    let step = |(number, at): (usize, &usize)| {
        let p = evidence.weigh(ends[number], *at, ends[number + 2]).ln_p.exp().min(1.0);
        Some(Step { at: indices[*at], before: level(number)?, after: level(number + 1)?, p })
    };
    places.iter().enumerate().filter_map(step).collect()
}

/// The cost that a change must save to be a candidate: three times the variance of the noise, times the logarithm of
/// the length.
fn penalty(series: &[f64]) -> f64 {
    let apart: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    // If most figures are equal, the median is zero. Half of the value for normal noise is a small enough estimate.
    let noise = match median(apart).filter(|apart| *apart > 0.0) {
        Some(apart) => MAD_TO_DEVIATION * apart / std::f64::consts::SQRT_2,
        None => 0.5 * mean * std::f64::consts::PI.sqrt() / 2.0,
    };
    3.0 * noise.max(1e-12).powi(2) * (series.len() as f64).ln()
}

/// The parts of a series, from which the weakest place is removed repeatedly.
struct Parts<'a> {
    evidence: &'a Evidence<'a>,
    /// Where parts begin; the last is the end of the series.
    at: Vec<usize>,
    /// The remaining place before and after each one.
    before: Vec<usize>,
    after: Vec<usize>,
    /// The strength of each place; NaN for a removed one, which compares with nothing.
    strength: Vec<f64>,
    /// The places by strength; an entry with an outdated strength is skipped.
    queue: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> Parts<'a> {
    fn new(evidence: &'a Evidence<'a>, places: &[usize], count: usize) -> Self {
        let at: Vec<usize> = [0].into_iter().chain(places.iter().copied()).chain([count]).collect();
        let mut parts = Self {
            evidence,
            before: (0..at.len()).map(|number| number.saturating_sub(1)).collect(),
            after: (1..=at.len()).collect(),
            strength: vec![f64::NAN; at.len()],
            queue: BinaryHeap::new(),
            at,
        };
        (1..parts.at.len() - 1).for_each(|number| parts.weigh(number));
        parts
    }

    /// The places that are steps, where the raw points change.
    fn steps(mut self) -> Vec<usize> {
        self.prune();
        while let Some(weaker) = self.excursion() {
            self.remove(weaker);
            self.prune();
        }
        self.placed()
    }

    /// The remaining places in order.
    fn places(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(self.after[0]), |number| Some(self.after[*number]))
            .take_while(|number| *number < self.at.len() - 1)
    }

    fn weigh(&mut self, number: usize) {
        let (from, to) = (self.at[self.before[number]], self.at[self.after[number]]);
        let strength = self.evidence.weigh(from, self.at[number], to).strength;
        self.strength[number] = strength;
        // Floats that are not negative have the order of their bits.
        self.queue.push(Reverse((strength.to_bits(), number)));
    }

    /// Removes places until every remaining one is a step.
    fn prune(&mut self) {
        while let Some(Reverse((strength, number))) = self.queue.peek().copied() {
            if self.strength[number].to_bits() != strength {
                self.queue.pop();
            } else if f64::from_bits(strength) < 1.0 {
                self.remove(number);
            } else {
                return;
            }
        }
    }

    /// Removes a place. Its neighbours, which now have longer parts beside them, are placed and weighed again.
    fn remove(&mut self, number: usize) {
        let (before, after) = (self.before[number], self.after[number]);
        (self.after[before], self.before[after]) = (after, before);
        self.strength[number] = f64::NAN;
        for number in [before, after] {
            if number > 0 && number < self.at.len() - 1 {
                let (from, to) = (self.at[self.before[number]], self.at[self.after[number]]);
                self.at[number] = self.evidence.place(from, self.at[number], to, Points::Despiked);
                self.weigh(number);
            }
        }
    }

    /// The weaker place of an excursion, if there is one.
    fn excursion(&self) -> Option<usize> {
        self.places().zip(self.places().skip(1)).find_map(|(start, end)| {
            let (from, to) = (self.at[start], self.at[end]);
            if to - from > LONGEST_EXCURSION {
                return None;
            }
            let first = self.at[self.before[start]].max(from.saturating_sub(REACH));
            let last = self.at[self.after[end]].min(to + REACH);
            let level = self.evidence.level(from, to);
            let turns = (level - self.evidence.level(first, from)) * (self.evidence.level(to, last) - level) < 0.0;
            turns.then(|| if self.strength[end] < self.strength[start] { end } else { start })
        })
    }

    /// The places according to the raw points.
    fn placed(mut self) -> Vec<usize> {
        let numbers: Vec<usize> = self.places().collect();
        for number in &numbers {
            let (from, to) = (self.at[self.before[*number]], self.at[self.after[*number]]);
            self.at[*number] = self.evidence.place(from, self.at[*number], to, Points::Raw);
        }
        numbers.into_iter().map(|number| self.at[number]).collect()
    }
}

#[cfg(test)]
mod tests;
