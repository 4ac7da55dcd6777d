//! The evidence for and against a step at a place.

use super::SHORTEST_PART;
use crate::median::median;
use crate::normal::ln_upper_tail;
use crate::{MAD_TO_DEVIATION, median_absolute_deviation};

/// How far the points beside a step are considered, and how unlikely it must be.
struct Window {
    /// The number of points on each side.
    reach: usize,
    /// The maximum probability that chance produces such a step anywhere in a series of independent points. Points of
    /// real histories depend on each other, and more so the longer the stretch, so it is far below the usual 1 in 20.
    chance: f64,
}

/// The level beside a step counts, not the one long before.
const NEAR: Window = Window { reach: 22, chance: 5e-7 };

/// A small step in strong noise is visible only from afar.
const FAR: Window = Window { reach: 100, chance: 1e-9 };

/// The number of points on each side among which a step is placed and by which an excursion is recognized.
pub(super) const REACH: usize = NEAR.reach;

/// The smallest step, as a share of the level before it.
const SMALLEST_SHARE: f64 = 0.005;

/// The smallest step, as a share of the range of the whole series, spikes included: in a history whose figures double
/// now and then, nobody cares about a percent.
const SMALLEST_SHARE_OF_RANGE: f64 = 0.08;

/// The farthest that a point may be from the median and count for the range, as a share of the median: a single broken
/// record must not hide every later step.
const LARGEST_RANGE: f64 = 0.3;

/// How far beyond the levels of a step its points are clamped, in sizes of the step.
const CLAMP: f64 = 0.7;

/// The share of a step that must remain if the points have a slope, the same before and after it. None remains of
/// drift.
const BESIDE_A_SLOPE: f64 = 0.65;

/// How far from its level a point may be and count for the slope, in standard deviations: an outlier near the end of a
/// side would turn the slope.
const SLOPE_CLAMP: f64 = 3.0;

/// A series, and the smallest step that counts.
pub(super) struct Evidence<'a> {
    raw: &'a [f64],
    despiked: &'a [f64],
    /// The smallest step by the range of the series.
    smallest: f64,
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
        Self { raw, despiked, smallest: SMALLEST_SHARE_OF_RANGE * (high - low) }
    }

    /// Weighs the evidence for a step at `at`, between parts that begin at `from` and end at `to`: by the points near
    /// it or by those farther away, whichever is stronger.
    pub fn weigh(&self, from: usize, at: usize, to: usize) -> Weight {
        let near = self.weigh_within(&NEAR, from, at, to);
        if (at - from).max(to - at) <= NEAR.reach {
            return near;
        }
        let far = self.weigh_within(&FAR, from, at, to);
        if far.strength > near.strength { far } else { near }
    }

    fn weigh_within(&self, window: &Window, from: usize, at: usize, to: usize) -> Weight {
        let (from, to) = (from.max(at.saturating_sub(window.reach)), to.min(at + window.reach));
        let sides = self.sides(from, at, to);
        let size = sides.size();
        if (at - from).min(to - at) < SHORTEST_PART {
            // Too little evidence so far: the step that is cheapest to remove goes first, as in Ward (1963).
            let cost = size.powi(2) * ((at - from) * (to - at)) as f64 / (to - from) as f64;
            return Weight { strength: 1e-3 * cost / (1.0 + cost), ln_p: 0.0 };
        }
        let ln_p = self.chance(&sides, size / sides.deviation(size));
        let share = size / sides.levels[0].abs().max(f64::MIN_POSITIVE);
        let strength = [
            ln_p / window.chance.ln(),
            share / SMALLEST_SHARE * (1.0 + 1e-9),
            size / self.smallest,
            sides.beside_a_slope() / (BESIDE_A_SLOPE * size),
            sides.against_a_line(),
        ];
        // Zero divided by zero is not a number, and not a step.
        let strength = strength
            .into_iter()
            .fold(f64::INFINITY, |worst, part| if part < worst || part.is_nan() { part } else { worst });
        Weight { strength: if strength > 0.0 { strength } else { 0.0 }, ln_p }
    }

    /// The level of a part.
    pub fn level(&self, from: usize, to: usize) -> f64 {
        median(self.despiked[from..to].to_vec()).unwrap_or_default()
    }

    fn sides(&self, from: usize, at: usize, to: usize) -> Sides {
        let levels = [self.level(from, at), self.level(at, to)];
        let (low, high) = (levels[0].min(levels[1]), levels[0].max(levels[1]));
        let beyond = CLAMP * (high - low);
        // The raw points: without spikes, a series that alternates between levels seems to have long stretches of one.
        let points = self.raw[from..to].iter().map(|value| value.clamp(low - beyond, high + beyond)).collect();
        Sides { points, left: at - from, levels }
    }

    /// The logarithm of the probability that chance produces a step of this many deviations anywhere in the series: a
    /// t-test times the number of places.
    fn chance(&self, sides: &Sides, deviations: f64) -> f64 {
        let (count, left) = (sides.points.len() as f64, sides.left as f64);
        let t = deviations / (1.0 / left + 1.0 / (count - left)).sqrt();
        // Wallace (1959): the normal variable that is as unlikely as a t with this many degrees of freedom.
        let free = count - 2.0;
        let z = (8.0 * free + 1.0) / (8.0 * free + 3.0) * (free * (t * t / free).ln_1p()).sqrt();
        ln_upper_tail(z) + (2.0 * self.raw.len() as f64).ln()
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

    /// The standard deviation of the points around their levels, none of them farther away than `size`: the larger of
    /// two estimates.
    fn deviation(&self, size: f64) -> f64 {
        let squares = self.off(self.means()).iter().map(|off| off.clamp(-size, size).powi(2)).sum::<f64>();
        let by_squares = (squares / (self.points.len() as f64 - 2.0)).sqrt();
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

fn mean(points: &[f64]) -> f64 {
    points.iter().sum::<f64>() / points.len() as f64
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
