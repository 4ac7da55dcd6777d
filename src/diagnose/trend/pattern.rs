//! [`Pattern`]: how a series moves.

use plimsoll_statistics::median;
use plimsoll_statistics::trend::{ends, extent, levels_off};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::Point;
use super::statistics::{Statistics, statistics};
use plimsoll_memory::bytes::ByteSize;

/// The smallest change that counts, at any level: 64 MiB.
pub const MARGIN: ByteSize = ByteSize::mib(64);

/// The probability below which a rise is not chance.
const SIGNIFICANT: f64 = 0.05;

/// The part of a rise that the first step must have, if only that step grew.
const MOST_OF_IT: f64 = 0.75;

/// How a series moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The series rises without levelling off.
    Growing,
    /// The series rose and levelled off.
    Plateau,
    /// The series rose after the first reading and stayed: the optimizer's state, or memory that a first step leaves
    /// behind.
    FirstStepOnly,
    /// The series keeps its level.
    Steady,
    /// The series falls.
    Falling,
    /// The series moves in no direction.
    Unsteady,
    /// There are too few readings for a pattern.
    Sparse,
}

impl Pattern {
    /// The name of the pattern in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Plateau => "levels off",
            Self::FirstStepOnly => "grows in the first step only",
            Self::Steady => "steady",
            Self::Falling => "falling",
            Self::Unsteady => "unsteady",
            Self::Sparse => "too few readings",
        }
    }
}

/// The smallest change of `points` that counts.
pub(super) fn tolerance(points: &[Point]) -> f64 {
    beyond(points, MARGIN.bytes() as f64)
}

/// The smallest change of the memory of a process that counts: a small one counts by a quarter of what it began with.
fn tolerance_of_a_process(points: &[Point]) -> f64 {
    beyond(points, (points[0].figure.value() / 4.0).min(MARGIN.bytes() as f64))
}

/// The smallest change of `points` that counts, if it is `least` at any level.
fn beyond(points: &[Point], least: f64) -> f64 {
    let level = median(points.iter().map(|point| point.figure.value()).collect()).unwrap_or(0.0);
    let rounding = points.iter().map(|point| point.figure.resolution.bytes()).max().unwrap_or(0) as f64;
    (0.02 * level).max(2.0 * rounding).max(least)
}

/// The pattern and the statistics of `points`; `None` if there are no points.
pub(super) fn pattern(points: &[Point]) -> Option<(Pattern, Statistics)> {
    of(points, tolerance)
}

/// As [`pattern`], of the memory of a process.
pub(super) fn pattern_of_a_process(points: &[Point]) -> Option<(Pattern, Statistics)> {
    of(points, tolerance_of_a_process)
}

fn of(points: &[Point], tolerance: impl Fn(&[Point]) -> f64) -> Option<(Pattern, Statistics)> {
    let pairs = pairs(points);
    let found = statistics(&pairs)?;
    let figures: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let tolerance = tolerance(points);
    let count = figures.len();
    if count < 3 {
        return Some((Pattern::Sparse, found));
    }
    let (start, end) = ends(&figures)?;
    let rise = end - start;
    let pattern = if rise < -tolerance {
        Pattern::Falling
    } else if rise <= tolerance {
        if extent(&figures) <= 2.0 * tolerance { Pattern::Steady } else { Pattern::Unsteady }
    } else if extent(&figures[1..]) <= tolerance && figures[1] - figures[0] >= MOST_OF_IT * rise {
        Pattern::FirstStepOnly
    } else if levels_off(&pairs, rise) {
        Pattern::Plateau
    } else if growing(&figures, &found, tolerance) {
        Pattern::Growing
    } else {
        Pattern::Unsteady
    };
    Some((pattern, found))
}

fn growing(figures: &[f64], found: &Statistics, tolerance: f64) -> bool {
    if figures.len() >= 4 {
        return found.p < SIGNIFICANT;
    }
    // Three readings are too few for a test, so the rise must be large and happen at every step.
    let steps = figures.windows(2).all(|pair| pair[1] - pair[0] > tolerance);
    steps && figures[figures.len() - 1] >= 1.5 * figures[0]
}

/// Pairs of step and figure; if steps are absent or go back, the order replaces them.
fn pairs(points: &[Point]) -> Vec<(f64, f64)> {
    let steps: Option<Vec<u64>> = points.iter().map(|point| point.step).collect();
    let steps = steps.filter(|steps| steps.is_sorted() && steps.first() != steps.last());
    let at = |index: usize| steps.as_ref().map_or(index as f64, |steps| steps[index] as f64);
    points.iter().enumerate().map(|(index, point)| (at(index), point.figure.value())).collect()
}
