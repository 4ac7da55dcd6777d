//! The evidence for and against a step at a place.

use super::chance::{ln_of_t, mean};
use super::{SHORTEST_PART, wander};
use crate::median::median;
use crate::{MAD_TO_DEVIATION, median_absolute_deviation};

/// How many points on each side are considered: the level beside a step counts, not the one long before, but a small
/// step in strong noise is visible only from afar.
pub(super) const REACH: usize = 22;
const FAR_REACH: usize = 100;

/// The maximum probability that chance produces such a step anywhere in a series of independent points.
const CHANCE: f64 = 1e-3;

/// The smallest step, as a share of the level before it.
const SMALLEST_SHARE: f64 = 0.005;

/// The smallest step, as a share of the range of the whole series, spikes included: in a history whose figures double
/// now and then, nobody cares about a percent.
const SMALLEST_SHARE_OF_RANGE: f64 = 0.04;

/// The weight of a step that people mark. See [`Evidence::weight`].
const MARKED: f64 = 6.4;

/// The weight that is enough if the series has another step: people who marked one mark smaller ones, too.
const MARKED_BESIDE_ANOTHER: f64 = 4.3;

/// The farthest that a point may be from the median and count for the range, as a share of the median: a single broken
/// record must not hide every later step.
const LARGEST_RANGE: f64 = 0.3;

/// How far beyond the levels of a step its points are clamped, in sizes of the step.
const CLAMP: f64 = 0.7;

/// The largest share of points that count as outliers.
const OUTLIERS: f64 = 0.1;

/// The share of a step that must remain if the points have a slope, the same before and after it. None remains of
/// drift.
const BESIDE_A_SLOPE: f64 = 0.3;

/// How far from its level a point may be and count for the slope, in standard deviations: an outlier near the end of a
/// side would turn the slope.
const SLOPE_CLAMP: f64 = 3.0;

/// A series, and the smallest step that counts.
pub(super) struct Evidence<'a> {
    raw: &'a [f64],
    despiked: &'a [f64],
    /// The smallest step by the range of the series.
    smallest: f64,
    /// Whether the series is known to have a step. Others need less evidence then.
    pub changed: bool,
}

/// The weight of the evidence for a step at a place.
pub(super) struct Weight {
    /// At least 1 if every condition holds; otherwise how far the worst condition is met.
    pub strength: f64,
    /// The logarithm of the probability that chance produces as much anywhere in the series.
    pub ln_p: f64,
}

/// The points beside a place, clamped near the two levels, so that a spike moves no mean far.
struct Sides {
    points: Vec<f64>,
    /// The number of points before the place.
    left: usize,
    /// The medians of both sides, without spikes.
    levels: [f64; 2],
}

impl<'a> Evidence<'a> {
    pub fn new(raw: &'a [f64], despiked: &'a [f64]) -> Self {
        let middle = median(raw.to_vec()).unwrap_or_default();
        let farthest = LARGEST_RANGE * middle.abs();
        let within = |value: &f64| value.clamp(middle - farthest, middle + farthest);
        let (low, high) =
            raw.iter().map(within).fold((middle, middle), |(low, high), value| (low.min(value), high.max(value)));
        Self { raw, despiked, smallest: SMALLEST_SHARE_OF_RANGE * (high - low), changed: false }
    }

    /// Weighs the evidence for a step at `at`, between parts that begin at `from` and end at `to`. The conditions must
    /// hold for the points near it or for those farther away, too.
    pub fn weigh(&self, from: usize, at: usize, to: usize) -> Weight {
        let near = self.sides(from, at, to, REACH);
        if (at - from).min(to - at) < SHORTEST_PART {
            // Too little evidence so far: the step that is cheapest to remove goes first, as in Ward (1963).
            let (left, count) = (near.left, near.points.len());
            let cost = near.size().powi(2) * (left * (count - left)) as f64 / count as f64;
            return Weight { strength: 1e-3 * cost / (1.0 + cost), ln_p: 0.0 };
        }
        let far = self.sides(from, at, to, FAR_REACH);
        let [ln_near, ln_far] = [&near, &far].map(|sides| self.chance(sides, 0.0));
        let ln_p = ln_near.min(ln_far);
        let strength = self.conditions(&near, ln_near).max(self.conditions(&far, ln_far));
        let marked = if self.changed { MARKED_BESIDE_ANOTHER } else { MARKED };
        let strength = least([strength, self.weight(&near, ln_p, [at - from, to - at]) / marked]);
        // The costly question last.
        let strength = if strength < 1.0 { strength } else { least([strength, self.against_wander(at, &near, &far)]) };
        Weight { strength: if strength > 0.0 { strength } else { 0.0 }, ln_p }
    }

    /// What every step needs: at least 1 if all conditions hold.
    fn conditions(&self, sides: &Sides, ln_p: f64) -> f64 {
        let size = sides.size();
        least([
            ln_p / CHANCE.ln(),
            sides.share() / SMALLEST_SHARE * (1.0 + 1e-9),
            size / self.smallest,
            sides.beside_a_slope() / (BESIDE_A_SLOPE * size),
            sides.against_a_line(),
        ])
    }

    /// How likely people mark such a step. Each condition alone admits steps that they hardly see: this is the product
    /// of size within the range, evidence, and length of the shorter side, each of which may make up for another. In a
    /// series with long levels, or with a wide range for its level, people mark less. The powers are those of a logistic
    /// regression on annotated histories, rounded.
    fn weight(&self, sides: &Sides, ln_p: f64, lengths: [usize; 2]) -> f64 {
        let [shorter, longer] = [lengths[0].min(lengths[1]), lengths[0].max(lengths[1])].map(|length| length as f64);
        // Where less weight is enough, drift would have it, too.
        let size = if self.changed { sides.size().min(sides.beside_a_slope()) } else { sides.size() };
        let of_range = size / self.smallest;
        let of_level = sides.share() / SMALLEST_SHARE;
        of_range * (-ln_p).max(0.0).cbrt() * (shorter / of_level).powf(0.3) / longer.powf(0.2)
    }

    /// At least 1 if the step is more than the wandering of a series whose points depend on their neighbours: by the
    /// number of independent points that are worth as much, or because such changes do not occur elsewhere.
    fn against_wander(&self, at: usize, near: &Sides, far: &Sides) -> f64 {
        let correlation = wander::correlation(&far.off(far.levels), far.left);
        let ln_p = self.chance(near, correlation).min(self.chance(far, correlation));
        let chance = if self.changed { wander::CHANCE_BESIDE_ANOTHER } else { wander::CHANCE };
        let strength = ln_p / chance.ln();
        if strength >= 1.0 {
            return strength;
        }
        strength.max(wander::ln_chance_of_change(self.despiked, at) / wander::CHANCE.ln())
    }

    /// The level of a part.
    pub fn level(&self, from: usize, to: usize) -> f64 {
        median(self.despiked[from..to].to_vec()).unwrap_or_default()
    }

    /// The points at most `reach` before and after `at`, in the parts that begin at `from` and end at `to`.
    fn sides(&self, from: usize, at: usize, to: usize, reach: usize) -> Sides {
        let (from, to) = (from.max(at.saturating_sub(reach)), to.min(at + reach));
        let levels = [self.level(from, at), self.level(at, to)];
        let (low, high) = (levels[0].min(levels[1]), levels[0].max(levels[1]));
        let beyond = CLAMP * (high - low);
        // The raw points: without spikes, a series that alternates between levels seems to have long stretches of one.
        let points = self.raw[from..to].iter().map(|value| value.clamp(low - beyond, high + beyond)).collect();
        Sides { points, left: at - from, levels }
    }

    /// The logarithm of the probability that chance produces such a step anywhere in the series: a t-test times the
    /// number of places. Points that are correlated count as fewer independent ones (Bartlett 1935).
    fn chance(&self, sides: &Sides, correlation: f64) -> f64 {
        let (count, left) = (sides.points.len() as f64, sides.left as f64);
        let independent = (1.0 - correlation) / (1.0 + correlation);
        let t = sides.size() / sides.deviation() * (independent / (1.0 / left + 1.0 / (count - left))).sqrt();
        ln_of_t(t, (independent * (count - 2.0)).max(1.0)) + (2.0 * self.raw.len() as f64).ln()
    }

    /// The place around `at` that best divides the levels on both sides; the first of several equal ones.
    pub fn place(&self, from: usize, at: usize, to: usize, of: Points) -> usize {
        let points = match of {
            Points::Raw => self.raw,
            Points::Despiked => self.despiked,
        };
        let (first, last) = (from.max(at.saturating_sub(REACH)), to.min(at + REACH));
        let level = |part: &[f64]| median(part.to_vec()).unwrap_or_default();
        let levels = [level(&points[first..at]), level(&points[at..last])];
        let size = (levels[1] - levels[0]).abs();
        // A point far from both levels supports neither.
        let off = |value: f64, level: f64| (value - level).abs().min(size);
        let (mut cost, mut best) = (0.0, (f64::INFINITY, at));
        // A part that is long enough must remain so.
        let [left, right] = [at - from, to - at].map(|length| length.min(SHORTEST_PART));
        for (place, value) in points.iter().enumerate().take((last + 1).min(to - right + 1)).skip(first) {
            if place >= from + left && cost < best.0 - 1e-12 * size {
                best = (cost, place);
            }
            cost += off(*value, levels[0]) - off(*value, levels[1]);
        }
        best.1
    }
}

/// The points among which a place is searched.
#[derive(Clone, Copy)]
pub(super) enum Points {
    Raw,
    Despiked,
}

impl Sides {
    /// The size of the step as a share of the level before it.
    fn share(&self) -> f64 {
        self.size() / self.levels[0].abs().max(f64::MIN_POSITIVE)
    }

    fn means(&self) -> [f64; 2] {
        let (left, right) = self.points.split_at(self.left);
        [mean(left), mean(right)]
    }

    /// The distance between the sides, by their medians or means, whichever is smaller; zero if they disagree in
    /// direction.
    fn size(&self) -> f64 {
        let [before, after] = self.means();
        let (means, medians) = (after - before, self.levels[1] - self.levels[0]);
        if means * medians > 0.0 { means.abs().min(medians.abs()) } else { 0.0 }
    }

    /// The distance of each point from the level of its side.
    fn off(&self, levels: [f64; 2]) -> Vec<f64> {
        let off = |(at, value): (usize, &f64)| value - levels[usize::from(at >= self.left)];
        self.points.iter().enumerate().map(off).collect()
    }

    /// The standard deviation of the points around their levels: the larger of two estimates. Of a few outliers, none
    /// counts as farther away than the step is high; in a series that alternates between levels, many are.
    fn deviation(&self) -> f64 {
        let mut off: Vec<f64> = self.off(self.means()).iter().map(|off| off.abs()).collect();
        off.sort_by(|a, b| b.total_cmp(a));
        let size = self.size();
        let outliers = (OUTLIERS * off.len() as f64).ceil() as usize;
        off[..outliers].iter_mut().for_each(|off| *off = off.min(size));
        let by_squares = (off.iter().map(|off| off.powi(2)).sum::<f64>() / (self.points.len() as f64 - 2.0)).sqrt();
        let by_median = median_absolute_deviation(&self.off(self.levels)).unwrap_or_default();
        let rounding = 1e-9 * self.levels[0].abs().max(self.levels[1].abs());
        by_squares.max(MAD_TO_DEVIATION * by_median).max(rounding).max(f64::MIN_POSITIVE)
    }

    /// The jump, in the direction of the step, that the points have beside a slope common to both sides.
    fn beside_a_slope(&self) -> f64 {
        let off = self.off(self.levels);
        let farthest = SLOPE_CLAMP * MAD_TO_DEVIATION * median_absolute_deviation(&off).unwrap_or_default();
        let off: Vec<f64> = off.iter().map(|off| off.clamp(-farthest, farthest)).collect();
        let (left, right) = off.split_at(self.left);
        let slope = (along(left) + along(right)) / (spread(left.len()) + spread(right.len()));
        let [before, after] = self.means();
        let jump = after - before - slope * self.points.len() as f64 / 2.0;
        if after > before { jump } else { -jump }
    }

    /// Above 1 if a step explains the points better than a line does, using as many points before as after it.
    fn against_a_line(&self) -> f64 {
        let reach = self.left.min(self.points.len() - self.left);
        if reach <= SHORTEST_PART {
            return f64::INFINITY;
        }
        let points = &self.points[self.left - reach..self.left + reach];
        let around = |points: &[f64]| {
            let mean = mean(points);
            points.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let line = around(points) - along(points).powi(2) / spread(points.len());
        let step = around(&points[..reach]) + around(&points[reach..]);
        if step <= line { f64::INFINITY } else { 0.5 }
    }
}

/// The least of `parts`; NaN, as of zero divided by zero, is less than all.
fn least<const COUNT: usize>(parts: [f64; COUNT]) -> f64 {
    parts.into_iter().fold(f64::INFINITY, |least, part| if part < least || part.is_nan() { part } else { least })
}

/// The sum of the products of the points and their places, both from the mean. Divided by the [`spread`], it is the
/// slope by least squares.
fn along(points: &[f64]) -> f64 {
    let (middle, mean) = ((points.len() - 1) as f64 / 2.0, mean(points));
    points.iter().enumerate().map(|(at, value)| (at as f64 - middle) * (value - mean)).sum()
}

/// The sum of the squared distances of `count` places from their mean.
fn spread(count: usize) -> f64 {
    let count = count as f64;
    count * (count * count - 1.0) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six points before and after a place, with a slope, and a scatter that has none.
    fn sides(step: f64, slope: f64) -> Sides {
        let scatter = [0.4, -0.1, -0.3, -0.3, -0.1, 0.4];
        let point = |at: usize| 100.0 + slope * at as f64 + scatter[at % 6] + if at < 6 { 0.0 } else { step };
        let points: Vec<f64> = (0..12).map(point).collect();
        let levels = [&points[..6], &points[6..]].map(|side| median(side.to_vec()).unwrap());
        Sides { points, left: 6, levels }
    }

    #[test]
    fn a_step_remains_beside_a_slope_and_drift_does_not() {
        for (step, slope) in [(10.0, 0.0), (10.0, 1.0), (10.0, -1.0), (-10.0, 1.0), (0.0, 3.0), (0.0, -3.0)] {
            let remains = sides(step, slope).beside_a_slope();
            assert!((remains - step.abs()).abs() < 1e-9, "{step} {slope}: {remains}");
        }
    }

    #[test]
    fn outliers_at_the_ends_turn_no_slope() {
        let mut sides = sides(10.0, 0.0);
        (sides.points[0], sides.points[11]) = (93.0, 117.0);
        let remains = sides.beside_a_slope();
        assert!(remains >= 10.0, "{remains}");
    }

    #[test]
    fn a_step_is_better_than_a_line_and_drift_is_not() {
        assert!(sides(10.0, 0.0).against_a_line() > 1.0 && sides(0.0, 3.0).against_a_line() < 1.0);
    }
}
