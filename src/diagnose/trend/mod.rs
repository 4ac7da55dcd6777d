//! Trends: how the figures of a log change over steps, and what the change means.
//!
//! A [`Collector`] takes samples in constant memory and returns [`Trends`]: for each label and metric the series of the
//! worst rank, its pattern and its statistics, and one verdict.
//!
//! The statistics are robust: an outlier, a slow first step or the rounding of a text changes them little.
//! - level and spread: the median, and the median absolute deviation (MAD)
//! - slope: Theil and Sen's, the median of the slopes of all pairs
//! - growth: Mann and Kendall's test, one-sided, with its correction for ties; p < 0.05 with four or more readings, or,
//!   with three, a rise at every step to at least 1.5 times the first
//! - a change counts beyond [`MARGIN`] (of a small process a quarter of its first reading) and 2 % of the level, or beyond
//!   twice the rounding of the text
//!
//! Only readings of the same label are compared: loading a model raises memory from label to label without a leak. The
//! worst rank decides; ranks that differ are a finding, and unseen ranks make a good verdict inconclusive. Allocated
//! memory that rises while the work stays constant is a leak; reserved memory that stays high while allocated memory
//! falls back is the allocator's cache, or fragmentation if only some ranks keep it or the baseline does not.

mod collector;
mod compare;
mod finding;
mod held;
mod judge;
mod pattern;
mod round_trip;
mod series;
mod sleep;
mod statistics;
mod strain;
#[cfg(test)]
mod tests;
mod watch;
mod worker;

pub use collector::Collector;
pub use compare::{Allowance, Comparison, ConfigurationVerdict, Readings, compare, regression};
pub use finding::{Finding, Spread, TrendVerdict, Trends};
pub use pattern::{MARGIN, Pattern};
pub use statistics::Statistics;
pub use watch::Watch;
pub use worker::Worker;

/// The former name of [`TrendVerdict`].
#[deprecated(note = "renamed to `TrendVerdict`, as other verdicts are of other things")]
pub type Verdict = TrendVerdict;
