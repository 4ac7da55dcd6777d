//! Trends: how the figures of a log move over steps, and what that means.
//!
//! A [`Collector`] takes samples in constant memory and gives [`Trends`]: for each label and metric the series of the
//! worst rank, its pattern and its statistics, and one verdict.
//!
//! The statistics are robust: an outlier, a slow first step or the rounding of a text moves none of them far.
//! - level and spread: the median, and the median absolute deviation (MAD)
//! - slope: Theil and Sen's, the median of the slopes of all pairs
//! - growth: Mann and Kendall's test, one-sided, with its correction for ties; growth is p < 0.05 over four readings and
//!   more, and for three a rise at every step to one and a half times the first
//! - a change counts beyond [`MARGIN`] and 2 % of the level, or beyond twice the rounding of the text
//!
//! Only readings of the same label are compared: a model that is being loaded rises from label to label and leaks
//! nothing. The worst rank decides; ranks that differ are a finding, and ranks that were not seen leave a good verdict
//! open. Allocated memory that rises at constant work is a leak; reserved memory that stays while allocated falls back is
//! the allocator's cache, or fragmentation if only some ranks keep it or a baseline does not.

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
pub use finding::{Finding, Spread, Trends, Verdict};
pub use pattern::{MARGIN, Pattern};
pub use statistics::Statistics;
pub use watch::Watch;
pub use worker::Worker;
