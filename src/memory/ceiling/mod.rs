//! Ceilings: limits on what a phase may take, and their verdicts.
//!
//! A [`Ceiling`] limits one [`Metric`](crate::meter::Metric) and is written `peak_rss = "256 MiB"`. [`Ceilings`] holds
//! at most one per metric. [`judge`] compares them with the readings of every phase. A broken ceiling names the phase,
//! the process and the excess; one on a figure that could not be read is not measurable and never passes.
//!
//! [`propose`] derives ceilings from several runs and a headroom, an [`Allowance`] such as `5% | 1 MiB`.

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
