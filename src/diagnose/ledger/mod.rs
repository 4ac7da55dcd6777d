//! The ledger: bytes per parameter by stage, measured and expected.
//!
//! [`Ledger::account`] takes measurements at the stages of training (before, after initialization, after the first
//! step, later), subtracts what an [`Estimate`](crate::estimate::Estimate) of the same setup expects, and names each
//! excess: when it appeared, whether it disappeared, whether a later allocation reused it. Readings come from a log's
//! telemetry, from records, or from the command line.
//!
//! An excess is named by the log's label at which it appeared (`unscale_and_clip_grads`). Without a label it is named
//! by the cause that DeepSpeed #7693 found at that stage, if the bytes per parameter match. The ledger says which of
//! the two applies; an excess that neither explains is called unexplained. Differences below a quarter of a byte per
//! parameter are ignored.

mod account;
mod cause;
mod document;
mod reading;
pub mod schema;
mod stage;
mod stated;
#[cfg(test)]
mod tests;

pub use cause::Ground;
pub use document::{Excess, ExpectedItem, Ledger, LedgerError, Movement, SCHEMA, StageExcess};
pub use reading::{MemoryKind, ParseReadingError, Reading};
#[deprecated(note = "renamed to `MemoryKind`: kernels are launched at a `gpu::Place`")]
/// The former name of [`MemoryKind`].
pub type Place = MemoryKind;
pub use stage::{Stage, Stages};
pub use stated::stated_parameters;
