//! [`Pattern`]: how a series moves.

use plimsoll_statistics::median;
use plimsoll_statistics::trend::{ends, extent, levels_off};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::Point;
use super::statistics::{Statistics, statistics};
use plimsoll_memory::bytes::ByteSize;

/// A change of less is none, whatever the level: 64 MiB.
pub const MARGIN: ByteSize = ByteSize::mib(64);

/// The likelihood below which a rise is none of chance.
const SIGNIFICANT: f64 = 0.05;

/// How a series moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// The series rises, and does not level off.
    Growing,
    /// The series rose and levelled off.
    Plateau,
    /// The series rose after the first reading and stays: the optimizer's state, or what a first step leaves behind.
    FirstStepOnly,
    /// The series stays at its level.
    Steady,
    /// The series falls.
    Falling,
    /// The series moves without a direction.
    Unsteady,
    /// Too few readings to tell.
    Sparse,
}

impl Pattern {
    /// The pattern in words.
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

/// What a change of `points` has to exceed.
pub(super) fn tolerance(points: &[Point]) -> f64 {
    let level = median(points.iter().map(|point| point.figure.value()).collect()).unwrap_or(0.0);
    let rounding = points.iter().map(|point| point.figure.resolution.bytes()).max().unwrap_or(0) as f64;
    (0.02 * level).max(2.0 * rounding).max(MARGIN.bytes() as f64)
}

/// The pattern and the statistics of `points`; `None` if there is none.
pub(super) fn pattern(points: &[Point]) -> Option<(Pattern, Statistics)> {
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
    } else if extent(&figures[1..]) <= tolerance {
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
    // Three readings: no test could tell, so that the rise has to be large and at every step.
    let steps = figures.windows(2).all(|pair| pair[1] - pair[0] > tolerance);
    steps && figures[figures.len() - 1] >= 1.5 * figures[0]
}

/// Steps and figures; the order stands in for steps that are absent or go back.
fn pairs(points: &[Point]) -> Vec<(f64, f64)> {
    let steps: Option<Vec<u64>> = points.iter().map(|point| point.step).collect();
    let steps = steps.filter(|steps| steps.is_sorted() && steps.first() != steps.last());
    let at = |index: usize| steps.as_ref().map_or(index as f64, |steps| steps[index] as f64);
    points.iter().enumerate().map(|(index, point)| (at(index), point.figure.value())).collect()
}
