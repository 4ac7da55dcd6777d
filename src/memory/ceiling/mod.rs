//! Ceilings: limits on what a phase may take, and their verdicts.
//!
//! A [`Ceiling`] limits one [`Metric`](crate::meter::Metric); it is written `peak_rss = "256 MiB"`. [`Ceilings`] holds
//! at most one of each metric. [`judge`] holds them against the readings of every phase: a broken one says which phase,
//! which process and by how much; one on a figure that could not be read is not measurable, and never holds.
//!
//! [`propose`] makes ceilings of what several runs took and a headroom, an [`Allowance`] such as `5% | 1 MiB`.

mod allowance;
mod limit;
mod proposal;
mod propose;
mod unit;
mod verdict;

pub use allowance::{Allowance, AllowanceError};
pub use limit::{Ceiling, CeilingError, Ceilings};
pub use proposal::proposal as proposal_table;
pub use propose::{DEFAULT_HEADROOM, Proposal, ProposedCeiling, Unavailable, limit_above, propose};
pub use unit::Unit;
pub use verdict::{CeilingStatus, CeilingVerdict, judge, judge_watches, trust};
