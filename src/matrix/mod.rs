//! The matrix: configurations of a command, each run several times and compared with a baseline.
//!
//! A [`Plan`] is read from a TOML file: configurations (environment, flags) of any command, or existing logs, and the
//! gate. [`Plan::turns`] gives the order of runs. It is interleaved, so that every configuration runs once before any
//! runs again and drift of the machine affects all of them. A [`Run`] is the result of one turn: the figures in its log
//! ([`LogReadings`]) and the meter's readings. A [`State`] keeps finished runs, so that a matrix can be resumed.
//! [`Matrix::of`] builds the table, the document `plimsoll.matrix/1`.
//!
//! Guarantees:
//! - A figure of a configuration is the median over its runs; within a run the worst rank decides.
//! - A run counts only for exactly the configuration that produced it, identified by digest: a changed configuration
//!   runs again.
//! - A figure is compared only with the same figure of the baseline: never the time of a step with that of a process.
//! - An unmeasured figure is absent, and a gate on it is inconclusive and never passes.

mod digest;
mod document;
mod error;
mod figure;
mod gate;
mod judge;
mod log;
mod plan;
mod read;
mod run;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;
mod state;
mod validate;

pub use document::{Change, Matrix, Row, RowVerdict, SCHEMA};
pub use error::MatrixError;
pub use figure::Figure;
pub use gate::Gate;
pub use log::LogReadings;
pub use plan::{Configuration, Expect, MOST_REPEATS, Plan, Turn};
pub use run::Run;
pub use state::State;

/// The former name of [`RowVerdict`].
#[deprecated(note = "renamed to `RowVerdict`, as other verdicts are of other things")]
pub type Verdict = RowVerdict;
