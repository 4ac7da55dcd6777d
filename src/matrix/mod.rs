//! The matrix: configurations of a command, each run several times, beside a baseline.
//!
//! A [`Plan`] is read from a TOML file: configurations (environment, flags) of any command, or logs that are there
//! already, and the gate. [`Plan::turns`] says what runs when: interleaved, each configuration once before any comes
//! again, so that a machine that drifts does so for all of them. A [`Run`] is what one turn gave: what its log tells
//! ([`LogReadings`]) and what the meter read. A [`State`] keeps the runs that are done, so that a matrix can be resumed.
//! [`Matrix::of`] makes the table of them, the document `plimsoll.matrix/1`.
//!
//! What holds:
//! - A figure of a configuration is the median over its runs; within a run the worst rank decides.
//! - A run counts for the configuration that it was made of, by digest: one that was changed since is run again.
//! - A figure is compared only with the same figure of the baseline: the time of a step never with that of a process.
//! - What was not measured is absent, and a gate over it is inconclusive, never passed.

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

pub use document::{Change, Matrix, Row, SCHEMA, Verdict};
pub use error::MatrixError;
pub use figure::Figure;
pub use gate::Gate;
pub use log::LogReadings;
pub use plan::{Configuration, Expect, MOST_REPEATS, Plan, Turn};
pub use run::Run;
pub use state::State;
