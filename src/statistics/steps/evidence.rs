//! The evidence for and against a step at a place.

use super::SHORTEST_PART;
use crate::median::median;
use crate::normal::ln_upper_tail;
use crate::{MAD_TO_DEVIATION, median_absolute_deviation};

/// The number of points considered on each side: the level beside a step counts, not the one long before.
pub(super) const REACH: usize = 48;

/// The maximum probability that chance produces a step anywhere in a series.
const SIGNIFICANCE: f64 = 1e-4;

/// The smallest step, as a share of the level before it.
const SMALLEST_SHARE: f64 = 0.005;

/// The smallest step, as a multiple of the median difference between neighbouring stretches of the series.
const BEYOND_WANDERING: f64 = 6.0;

/// The smallest step that needs no comparison with stretches, in standard deviations of the points around it.
const BEYOND_NOISE: f64 = 6.0;

/// The most that a step may leave unexplained, as a share of what a straight line leaves.
const BETTER_THAN_A_LINE: f64 = 0.95;

/// The largest correlation of neighbours that is corrected for.
const MOST_CORRELATED: f64 = 0.9;

/// The minimum length of a series, in stretches, before their differences show how it wanders: a few steps must not
/// look like wandering.
const STRETCHES: usize = 10;

/// A series, and how it moves without steps.
pub(super) struct Evidence<'a> {
    raw: &'a [f64],
    despiked: &'a [f64],
    /// The median difference between neighbouring stretches, by their length in ascending order.
    wandering: Vec<(usize, f64)>,
}

/// The weight of the evidence for a step at a place.
pub(super) struct Weight {
    /// At least 1 if every condition holds; otherwise how far the worst condition is met.
    pub strength: f64,
    /// The logarithm of the probability that chance produces as much anywhere in the series.
    pub ln_p: f64,
}

/// The points beside a place, clamped to at most one step size beyond the two levels.
struct Sides {
    points: Vec<f64>,
    /// The number of points before the place.
    left: usize,
    /// The medians of both sides.
    levels: [f64; 2],
}

impl<'a> Evidence<'a> {
    pub fn new(raw: &'a [f64], despiked: &'a [f64]) -> Self {
        let sums: Vec<f64> = std::iter::once(0.0)
            .chain(despiked.iter().scan(0.0, |sum, value| {
                *sum += value;
                Some(*sum)
            }))
            .collect();
        let count = despiked.len();
        let apart = |length: usize| {
            let of = |at: usize| 2.0 * sums[at] - sums[at - length] - sums[at + length];
            median((length..=count - length).map(|at| of(at).abs() / length as f64).collect())
        };
        let lengths = std::iter::successors(Some(SHORTEST_PART), |length| Some(2 * length));
        let known = lengths.take_while(|length| *length <= REACH && STRETCHES * length <= count);
        let wandering = known.filter_map(|length| Some((length, apart(length)?))).collect();
        Self { raw, despiked, wandering }
    }

    /// Weighs the evidence for a step at `at`, between parts that begin at `from` and end at `to`.
    pub fn weigh(&self, from: usize, at: usize, to: usize) -> Weight {
        let (from, to) = (from.max(at.saturating_sub(REACH)), to.min(at + REACH));
        let shorter = (at - from).min(to - at);
        let sides = self.sides(from, at, to);
        if shorter < SHORTEST_PART {
            // Too little evidence so far: the step that is cheapest to remove goes first, as in Ward (1963).
            let cost = sides.size().powi(2) * ((at - from) * (to - at)) as f64 / (to - from) as f64;
            return Weight { strength: 1e-3 * cost / (1.0 + cost), ln_p: 0.0 };
        }
        let size = sides.size();
        let deviation = self.deviation(&sides, size, from);
        let ln_p = self.chance(&sides, size / deviation);
        let share = size / sides.levels[0].abs().max(f64::MIN_POSITIVE);
        let wandering = self.wandering.iter().take_while(|(length, _)| *length <= shorter).last();
        let beyond = wandering.map_or(f64::INFINITY, |(_, apart)| size / (BEYOND_WANDERING * apart));
        // If steps follow each other closely, they make stretches differ.
        let beyond = beyond.max(size / (BEYOND_NOISE * deviation));
        // Zero divided by zero is not a number, and not a step.
        let strength =
            [ln_p / SIGNIFICANCE.ln(), share / SMALLEST_SHARE * (1.0 + 1e-9), beyond, sides.against_a_line()]
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
        let size = high - low;
        let points = self.despiked[from..to].iter().map(|value| value.clamp(low - size, high + size)).collect();
        Sides { points, left: at - from, levels }
    }

    /// The standard deviation of the points around their levels, none of them farther away than `size`: the largest of
    /// several estimates.
    fn deviation(&self, sides: &Sides, size: f64, from: usize) -> f64 {
        let squares = |off: &[f64]| off.iter().map(|off| off.clamp(-size, size).powi(2)).sum::<f64>();
        // If a series alternates between levels, the despiked points of a stretch may show only one of them.
        let raw = sides.off(&self.raw[from..from + sides.points.len()], sides.levels);
        let by_squares = squares(&sides.off(&sides.points, sides.means())).max(squares(&raw));
        let by_median = median_absolute_deviation(&sides.off(&sides.points, sides.levels)).unwrap_or_default();
        let rounding = 1e-9 * sides.levels[0].abs().max(sides.levels[1].abs());
        let by_squares = (by_squares / (sides.points.len() as f64 - 2.0)).sqrt();
        by_squares.max(MAD_TO_DEVIATION * by_median).max(rounding).max(f64::MIN_POSITIVE)
    }

    /// The logarithm of the probability that chance produces a step of this many deviations anywhere in the series: a
    /// t-test that counts correlated neighbours as fewer, times the number of places.
    fn chance(&self, sides: &Sides, deviations: f64) -> f64 {
        let (count, left) = (sides.points.len() as f64, sides.left as f64);
        let right = count - left;
        let correlated = sides.correlation().clamp(0.0, MOST_CORRELATED);
        let as_many = (1.0 + correlated) / (1.0 - correlated);
        let t = deviations / ((1.0 / left + 1.0 / right) * as_many).sqrt();
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
        [left, right].map(|side| side.iter().sum::<f64>() / side.len() as f64)
    }

    /// The distance between the sides, by their medians or means, whichever is smaller; zero if they disagree in
    /// direction.
    fn size(&self) -> f64 {
        let [before, after] = self.means();
        let (means, medians) = (after - before, self.levels[1] - self.levels[0]);
        if means * medians > 0.0 { means.abs().min(medians.abs()) } else { 0.0 }
    }

    /// The distances of `points` from the levels of their sides.
    fn off(&self, points: &[f64], levels: [f64; 2]) -> Vec<f64> {
        points.iter().enumerate().map(|(at, value)| value - levels[usize::from(at >= self.left)]).collect()
    }

    /// The correlation between the deviations of neighbours.
    fn correlation(&self) -> f64 {
        let off = self.off(&self.points, self.means());
        let squares: f64 = off.iter().map(|off| off * off).sum();
        let pairs = |side: &[f64]| side.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        let (left, right) = off.split_at(self.left);
        if squares > 0.0 { (pairs(left) + pairs(right)) / squares + 1.0 / off.len() as f64 } else { 0.0 }
    }

    /// Above 1 if a step explains the points better than a line does, using as many points before as after it.
    fn against_a_line(&self) -> f64 {
        let reach = self.left.min(self.points.len() - self.left);
        if reach <= SHORTEST_PART {
            return f64::INFINITY;
        }
        let points = &self.points[self.left - reach..self.left + reach];
        let mean = |points: &[f64]| points.iter().sum::<f64>() / points.len() as f64;
        let around = |points: &[f64]| {
            let mean = mean(points);
            points.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let (middle, all) = ((points.len() - 1) as f64 / 2.0, mean(points));
        let along = points.iter().enumerate().map(|(at, value)| (at as f64 - middle) * (value - all)).sum::<f64>();
        let spread = (0..points.len()).map(|at| (at as f64 - middle).powi(2)).sum::<f64>();
        let line = around(points) - along * along / spread;
        let step = around(&points[..reach]) + around(&points[reach..]);
        if step <= BETTER_THAN_A_LINE * line { f64::INFINITY } else { 0.5 }
    }
}
