//! Ceilings: limits on what a phase may take, and their verdicts.
//!
//! A [`Ceiling`] limits one [`Metric`](crate::meter::Metric); it is written `peak_rss = "256 MiB"`. [`Ceilings`] holds
//! at most one of each metric. [`judge`] holds them against the readings of every phase: a broken one says which phase,
//! which process and by how much; one on a figure that could not be read is not measurable, and never holds.

mod limit;
mod verdict;

pub use limit::{Ceiling, CeilingError, Ceilings};
pub(crate) use verdict::trust;
pub use verdict::{CeilingStatus, CeilingVerdict, judge, judge_watches};
