//! The gate: judges figures against a baseline, and proposes ceilings from measurements.
//!
//! [`propose`] derives ceilings from several runs and a headroom; [`ratchet()`] finds ceilings far above the present
//! usage.
//!
//! An [`Allowance`] such as `5% | 1 MiB` says how much growth is accepted: only growth beyond every part of it is a
//! regression. [`judge`] compares repeated figures with those of a baseline and returns a [`Comparison`]:
//! - the shift is the Hodges-Lehmann estimate, the median of all differences between a current figure and one of the
//!   baseline: an outlier moves it by at most one rank;
//! - the confidence interval consists of those order statistics of the differences that the Mann-Whitney test does not
//!   reject. It assumes nothing about the distribution of the figures. With equal figures, which are common for memory
//!   counted in pages, it is conservative. Figures that depend on the previous one (drift) count as fewer;
//! - the comparison fails only if the interval excludes "no change" and the shift exceeds the allowance. If the
//!   interval contains both "no change" and a regression beyond the allowance, the comparison is inconclusive and never
//!   passes.

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
