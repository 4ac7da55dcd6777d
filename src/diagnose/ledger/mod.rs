//! The ledger: bytes a parameter by stage, measured beside expected.
//!
//! [`Ledger::account`] takes what was measured at the stages of training (before, after initialization, after the first
//! step, later), subtracts what an [`Estimate`](crate::estimate::Estimate) of the same setup expects there, and names
//! each excess: when it appeared, whether it came back, whether a later allocation reused it. Readings come from a
//! log's telemetry, from records, or from the command line.
//!
//! An excess is named by the label at which it appeared if the log gives one (`unscale_and_clip_grads`), else by the
//! causes that DeepSpeed #7693 found at that stage if the bytes a parameter agree, and says which of the two; what
//! neither explains is called unexplained. Less than a quarter of a byte a parameter is none.

mod account;
mod cause;
mod document;
mod reading;
pub mod schema;
mod stage;
#[cfg(test)]
mod tests;

pub use cause::Ground;
pub use document::{Excess, ExpectedItem, Ledger, LedgerError, Movement, SCHEMA, StageExcess};
pub use reading::{ParseReadingError, Place, Reading};
pub use stage::Stage;
