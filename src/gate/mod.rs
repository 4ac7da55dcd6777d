//! The gate: figures judged against a baseline, and ceilings proposed from what was measured.
//!
//! [`propose`] makes ceilings of what several runs took, and a headroom; [`ratchet()`] finds those that usage has fallen
//! away from.
//!
//! An [`Allowance`] such as `5% | 1 MiB` says how much growth is let pass: a regression exceeds every part of it.
//! [`judge`] holds repeated figures against those of a baseline and gives a [`Comparison`]:
//! - the shift is the Hodges-Lehmann estimate, the median of all differences between a figure of now and one of the
//!   baseline: an outlier moves it no further than a rank;
//! - its confidence interval is made of the order statistics of those differences that the Mann-Whitney test does not
//!   reject. Nothing is assumed of how the figures are distributed, and where figures are equal, as memory counted in
//!   pages often is, the interval holds at least its confidence. Figures that depend on the one before them (a drift)
//!   count as fewer;
//! - it fails only if the interval excludes no change and the shift exceeds the allowance; if the interval holds
//!   both no change and a regression beyond the allowance it is inconclusive, never passed.

mod baseline;
pub mod bench;
pub mod bisect;
pub mod calibration;
mod conditions;
mod evaluate;
#[cfg(feature = "history")]
pub mod history;
mod interval;
mod judge;
mod limits;
mod outcome;
pub mod ratchet;
pub mod report;
mod runs;
#[cfg(test)]
mod simulation;
mod speedup;
mod subject;
mod summary;

pub use baseline::{BaselineError, BaselineSource, DEFAULT_FOLDER, distilled, write_baseline};
pub use calibration::Calibration;
pub use conditions::{Condition, ConditionChange, Conditions, ParseConditionError, condition_changes};
#[cfg(test)]
pub(crate) use evaluate::tests::sample as sample_gate;
pub use evaluate::{Baseline, Rules, evaluate, evaluate_pairs, is_default};
pub use interval::{Interval, Method};
pub use judge::{Comparison, DEFAULT_CONFIDENCE, fewest_pairs, judge, judge_pairs};
pub use limits::{Limit, LimitError, Limits};
pub use outcome::Outcome;
#[cfg(test)]
pub(crate) use ratchet::tests::run as sample_test_run;
pub use ratchet::{Lowering, Ratchet, ratchet};
pub use report::{BaselineRuns, FigureVerdict, GateReport, SubjectVerdict};
pub use speedup::speedup;
pub use subject::{Subject, SubjectKind};
pub use summary::Summary;

pub use crate::record::{Direction, Unit};
pub use plimsoll_memory::ceiling::{Allowance, AllowanceError, Proposal, ProposedCeiling, Unavailable, propose};
